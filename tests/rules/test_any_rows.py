"""The edges, for every rule and on rows of every shape: what may be accepted, what may follow, what a
residual is. The rows are sparse, tied or certain, of 2 to 50 tokens, and need not be equally wide."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.core import position_law, rows
from engine.core.coins import PhiloxCoins
from engine.core.types import Address, Block
from engine.rules import RULES
from tests.core.fixed_coins import FixedCoins
from tests.rules.any_rows import any_block, any_row, row_of

ALL = list(RULES.values())
LAST = 1 - 2**-53  # the largest u there is

#: Rules whose test reads q: a draft that q cannot have drawn is rejected. The others never look at q.
READS_Q = (
    "stochastic", "block", "lenient", "ensemble", "fly", "cascade", "fault-residual-from-p",
    "fault-one-token-residual", "fault-shared-coin", "fault-softmax-q", "fault-raw-q",
)  # fmt: skip
#: Rules that refill from norm((p - q)+) at a position whose prefix stands whole.
REFILLS_BY_DIFFERENCE = (
    "stochastic", "block", "ensemble", "fly", "cascade",
    "fault-shared-coin", "fault-softmax-q", "fault-raw-q",
)  # fmt: skip

examples = settings(max_examples=12, deadline=None)
every_rule = pytest.mark.parametrize("rule", ALL, ids=lambda rule: rule.id)
coins = st.one_of(
    st.builds(PhiloxCoins, st.integers(0, 10**6)), st.builds(FixedCoins, st.sampled_from((0.0, 0.5, LAST)))
)


class RejectingCoins(PhiloxCoins):
    """Every test with a coin fails."""

    def flip(self, prob, at, per=1.0):
        return False, LAST


@every_rule
@examples
@given(any_block(), coins)
def test_a_verdict_accepts_a_prefix_and_adds_an_id_with_mass(rule, block, coins):
    verdict = rule.judge(block, coins)
    n = verdict.n_accepted
    assert 0 <= n <= block.k
    assert block.p[n].prob(verdict.next_token) > 0
    assert verdict.next_source == ("bonus" if n == block.k else "corrected")
    assert all(0 <= check.accept_prob <= 1 for check in verdict.checks)
    assert len(verdict.checks) == (block.k if rule.id == "block" else min(n + 1, block.k))


@every_rule
@examples
@given(any_block(), coins)
def test_what_the_target_rules_out_is_never_accepted(rule, block, coins):
    """p(x) = 0: also at u = 0, and whatever q says."""
    accepted = rule.judge(block, coins).n_accepted
    assert all(block.p_of(i) > 0 for i in range(accepted))


@pytest.mark.parametrize("rule_id", READS_Q)
@examples
@given(any_block(), coins)
def test_what_the_drafter_cannot_have_drawn_is_rejected(rule_id, block, coins):
    """q(x) = 0 with x drafted: no division by it, no trust, no pardon, no longer prefix over it."""
    accepted = RULES[rule_id].judge(block, coins).n_accepted
    assert all(block.q_of(i) > 0 for i in range(accepted))


def test_no_pardon_covers_a_draft_that_q_cannot_have_drawn():
    """FLy forgives a miss when the drafts behind it pass; the first one here is no miss but an impossible
    token, and with a draft that q may have drawn the same block is forgiven."""
    p = row_of([1, 1, 1, 1])
    absent, rare = row_of([0, 1, 1, 1]), row_of([10**6, 1, 1, 1])
    for q, forgiven in ((absent, 0), (rare, 3)):
        block = Block(0, (0, 1, 1), (q, p, p), (p,) * 4, (0,) * 4)
        assert RULES["fly"].judge(block, FixedCoins(0.5)).n_accepted == forgiven


@every_rule
@examples
@given(any_block(), st.integers(0, 10**6))
def test_a_residual_is_a_distribution_inside_p_or_p_itself(rule, block, seed):
    """Whatever is rejected: a residual with mass is normalised; one without gives way to p, and says so."""
    verdict = rule.judge(block, RejectingCoins(seed))
    if verdict.residual is None:
        assert verdict.mass is None and not verdict.degenerate
        return
    p = block.p[verdict.n_accepted]
    if verdict.degenerate:
        assert verdict.residual == p and verdict.mass == 0.0
        return
    assert verdict.mass > 0
    assert np.isin(verdict.residual.ids, p.ids).all()
    n = len(verdict.residual.ids)
    assert abs(float(verdict.residual.probs.sum()) - 1) <= n * 2**-53, "more than the rounding of the sum"


@pytest.mark.parametrize("rule_id", REFILLS_BY_DIFFERENCE)
@examples
@given(any_row(), st.integers(0, 10**6), st.data())
def test_equal_rows_leave_no_residual(rule_id, p, seed, data):
    """A rejection where p = q (forced here; by rounding in life) draws from p and is marked degenerate."""
    x = data.draw(st.integers(0, p.vocab - 1))
    verdict = RULES[rule_id].judge(Block(0, (x,), (p,), (p, p), (0, 0)), RejectingCoins(seed))
    if verdict.n_accepted:  # without a coin, which only cascade's trust does
        assert rule_id == "cascade"
        return
    assert (verdict.degenerate, verdict.residual, verdict.mass) == (True, p, 0.0)


@pytest.mark.parametrize("rule_id", ["one-hot", "fault-one-token-residual"])
@examples
@given(st.integers(2, 50), st.data())
def test_taking_a_certain_token_from_p_leaves_no_residual(rule_id, vocab, data):
    p = rows.one_hot(data.draw(st.integers(0, vocab - 1)), vocab)
    x = int(p.ids[0])
    verdict = RULES[rule_id].judge(Block(0, (x,), (p,), (p, p), (0, 0)), RejectingCoins(1))
    assert (verdict.degenerate, verdict.residual, verdict.next_token) == (True, p, x)


#: Enumerating shared noise cuts a simplex of as many corners as there are tokens.
MOST = {"gumbel": 3}
#: A residual below ROUNDING_MASS counts as none, which moves as much mass; the rest is rounding of some
#: hundred terms, each below 1.
TOLERANCE = rows.ROUNDING_MASS + 200 * 2**-53


@pytest.mark.parametrize("rule", [r for r in ALL if not r.looks_ahead], ids=lambda rule: rule.id)
@settings(max_examples=10, deadline=None)
@given(st.data())
def test_the_closed_form_of_a_position_is_its_enumeration(rule, data):
    """What the law meter and the binomial check rest on, without anything the rules themselves compute."""
    most = MOST.get(rule.id, 8)
    p, q = data.draw(any_row(most)), data.draw(any_row(most))
    wider = max(p.vocab, q.vocab)  # a drafter's rows are aligned to the target's width
    p, q = replace(p, vocab=wider), replace(q, vocab=wider)
    closed, counted = rule.position_law(p, q), position_law.enumerated(rule, p, q)
    assert closed.ids.tolist() == counted.ids.tolist()
    np.testing.assert_allclose(closed.probs, counted.probs, rtol=0, atol=TOLERANCE)
    assert abs(closed.acceptance - counted.acceptance) <= TOLERANCE


LOSSLESS = [rule for rule in ALL if rule.lossless and not rule.greedy_only]


@pytest.mark.parametrize("rule", [r for r in LOSSLESS if not r.looks_ahead], ids=lambda rule: rule.id)
@examples
@given(any_row(), any_row())
def test_a_lossless_rule_s_law_is_p_on_wide_rows_too(rule, p, q):
    found = rule.position_law(p, q)
    target = rows.dense(p, max(p.vocab, q.vocab))[found.ids]
    np.testing.assert_allclose(found.probs, target, rtol=0, atol=TOLERANCE)
    assert rows.product(p, q) - TOLERANCE <= found.acceptance <= rows.overlap(p, q) + TOLERANCE


@every_rule
@examples
@given(any_row(), st.integers(0, 10**6))
def test_a_draft_is_an_id_with_mass_in_the_row_it_is_drawn_from(rule, q, seed):
    assert q.prob(rule.draft(q, PhiloxCoins(seed), Address("draft", 3))) > 0
