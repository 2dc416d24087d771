"""How often each rule accepts, against its closed form written down anew, over many seeded rounds.

The closed forms are exact fractions from the table of rules, not the code's own. Rounds meet the real coins,
Philox under the seeds 0, 1, 2, …; the seeds are fixed, so a test passes always or never.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction as F
from itertools import pairwise

import numpy as np
import pytest

from engine.core import law, rows
from engine.core.coins import PhiloxCoins
from engine.core.types import Address, Block
from engine.rules import RULES, get
from tests.core.tables import same_everywhere

Fractions = Sequence[F]

#: Rows with ties, a token that one side lacks, and no symmetry; TOP is argmax p.
P = tuple(F(n, 20) for n in (7, 5, 5, 3, 0))
Q = tuple(F(n, 20) for n in (2, 9, 0, 7, 2))
TOP = 0
ROUNDS = 1000
K = 3
#: How often a right rule fails one of these tests: once in 3 million choices of the seeds.
SIGMAS = 5.1


def minimum(p: Fractions, q: Fractions) -> F:
    return sum(map(min, p, q), F(0))


def tv(p: Fractions, q: Fractions) -> F:
    return 1 - minimum(p, q)


def entropy(p: Fractions) -> float:
    return -sum(float(x) * math.log(x) for x in p if x)


def above_bar(p: Fractions, q: Fractions) -> F:
    bar = min(0.3, 0.09 * math.exp(-entropy(p)))
    return sum((qx for px, qx in zip(p, q, strict=True) if px > bar), F(0))


def near_the_best(p: Fractions, q: Fractions) -> F:
    """The top 10 of five tokens are those with mass; .6 below the best is below 0."""
    return sum((qx for px, qx in zip(p, q, strict=True) if px > 0), F(0))


def trusted(p: Fractions, q: Fractions) -> F:
    if max(q) >= max(p) - tv(p, q) / 2:
        return near_the_best(p, q)
    return minimum(p, q)


def gumbel(p: Fractions, q: Fractions) -> F:
    both = [i for i in range(len(p)) if p[i] and q[i]]
    return sum((1 / sum((max(p[v] / p[x], q[v] / q[x]) for v in range(len(p))), F(0)) for x in both), F(0))


def weighted(accept: Callable[[F, F], F]) -> Callable[[Fractions, Fractions], F]:
    return lambda p, q: sum((qx * accept(px, qx) for px, qx in zip(p, q, strict=True) if qx), F(0))


def drawn_from_top_two(p: Fractions, q: Fractions) -> F:
    best = sorted(range(len(q)), key=lambda i: (-q[i], i))[:2]
    kept = sum(q[i] for i in best)
    return sum((q[i] / kept * min(F(1), p[i] / q[i]) for i in best), F(0))


def at_the_argmax(p: Fractions, q: Fractions) -> F:
    x = max(range(len(q)), key=lambda i: (q[i], -i))
    return min(F(1), p[x] / q[x])


#: Rule -> mean acceptance at one position. 9/10 is the default of both bars of `threshold`.
CLOSED: dict[str, Callable[[Fractions, Fractions], F]] = {
    "stochastic": minimum,
    "sampler-match": weighted(lambda p, q: p),
    "one-hot": weighted(lambda p, q: p),
    "gumbel": gumbel,
    "greedy-argmax": lambda p, q: q[TOP],
    "argmax": lambda p, q: q[TOP],
    "lenient": weighted(lambda p, q: min(F(1), 2 * p / q)),
    "ensemble": weighted(lambda p, q: min(F(1), (1 + p / q) / 2) if p else F(0)),
    "typical": above_bar,
    "threshold": weighted(lambda p, q: min(F(1), p / F(9, 10))),
    "relaxed": near_the_best,
    "cascade": trusted,
    "synthetic": weighted(lambda p, q: F(7, 10) if p else F(0)),
    "fault-residual-from-p": minimum,
    "fault-one-token-residual": minimum,
    "fault-shared-coin": minimum,
    "fault-softmax-q": at_the_argmax,
    "fault-raw-q": drawn_from_top_two,
    "fault-string-match": weighted(lambda p, q: p + (1 - p) * min(F(1), p / q)),
}
#: Rules whose later drafts of a round are accepted at another rate than the first, or not independently.
FIRST_ONLY = ("synthetic", "fault-shared-coin")


def row(values: Fractions) -> rows.Row:
    return rows.from_dense(np.array([float(x) for x in values]))


def lengths(rule, k: int, pair: tuple[Fractions, Fractions] = (P, Q)) -> list[int]:
    """How many of k drafts each round accepts, under the seeds 0, 1, 2, …"""
    p, q = map(row, pair)
    found = []
    for seed in range(ROUNDS):
        coins = PhiloxCoins(seed)
        tokens = tuple(rule.draft(q, coins, Address("draft", i)) for i in range(k))
        block = Block(0, tokens, (q,) * k, (p,) * (k + 1), (0,) * (k + 1))
        found.append(rule.judge(block, coins).n_accepted)
    return found


def test_every_rule_has_a_closed_form_here():
    assert CLOSED.keys() | {"block", "fly"} == RULES.keys()


@pytest.mark.parametrize("rule_id", CLOSED)
def test_the_closed_form_is_the_one_of_the_table(rule_id):
    """Against the law meter's, which a few roundings of numbers below 1 may separate."""
    found = RULES[rule_id].position_law(row(P), row(Q)).acceptance
    assert abs(found - float(CLOSED[rule_id](P, Q))) <= 16 * 2**-53


@pytest.mark.parametrize("rule_id", CLOSED)
def test_tested_drafts_are_accepted_as_often_as_the_closed_form_says(rule_id):
    """Each tested draft is an independent toss at the closed form, so their sum is binomial."""
    k = 1 if rule_id in FIRST_ONLY else K
    found = lengths(RULES[rule_id], k)
    tested, accepted = sum(min(n + 1, k) for n in found), sum(found)
    chance = float(CLOSED[rule_id](P, Q))
    spread = math.sqrt(tested * chance * (1 - chance))
    off = abs(accepted - tested * chance)
    assert off <= SIGMAS * spread, (
        f"{rule_id}: {accepted} of {tested}, expected {tested * chance:.0f}, {off / spread:.1f} sigmas; "
        "a right rule is off by more than 5.1 once in 3 million"
    )


@pytest.mark.parametrize("rule_id", ["block", "fly"])
def test_rules_that_look_ahead_accept_as_many_as_their_exact_law_says(rule_id):
    pair, k = ((F(1, 3), F(2, 3)), (F(2, 3), F(1, 3))), 4
    tables = [same_everywhere(*probs) for probs in pair]
    exact = law.accepted_law(RULES[rule_id], *tables, k)
    mean = sum(n * weight for n, weight in exact.items())
    spread = math.sqrt(sum((n - mean) ** 2 * weight for n, weight in exact.items()) / ROUNDS)
    off = abs(sum(lengths(RULES[rule_id], k, pair)) / ROUNDS - mean)
    assert off <= SIGMAS * spread
    ratio = law.accepted_law(RULES["stochastic"], *tables, k)
    bound = sum(n * weight for n, weight in ratio.items())
    assert mean - bound > SIGMAS * spread, "the test cannot tell it from rejection sampling"


def test_these_rounds_tell_the_rates_of_the_main_rules_apart():
    """The power of the tests above: rates that users of other engines confuse lie far apart here. (Shared
    noise comes so close to the ceiling that only the exact form tells it apart.)"""
    rates = sorted(float(CLOSED[name](P, Q)) for name in ("stochastic", "sampler-match", "argmax"))
    widest = SIGMAS * math.sqrt(0.25 / ROUNDS)
    assert all(b - a > widest for a, b in pairwise(rates)), rates


@pytest.mark.parametrize(
    ("rule_id", "params", "closed"),
    [
        ("lenient", {"leniency": 1.0}, minimum),
        ("ensemble", {"weight": 1.0}, minimum),
        ("threshold", {"single": 1.0, "accumulated": 1.0}, weighted(lambda p, q: p)),
        ("synthetic", {"rate": 0.25}, weighted(lambda p, q: F(1, 4) if p else F(0))),
        ("cascade", {"alpha": 0.0}, near_the_best),
    ],
)
def test_other_parameters_have_their_own_closed_form(rule_id, params, closed):
    found = get(rule_id, **params).position_law(row(P), row(Q)).acceptance
    assert abs(found - float(closed(P, Q))) <= 16 * 2**-53


def test_a_cascade_that_does_not_trust_its_drafter_is_rejection_sampling():
    """max q = .35 lies below max p - TV/2 = .475."""
    p, q = (F(6, 10), F(3, 10), F(1, 10)), (F(35, 100), F(35, 100), F(3, 10))
    assert trusted(p, q) == minimum(p, q) == F(3, 4)
    found = RULES["cascade"].position_law(row(p), row(q)).acceptance
    assert abs(found - 0.75) <= 16 * 2**-53


def test_rejection_sampling_accepts_all_of_an_equal_draft_and_the_others_do_not():
    """p = q at T = 1: 100 %, not nearly, for the rules that use q; the one that dropped q is at sum p q."""
    p = row(P)
    for rule_id, expected in (("stochastic", 1.0), ("block", 1.0), ("gumbel", 1.0)):
        rule, k = RULES[rule_id], 4
        for seed in range(300):
            coins = PhiloxCoins(seed)
            tokens = tuple(rule.draft(p, coins, Address("draft", i)) for i in range(k))
            block = Block(0, tokens, (p,) * k, (p,) * (k + 1), (0,) * (k + 1))
            assert rule.judge(block, coins).n_accepted / k == expected
    for rule_id in ("sampler-match", "one-hot"):
        assert RULES[rule_id].position_law(p, p).acceptance == pytest.approx(float(sum(x * x for x in P)))
