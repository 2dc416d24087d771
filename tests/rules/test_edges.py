"""The edges of judging a block: no mass, no draft, equal rows, and what a verdict says of each draft."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core import law, rows
from engine.core.coins import PhiloxCoins
from engine.core.types import Address, Block
from engine.rules import RULES, get
from tests.core.fixed_coins import FixedCoins
from tests.core.tables import same_everywhere

LAST = 1 - 2**-53  # the largest u there is

ALL = list(RULES.values())
#: The rules whose test is the ratio of p to q, or p alone; all with a coin.
WITH_COINS = [
    RULES[i] for i in ("stochastic", "one-hot", "block", "fault-residual-from-p", "fault-one-token-residual")
]


def ids(value):
    return value.id if hasattr(value, "id") else None


def row(*probs: float):
    return rows.from_dense(np.array(probs))


def block(tokens, q, p, start: int = 0) -> Block:
    return Block(start, tuple(tokens), tuple(q), tuple(p), (0,) * len(p))


@pytest.mark.parametrize("rule", ALL, ids=ids)
def test_no_drafts_are_one_plain_draw_from_the_target(rule):
    p = row(0.25, 0.75)
    coins = PhiloxCoins(5)
    verdict = rule.judge(block((), (), (p,), start=3), coins)
    greedy = rule.id in ("greedy-argmax", "argmax", "relaxed")
    own = 1 if greedy else rule.target_draw(p, coins, Address("target", 3))
    assert (verdict.n_accepted, verdict.next_source, verdict.next_token) == (0, "bonus", own)
    assert verdict.checks == ()


@pytest.mark.parametrize("u", [0.0, 0.5, LAST])
@pytest.mark.parametrize("rule", ALL, ids=ids)
def test_a_token_the_target_rules_out_is_never_accepted(rule, u):
    """p(x) = 0, also at u = 0: the comparison is strict."""
    p, q = row(0.0, 1.0, 0.0), row(1.0, 0.0, 0.0)
    verdict = rule.judge(block((0,), (q,), (p, p)), FixedCoins(u))
    assert verdict.n_accepted == 0
    assert verdict.next_token == 1
    assert not verdict.checks[0].accepted


@pytest.mark.parametrize("u", [0.0, LAST])
@pytest.mark.parametrize("rule_id", ["stochastic", "block", "lenient", "ensemble", "fault-residual-from-p"])
def test_a_draft_that_q_cannot_have_drawn_is_rejected(rule_id, u):
    """q(x) = 0 with x drafted: reject, with no division by it and no coin spent on it."""
    p, q = row(0.5, 0.5), row(1.0, 0.0)
    verdict = RULES[rule_id].judge(block((1,), (q,), (p, p)), FixedCoins(u))
    assert verdict.n_accepted == 0
    assert verdict.checks[0].accept_prob == 0


@pytest.mark.parametrize("rule_id", ["stochastic", "block"])
@given(
    weights=st.lists(st.floats(1e-12, 1.0), min_size=2, max_size=6),
    u=st.integers(0, 2**53 - 1),
    drafted=st.integers(0, 5),
)
def test_equal_rows_accept_every_draft_at_every_coin(rule_id, weights, u, drafted):
    p = row(*(np.array(weights) / sum(weights)))
    x = drafted % len(weights)
    verdict = RULES[rule_id].judge(block((x, x), (p, p), (p, p, p)), FixedCoins(u * 2.0**-53))
    assert verdict.n_accepted == 2


@pytest.mark.parametrize("noise", [0.0, 1e-17, 3e-17])
def test_a_residual_that_is_rounding_alone_gives_way_to_p(noise):
    """p = q by two routes differ in the last bits; a forced rejection must not draw from that difference."""
    p = row(0.5, 0.25, 0.125, 0.125)
    q = row(0.5 + 2**-53, 0.25 - noise, 0.125, 0.125 - noise)
    assert rows.residual(p, q) == (None, 0.0)

    class RejectsAll(FixedCoins):
        def flip(self, prob, at, per=1.0):
            return False, 1.0

    verdict = RULES["stochastic"].judge(block((0,), (q,), (p, p)), RejectsAll(0.6))
    assert verdict.degenerate
    assert (verdict.residual, verdict.mass) == (p, 0.0)
    assert verdict.next_token == 1  # u = .6 lies in [.5, .75)


def test_a_small_residual_is_still_one():
    found, mass = rows.residual(row(0.5 + 1e-9, 0.5 - 1e-9), row(0.5, 0.5))
    assert found.ids.tolist() == [0] and mass == pytest.approx(1e-9, rel=1e-6)


@pytest.mark.parametrize("rule", WITH_COINS, ids=ids)
def test_u_at_the_threshold_rejects(rule):
    p, q = row(0.25, 0.75), row(0.5, 0.5)
    threshold = 0.25 if rule.id == "one-hot" else 0.5
    for u, accepted in ((np.nextafter(threshold, 0), 1), (threshold, 0)):
        verdict = rule.judge(block((0,), (q,), (p, p)), FixedCoins(u))
        assert verdict.n_accepted == accepted, f"u = {u}"
        assert verdict.checks[0].accept_prob == threshold
        assert verdict.checks[0].u == u


@pytest.mark.parametrize("rule_id", ["stochastic", "sampler-match", "one-hot", "greedy-argmax", "argmax"])
def test_drafts_behind_a_rejection_are_not_looked_at(rule_id):
    p, q = row(0.0, 1.0), row(0.5, 0.5)
    coins = FixedCoins(0.9)
    verdict = RULES[rule_id].judge(block((1, 0, 1), (q, q, q), (p, p, p, p), start=4), coins)
    assert [check.accepted for check in verdict.checks] == [True, False]
    assert (verdict.n_accepted, verdict.next_token, verdict.next_source) == (1, 1, "corrected")
    assert max(at.position for at in coins.asked) <= 5 if coins.asked else True


def test_block_verification_keeps_the_longest_prefix_that_stands():
    """A draft that its own ratio would reject stands on what follows: p/q = 1/2 and then 2 are r = 1/2, 1."""
    low, high = (row(0.25, 0.75), row(0.5, 0.5)), (row(1.0, 0.0), row(0.5, 0.5))
    drafted = block((0, 0), (low[1], high[1]), (low[0], high[0], row(0.5, 0.5)))
    coins = FixedCoins(0.99)
    assert RULES["stochastic"].judge(drafted, coins).n_accepted == 0
    verdict = RULES["block"].judge(drafted, coins)
    assert verdict.n_accepted == 2 and not verdict.checks[0].accepted
    # h_1 = m/(m + 1 - r) with r = 1/2 and m = (1/2 * 1 - 1/2)+ + (0 - 1/2)+ = 0; h_2 = r_2 = 1.
    assert [check.accept_prob for check in verdict.checks] == [0.0, 1.0]


def test_a_mass_of_rounding_alone_is_a_probability_too():
    """r = 1 and m one ulp: h = m/m = 1, where (m + 1) - 1 would be 0; with a larger m it would not be m."""
    q = row(0.5 + 2**-53, 0.25, 0.25 - 2**-53)
    p = row(0.5, 0.25, 0.25)
    thirds = row(1 / 3, 1 / 3, 1 / 3)
    for p1, q1 in ((p, q), (q, p), (thirds, rows.one_hot(0, 3))):
        drafted = block((1, 0), (p, q1), (p, p1, p))
        for coins in (FixedCoins(0.0), FixedCoins(LAST)):
            verdict = RULES["block"].judge(drafted, coins)
            assert verdict.checks[0].accept_prob in (0.0, 1.0)


def test_the_residual_of_block_verification_is_scaled_by_the_prefix():
    """r_1 = 1/2: what follows is drawn from norm((p/2 - q)+) = (3/8 - 1/4, 0, 0) -> certain."""
    p1, q1 = row(0.25, 0.75, 0.0), row(0.5, 0.5, 0.0)
    p2, q2 = row(0.75, 0.25, 0.0), row(0.25, 0.25, 0.5)
    drafted = block((0, 2), (q1, q2), (p1, p2, p2))
    # m = 1/8, h_1 = (1/8) / (1/8 + 1/2) = 1/5; the second draft has p = 0, so it falls.
    verdict = RULES["block"].judge(drafted, FixedCoins(0.1))
    assert [check.accept_prob for check in verdict.checks] == [pytest.approx(0.2), 0.0]
    assert (verdict.n_accepted, verdict.next_token, verdict.mass) == (1, 0, pytest.approx(0.125))
    assert verdict.residual == rows.one_hot(0, 3)


@pytest.mark.parametrize("rule_id", ["stochastic", "one-hot", "sampler-match", "block", "gumbel"])
def test_a_wrong_draft_from_a_certain_drafter_is_rejected(rule_id):
    """The first draft of a block is verified like every other."""
    p, q = row(0.0, 0.0, 1.0), row(1.0, 0.0, 0.0)
    emitted = law.emitted_law(
        RULES[rule_id], lambda prefix: rows.dense(p), lambda prefix: rows.dense(q), 1, 2
    )
    assert emitted == {(2, 2): 1.0}


@pytest.mark.parametrize("rule_id", ["greedy-argmax", "argmax"])
def test_a_tie_goes_to_the_lowest_id_on_both_sides(rule_id):
    p = row(0.25, 0.375, 0.375)
    for x, accepted in ((1, 1), (2, 0)):
        verdict = RULES[rule_id].judge(block((x,), (p,), (p, p)), FixedCoins())
        assert (verdict.n_accepted, verdict.next_token) == (accepted, 1)


@pytest.mark.parametrize("rule_id", ["greedy-argmax", "argmax"])
def test_argmax_rules_toss_no_coin(rule_id):
    coins = FixedCoins()
    p = row(0.4, 0.6)
    RULES[rule_id].judge(block((1, 0), (p, p), (p, p, p)), coins)
    assert coins.asked == []


@pytest.mark.parametrize("rule", [r for r in ALL if r.id != "fault-shared-coin"], ids=ids)
def test_no_two_decisions_of_a_block_share_an_address(rule):
    """Accept, residual and target coins of a block: each asked once, or again for the very same draw."""
    p, q = row(0.3, 0.5, 0.2), row(0.6, 0.3, 0.1)
    for seed in range(40):
        coins = FixedCoins()
        philox = PhiloxCoins(seed)
        coins.uniform = lambda at, coins=coins, philox=philox: coins.asked.append(at) or philox.uniform(at)
        tokens = tuple(rule.draft(q, coins, Address("draft", 7 + i)) for i in range(3))
        drafts, coins.asked = set(coins.asked), []
        rule.judge(block(tokens, (q,) * 3, (p,) * 4, start=7), coins)
        if rule.id != "gumbel":  # it shares the noise of a position on purpose
            assert not drafts & set(coins.asked)
        flips = [at for at in coins.asked if at.purpose in ("accept", "residual")]
        assert len(flips) == len(set(flips))


def test_one_coin_for_a_block_is_seen_by_that_test():
    coins = FixedCoins(0.1)
    p = row(0.5, 0.5)
    RULES["fault-shared-coin"].judge(block((0, 0), (p, p), (p, p, p)), coins)
    flips = [at for at in coins.asked if at.purpose == "accept"]
    assert len(flips) == 2 and len(set(flips)) == 1


def test_a_wide_vocabulary_ends_where_its_mass_does():
    """V = 8193, no mass at the end, the largest coin: the draw is an id with mass."""
    probs = np.zeros(8193)
    probs[:4096] = 1 / 4096
    p = rows.from_dense(probs)
    uneven = np.zeros(8193)
    uneven[1:4097] = 1 / 4096
    q = rows.from_dense(uneven)
    verdict = RULES["stochastic"].judge(block((4096,), (q,), (p, p)), FixedCoins(LAST))
    assert verdict.next_token == 0  # the residual is all of id 0
    verdict = get("sampler-match").judge(block((0,), (q,), (p, p)), FixedCoins(LAST))
    assert verdict.next_token == 4095


@pytest.mark.parametrize(
    ("rule_id", "expected"), [("stochastic", 1.0), ("sampler-match", 0.38), ("one-hot", 0.38)]
)
def test_what_an_equal_drafter_gets_accepted(rule_id, expected):
    """The rule that is named is the rule that runs: only the ratio test takes all of p = q."""
    same = same_everywhere(0.5, 0.3, 0.2)
    accepted = law.accepted_law(RULES[rule_id], same, same, 1)
    assert accepted.get(1, 0.0) == pytest.approx(expected)
