"""The drafter's cache follows the emitted sequence, and q is the row its token was drawn from."""

import numpy as np
import pytest

from engine.core import rows, warp
from engine.core.coins import PhiloxCoins
from engine.core.types import Address, Sampling
from engine.mlx_backend import load
from engine.mlx_backend.drafters import ModelDrafter
from engine.mlx_backend.pairing import Shared
from engine.mlx_backend.scorer import CachedModel
from tests.mlx_backend import tiny

PROMPT = tuple(np.random.default_rng(3).integers(0, tiny.VOCAB, 12).tolist())
SAMPLING = Sampling(temperature=0.9, top_p=0.95)


def drafter_of(model, vocab=tiny.VOCAB):
    return ModelDrafter("self:8bit", CachedModel(model, "draft"), Shared.all_of(vocab))


def fresh(model, tokens):
    cached = CachedModel(model, "fresh")
    cached.begin(tokens)
    return cached.feed(tokens[-1:])[-1]


class Stopping(PhiloxCoins):
    """Coins of a session that is stopped at the n-th draft."""

    def __init__(self, seed, after):
        super().__init__(seed)
        self.left = after

    def choose(self, row, at):
        if self.left == 0:
            raise InterruptedError
        self.left -= 1
        return super().choose(row, at)


@pytest.mark.parametrize(
    "pattern",
    [[(4, 0)] * 5, [(4, 4)] * 5, [(4, 1), (3, 3), (0, 0), (4, 0), (5, 2), (1, 1)], [(0, 0), (0, 0), (4, 4)]],
    ids=["all rejected", "all accepted", "mixed", "rounds without drafts"],
)
def test_both_caches_hold_the_emitted_sequence_less_what_is_owed(tiny_target, pattern):
    drafter, scorer = drafter_of(tiny_target.model), load.scorer(tiny_target)
    drafter.start(PROMPT)
    scorer.prefill(PROMPT)
    output = ()
    for k, accepted in pattern:
        draft = drafter.propose(output, k, SAMPLING, PhiloxCoins(4))
        assert len(draft.tokens) == k
        logits = scorer.score(((PROMPT + output)[-1], *draft.tokens))
        emitted = (*draft.tokens[:accepted], int(logits[accepted].argsort()[-2]))
        scorer.rewind(k - accepted)
        drafter.commit(emitted)
        output += emitted
        held = drafter.cached.held
        owed = (PROMPT + output)[len(held) :]
        assert (*held, *owed) == PROMPT + output
        assert 1 <= len(owed) <= 2 or k == 0
        assert len(held) + len(owed) == scorer.cached.offset + 1
        assert {cache.offset for cache in drafter.cached.caches} == {len(held)}
    row = drafter.propose(output, 1, SAMPLING, PhiloxCoins(4)).rows[0]
    right = warp.effective(fresh(tiny_target.model, PROMPT + output), SAMPLING)
    np.testing.assert_allclose(rows.dense(row), rows.dense(right), atol=1e-5)


def test_q_is_the_row_that_was_drawn_from(tiny_target):
    drafter, coins = drafter_of(tiny_target.model), PhiloxCoins(5)
    drafter.start(PROMPT)
    draft = drafter.propose((1, 2), 4, SAMPLING, coins)
    for i, (token, row) in enumerate(zip(draft.tokens, draft.rows, strict=True)):
        right = warp.effective(fresh(tiny_target.model, (*PROMPT, 1, 2, *draft.tokens[:i])), SAMPLING)
        np.testing.assert_allclose(rows.dense(row), rows.dense(right), atol=1e-5)
        assert coins.choose(row, Address("draft", 2 + i)) == token
        assert row.exact
        assert row.vocab == tiny.VOCAB


def test_penalties_and_bias_are_not_mirrored(tiny_target):
    drafter = drafter_of(tiny_target.model)
    drafter.start(PROMPT)
    plain = drafter.propose((), 1, SAMPLING, PhiloxCoins(6)).rows[0]
    asked = Sampling(temperature=0.9, top_p=0.95, repetition_penalty=2, logit_bias=((5, 50.0),))
    drafter.start(PROMPT)
    assert drafter.propose((), 1, asked, PhiloxCoins(6)).rows[0] == plain


def test_a_greedy_target_has_a_greedy_drafter_and_the_softmax_beside_it(tiny_target):
    drafter = drafter_of(tiny_target.model)
    drafter.start(PROMPT)
    draft = drafter.propose((), 3, Sampling(temperature=0), PhiloxCoins(7))
    assert [row.probs.tolist() for row in draft.rows] == [[1.0]] * 3
    for i, raw in enumerate(draft.raw):
        logits = fresh(tiny_target.model, (*PROMPT, *draft.tokens[:i]))
        assert draft.tokens[i] == logits.argmax()
        assert draft.tokens[i] in raw.ids
        assert 0 < raw.tail < 1


def test_nothing_cut_nothing_shown_twice(tiny_target):
    drafter = drafter_of(tiny_target.model)
    drafter.start(PROMPT)
    assert drafter.propose((), 2, Sampling(temperature=0.7), PhiloxCoins(8)).raw == ()
    assert len(drafter.propose((), 2, SAMPLING, PhiloxCoins(8)).raw) == 2


@pytest.mark.parametrize("after", [0, 1, 3])
def test_a_proposal_that_was_stopped_leaves_no_trace(tiny_target, after):
    drafter = drafter_of(tiny_target.model)
    drafter.start(PROMPT)
    with pytest.raises(InterruptedError):
        drafter.propose((), 4, SAMPLING, Stopping(9, after))
    drafter.start(PROMPT)
    again = drafter.propose((), 4, SAMPLING, PhiloxCoins(9))
    other = drafter_of(tiny_target.model)
    other.start(PROMPT)
    assert again == other.propose((), 4, SAMPLING, PhiloxCoins(9))


def test_drafts_that_were_dropped_before_the_check_are_taken_back(tiny_target):
    """The loop cuts a proposal behind an end of text: only what was emitted counts."""
    drafter = drafter_of(tiny_target.model)
    drafter.start(PROMPT)
    draft = drafter.propose((), 4, SAMPLING, PhiloxCoins(10))
    drafter.commit((draft.tokens[0], 17))
    assert drafter.cached.held == [*PROMPT, draft.tokens[0]]


def test_identical_weights_accept_everything(tiny_target):
    """Self-drafting stays at 100 %: after a full accept the last draft's own cache entry is not missing."""
    from engine import rules
    from engine.core.loop import Generation, Plan

    for name in ("stochastic", "block"):
        drafter, scorer = drafter_of(tiny_target.model), load.scorer(tiny_target)
        drafter.start(PROMPT)
        scorer.prefill(PROMPT)
        plan = Plan(PROMPT, rules.get(name), Sampling(temperature=1.0), seed=11, k=4, max_tokens=200)
        rounds = list(Generation(plan, drafter, scorer))
        proposed = sum(done.block.k for done in rounds)
        assert sum(done.verdict.n_accepted for done in rounds) == proposed > 150


def test_a_wider_target_gives_no_mass_to_ids_the_draft_lacks(tiny_target):
    known = np.ones(tiny.VOCAB, dtype=bool)
    known[40:] = False
    shared = Shared(known, tiny.VOCAB + 30)
    drafter = ModelDrafter("model:x", CachedModel(tiny_target.model, "draft"), shared)
    drafter.start(PROMPT)
    draft = drafter.propose((), 4, SAMPLING, PhiloxCoins(12))
    for row, raw in zip(draft.rows, draft.raw, strict=True):
        assert row.ids.max() < 40
        assert row.vocab == raw.vocab == tiny.VOCAB + 30
        assert row.probs.sum() == pytest.approx(1, abs=1e-12)
