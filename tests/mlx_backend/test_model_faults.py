"""Faults that live between a model and its cache: half precision, ties, layers that cannot rewind, turns."""

import types

import mlx.core as mx
import numpy as np
import pytest
from mlx_lm.models.cache import ArraysCache, KVCache

from engine.core import rows
from engine.core.coins import PhiloxCoins, uniform
from engine.core.loop import Generation, Plan
from engine.core.types import Sampling
from engine.drafters.lookup import LookupDrafter
from engine.errors import ModelError
from engine.mlx_backend import load
from engine.mlx_backend.drafters import ModelDrafter
from engine.mlx_backend.pairing import Shared
from engine.mlx_backend.scorer import CachedModel, MlxScorer
from engine.rules import RULES
from tests.mlx_backend import tiny

PROMPT = tuple(np.random.default_rng(8).integers(0, 256, 14).tolist())
WARM = Sampling(temperature=1.0)
GREEDY = Sampling(temperature=0.0)


def drafter_of(model) -> ModelDrafter:
    return ModelDrafter("model:x", CachedModel(model, "draft"), Shared.all_of(tiny.VOCAB))


def scorer_of(model) -> MlxScorer:
    return MlxScorer(CachedModel(model, "target"), tiny.VOCAB)


def generate(scorer, drafter, rule_id="stochastic", prompt=PROMPT, n=30, k=4, seed=5, sampling=WARM):
    scorer.prefill(prompt)
    drafter.start(prompt)
    generation = Generation(Plan(prompt, RULES[rule_id], sampling, seed, k, n), drafter, scorer)
    return list(generation), generation.output


# Half precision: one array for the draw and the ratio


@pytest.fixture(scope="module")
def half_pair():
    """Target and draft with bfloat16 weights, activations and logits, as they run off the CPU."""
    models = tiny.random_model(0), tiny.random_model(1)
    for model in models:
        model.set_dtype(mx.bfloat16)
    assert models[0](mx.array([[1]])).dtype == mx.bfloat16
    return models


class SeeingCoins(PhiloxCoins):
    """Keeps the rows that were drawn from."""

    def __init__(self, seed):
        super().__init__(seed)
        self.drawn: list[rows.Row] = []

    def choose(self, row, at):
        self.drawn.append(row)
        return super().choose(row, at)


def test_a_half_precision_draft_hands_over_the_very_array_it_drew_from(half_pair):
    drafter, coins = drafter_of(half_pair[1]), SeeingCoins(5)
    drafter.start(PROMPT)
    draft = drafter.propose((), 6, WARM, coins)
    assert len(coins.drawn) == 6
    assert all(a is b for a, b in zip(coins.drawn, draft.rows, strict=True))
    assert all(row.probs.dtype == np.float64 for row in draft.rows)


def test_half_precision_rounds_draw_and_judge_by_one_array(half_pair):
    """Each draft is its coin's token on the stored q, each test the ratio of the stored rows: no rounding to
    bfloat16, and none from it, stands between the draw and the ratio."""
    done, output = generate(scorer_of(half_pair[0]), drafter_of(half_pair[1]), n=60)
    assert len(output) == 60 and len({d.verdict.n_accepted for d in done}) > 2
    for one in done:
        block = one.block
        for i, x in enumerate(block.tokens):
            assert x == rows.quantile(block.q[i], uniform(5, block.at("draft", i)))
        for i, check in enumerate(one.verdict.checks):
            assert check.accept_prob == min(1.0, block.p_of(i) / block.q_of(i))
            assert check.accepted == (check.u * block.q_of(i) < block.p_of(i))
        for i, own in enumerate(one.own):
            assert own == rows.quantile(block.p[i], uniform(5, block.at("target", i)))


# Ties


@pytest.fixture(scope="module")
def twins():
    """A model for which tokens 19 and 83 are one and the same, and often the best."""
    model = tiny.random_model(0)
    table = np.array(model.model.embed_tokens.weight)
    table[19] *= 4
    table[83] = table[19]
    model.model.embed_tokens.weight = mx.array(table)
    return model


def test_twin_tokens_are_tied_to_the_last_bit(twins):
    logits = scorer_of(twins).score(PROMPT)
    assert np.array_equal(logits[:, 19], logits[:, 83])
    assert (logits.argmax(axis=1) == 19).any()


def test_a_tie_of_two_logits_goes_to_the_lowest_id_on_both_sides(twins):
    done, output = generate(
        scorer_of(twins), drafter_of(twins), "greedy-argmax", n=40, sampling=GREEDY, prompt=(*PROMPT, 19)
    )
    drafted = [x for one in done for x in one.block.tokens]
    assert 19 in output and 19 in drafted
    assert 83 not in output and 83 not in drafted
    rejected = sum(one.block.k - one.verdict.n_accepted for one in done)
    assert rejected == 0, "a model that drafts for itself is never rejected"


# Layers that cannot rewind


def hybrid(*caches):
    """A model whose layers keep these caches."""
    return types.SimpleNamespace(layers=[None] * len(caches), make_cache=lambda: [make() for make in caches])


def test_a_hybrid_model_is_refused_naming_its_recurrent_layer():
    def recurrent():
        return ArraysCache(size=2)

    for layers, named in (((KVCache, recurrent), 1), ((KVCache, KVCache, recurrent, recurrent), 2)):
        with pytest.raises(ModelError, match=f"hybrid cannot rewind: layer {named} keeps a ArraysCache"):
            load._context_length("hybrid", hybrid(*layers), {})
    assert load._context_length("plain", hybrid(KVCache, KVCache), {}) is None


# A second turn


@pytest.mark.parametrize("k", [1, 4])
@pytest.mark.parametrize("same", [True, False], ids=["all accepted", "mostly rejected"])
def test_a_second_turn_that_reuses_the_cache_equals_a_fresh_one(same, k):
    """The prompt of turn 2 is turn 1 with its answer: its last token, corrected or bonus, was never fed."""
    target = tiny.random_model(0)
    draft = target if same else tiny.random_model(1)
    for n in (1, 2, 9, 10):
        scorer, drafter = scorer_of(target), drafter_of(draft)
        _, answer = generate(scorer, drafter, k=k, n=n)
        second = (*PROMPT, *answer, 7, 8, 9)
        reused = generate(scorer, drafter, prompt=second, k=k, n=12, seed=6)
        fresh = generate(scorer_of(target), drafter_of(draft), prompt=second, k=k, n=12, seed=6)
        assert reused[1] == fresh[1]
        for a, b in zip(reused[0], fresh[0], strict=True):
            assert (a.block, a.verdict, a.coins) == (b.block, b.verdict, b.coins), "not to the last bit"


# Shared noise


def test_shared_noise_gives_one_text_for_every_drafter_and_every_k(tiny_target):
    texts = {}
    for k in (0, 1, 3, 6):
        for name in ("self:3bit", "another model", "lookup"):
            if name == "self:3bit":
                drafter = load.load_drafter(name, tiny_target)
            else:
                drafter = drafter_of(tiny.random_model(1)) if name != "lookup" else LookupDrafter(tiny.VOCAB)
            done, output = generate(scorer_of(tiny_target.model), drafter, "gumbel", k=k, n=40)
            texts[name, k] = output
            if k > 1 and name != "lookup":
                assert 0 < sum(one.verdict.n_accepted for one in done) < sum(one.block.k for one in done)
    assert len(set(texts.values())) == 1
