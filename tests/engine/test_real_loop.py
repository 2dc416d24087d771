"""The loop on real MLX models: its law by chi-square, its greedy text against plain argmax decoding."""

from __future__ import annotations

# OpenBLAS has to be in the process before mlx is.
from engine.mlx_backend import load, pairing

# isort: split
from functools import cache

import mlx.core as mx
import numpy as np
import pytest
from scipy import stats

from engine import rules
from engine.core import loop
from engine.core.types import Sampling
from engine.mlx_backend.drafters import ModelDrafter
from engine.mlx_backend.scorer import CachedModel, MlxScorer
from engine.session import Request
from tests.mlx_backend import tiny
from tests.playing import play, rounds_of, tokens_of

V = 14
SHAPE = {
    "vocab_size": V,
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
}
PREFIX = (1, 2, 3, 4, 5)
SESSIONS = 800
#: How often a right rule fails: once in a million choices of seeds. The seeds are fixed, so never or always.
FALSE_ALARM = 1e-6


def softmax(model, tokens: list[int]) -> np.ndarray:  # float64[V]
    logits = np.array(model(mx.array([tokens])))[0, -1].astype(np.float64)
    weights = np.exp(logits - logits.max())
    return weights / weights.sum()


@pytest.fixture(scope="module")
def models():
    return tiny.random_model(3, **SHAPE), tiny.random_model(4, **SHAPE)


@pytest.fixture(scope="module")
def pair_law(models) -> np.ndarray:  # float64[V, V]
    """The target's own law of the first two tokens after the prefix, by passes of whole sequences."""
    target, _ = models
    first = softmax(target, [*PREFIX])
    return np.array([first[a] * softmax(target, [*PREFIX, a]) for a in range(V)])


def pair_counts(models, rule_id: str) -> np.ndarray:  # int[V, V]
    """How often each pair came first, over sessions with seeds 0, 1, 2, …"""
    target, draft = models
    scorer = MlxScorer(CachedModel(target, "target"), V)
    drafter = ModelDrafter("model", CachedModel(draft, "draft"), pairing.Shared.all_of(V))
    counts = np.zeros((V, V), dtype=int)
    for seed in range(SESSIONS):
        scorer.prefill(PREFIX)
        drafter.start(PREFIX)
        plan = loop.Plan(PREFIX, rules.get(rule_id), Sampling(temperature=1.0), seed, k=2, max_tokens=2)
        generation = loop.Generation(plan, drafter, scorer)
        for _ in generation:
            """The output grows."""
        counts[generation.output] += 1
    return counts


def merged(expected: np.ndarray, observed: np.ndarray, least: float = 8.0) -> tuple[np.ndarray, np.ndarray]:
    """Cells in the order of their expected count, joined until each expects enough for a chi-square."""
    order = np.argsort(expected, axis=None, kind="stable")
    e, o = expected.ravel()[order], observed.ravel()[order]
    group = np.minimum((np.cumsum(e) - e) // least, e.sum() // least - 1).astype(int)
    kept = np.unique(group, return_inverse=True)[1]
    return np.bincount(kept, weights=e), np.bincount(kept, weights=o)


def false_alarm(law: np.ndarray, counts: np.ndarray) -> tuple[float, str]:
    expected, observed = merged(law * SESSIONS, counts)
    statistic = float(((observed - expected) ** 2 / expected).sum())
    odds = float(stats.chi2.sf(statistic, len(expected) - 1))
    return odds, f"chi-square {statistic:.1f} on {len(expected) - 1} df, odds {odds:.2g}, limit {FALSE_ALARM}"


@pytest.mark.parametrize("rule_id", ["stochastic", "block"])
def test_pairs_of_the_real_loop_are_draws_from_the_target(models, pair_law, rule_id):
    odds, told = false_alarm(pair_law, pair_counts(models, rule_id))
    assert odds > FALSE_ALARM, told


def test_the_same_test_at_the_same_size_finds_a_faulty_rule(models, pair_law):
    odds, told = false_alarm(pair_law, pair_counts(models, "fault-residual-from-p"))
    assert odds < FALSE_ALARM, told


def test_the_cells_of_the_chi_square_keep_every_count(pair_law):
    counts = np.arange(V * V).reshape(V, V)
    expected, observed = merged(pair_law * SESSIONS, counts)
    assert expected.min() >= 4
    assert len(expected) > 50
    assert (expected.sum(), observed.sum()) == pytest.approx((SESSIONS, counts.sum()))


PROMPT, LENGTH = "the three the", 20
#: Three letters far above the rest: the text soon goes in circles, which prompt lookup can follow.
CIRCLES = ((97, 30.0), (98, 30.0), (99, 30.0))


@pytest.fixture(scope="module")
def plain(tiny_folder):
    """Plain greedy decoding: a whole pass for every token, no cache, the lowest id of a tie."""
    target = load.load_target(tiny_folder)

    @cache
    def decode(bias: tuple[tuple[int, float], ...]) -> list[int]:
        sequence = list(target.text.encode(PROMPT, raw=False))
        output: list[int] = []
        while len(output) < LENGTH and target.eos_ids.isdisjoint(output):
            logits = np.array(target.model(mx.array([sequence + output])))[0, -1]
            for token, more in bias:
                logits[token] += more
            output.append(int(np.argmax(logits)))
        return output

    return decode


@pytest.mark.parametrize("k", range(1, 6))
@pytest.mark.parametrize(
    ("drafter", "bias", "accepts"),
    [("self:3bit", (), (0.01, 0.5)), ("self:8bit", (), (0.5, 1)), ("lookup", CIRCLES, (0.1, 0.9))],
)
def test_greedy_equals_plain_greedy(controller, tiny_folder, plain, drafter, bias, accepts, k):
    greedy = Sampling(temperature=0.0, logit_bias=bias)
    request = Request(PROMPT, target=tiny_folder, drafter=drafter, sampling=greedy, k=k, max_tokens=LENGTH)
    session_id = play(controller, request)
    assert tokens_of(controller, session_id) == plain(bias)
    assert all(done.coins == () for done in rounds_of(controller, session_id)), "greedy draws nothing"
    low, high = accepts
    assert low <= controller.store.session(session_id).counters.per_position_acceptance <= high


def test_without_drafts_every_round_is_one_plain_step(controller, tiny_folder, plain):
    greedy = Sampling(temperature=0.0)
    session_id = play(
        controller, Request(PROMPT, target=tiny_folder, sampling=greedy, k=0, max_tokens=LENGTH)
    )
    assert tokens_of(controller, session_id) == plain(())
    assert controller.store.session(session_id).rounds == LENGTH


def test_a_greedy_drafter_is_one_hot_on_what_it_drafted(controller, tiny_folder):
    request = Request(
        PROMPT, target=tiny_folder, drafter="self:3bit", sampling=Sampling(temperature=0.0), max_tokens=12
    )
    rounds = rounds_of(controller, play(controller, request))
    drafted = [(x, q) for done in rounds for x, q in zip(done.block.tokens, done.block.q, strict=True)]
    assert drafted
    assert all(q.ids.tolist() == [x] and q.probs.tolist() == [1.0] for x, q in drafted)
