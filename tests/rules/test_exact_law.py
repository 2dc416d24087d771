"""The claim of every lossless rule, proved by enumeration: whole sessions, not single tokens, no sampling."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.core import law
from engine.rules import RULES, get
from engine.rules.block import BlockVerification
from tests.core.tables import disjoint_tables, one_hot_table, random_table, same_everywhere

EXACT = 1e-12  # the sums below have some 10^5 terms of rounding 10^-17

SAMPLED = [rule for rule in RULES.values() if rule.lossless and not rule.greedy_only]
GREEDY = [rule for rule in RULES.values() if rule.lossless]
#: Biased rules are exact again at the parameters that take their bias away.
UNBIASED = [
    get("lenient", leniency=1.0),
    get("ensemble", weight=1.0),
    get("threshold", single=1.0, accumulated=1.0),
]

SIZES = [(2, 1, 4), (2, 3, 4), (3, 2, 3), (4, 1, 3), (4, 3, 2)]  # V, k, length


def ids(value):
    return value.id if hasattr(value, "id") else None


def assert_exact(rule, p, q, k, length):
    emitted = law.emitted_law(rule, p, q, k, length)
    assert sum(emitted.values()) == pytest.approx(1, abs=EXACT)
    wrong = {
        tokens: emitted.get(tokens, 0.0) - prob
        for tokens, prob in law.target_law(p, length).items()
        if abs(emitted.get(tokens, 0.0) - prob) > EXACT
    }
    assert not wrong, f"{rule.id} misses the target's law by {wrong}"
    assert emitted.keys() <= law.target_law(p, length).keys(), "a sequence without mass was emitted"


#: Volumes cost more than intervals, so Gumbel noise meets four tokens with one draft only.
CASES = [
    (rule, *size)
    for rule in SAMPLED + UNBIASED
    for size in SIZES
    if (rule.id, size[:2]) != ("gumbel", (4, 3))
]


@pytest.mark.parametrize(("rule", "vocab", "k", "length"), CASES, ids=ids)
def test_a_lossless_rule_emits_the_targets_law(rule, vocab, k, length):
    assert_exact(rule, random_table(1, vocab), random_table(2, vocab), k, length)


@pytest.mark.parametrize("seed", [3, 4])
@pytest.mark.parametrize("rule", SAMPLED, ids=ids)
def test_it_does_where_rows_have_zeros(rule, seed):
    assert_exact(rule, random_table(seed, 3, zeros=0.5), random_table(seed + 10, 3, zeros=0.5), 2, 3)


@pytest.mark.parametrize("rule", SAMPLED, ids=ids)
def test_it_does_where_the_models_are_one_and_the_same(rule):
    assert_exact(rule, random_table(5, 3), random_table(5, 3), 2, 3)


@pytest.mark.parametrize("rule", SAMPLED, ids=ids)
def test_it_does_where_the_models_never_agree(rule):
    assert_exact(rule, *disjoint_tables(6, 4), 2, 2)


@pytest.mark.parametrize("rule", SAMPLED, ids=ids)
def test_it_does_with_a_certain_drafter(rule):
    assert_exact(rule, random_table(7, 3), one_hot_table(8, 3), 2, 3)


@pytest.mark.parametrize("rule", GREEDY, ids=ids)
def test_it_does_with_a_certain_target(rule):
    assert_exact(rule, one_hot_table(9, 3), random_table(10, 3), 2, 4)
    assert_exact(rule, one_hot_table(9, 3), one_hot_table(11, 3), 3, 4)


@pytest.mark.parametrize("rule", SAMPLED, ids=ids)
def test_it_does_without_drafts(rule):
    assert_exact(rule, random_table(12, 3), random_table(13, 3), 0, 3)


#: Rows with exact zeros, ties and tiny masses, as whole numbers over their sum.
weights = st.lists(st.sampled_from([0, 0, 1, 1, 2, 3, 7, 10**6]), min_size=3, max_size=3).filter(any)


@settings(max_examples=12, deadline=None)
@given(st.lists(weights, min_size=4, max_size=4), st.lists(weights, min_size=4, max_size=4))
@pytest.mark.parametrize("rule", [r for r in SAMPLED if r.id != "gumbel"], ids=ids)
def test_it_does_on_rows_of_any_shape(rule, p_rows, q_rows):
    def table(rows):
        arrays = [np.array(row) / sum(row) for row in rows]
        return lambda prefix: arrays[(len(prefix) + sum(prefix)) % len(arrays)]

    assert_exact(rule, table(p_rows), table(q_rows), 2, 2)


@pytest.mark.parametrize("rule", [r for r in RULES.values() if not r.lossless], ids=ids)
def test_no_other_rule_passes(rule):
    """The power of the tests above: a rule that claims nothing is far off on the first of their tables."""
    p, q = random_table(1, 3), random_table(2, 3)
    if rule.id == "fly":
        p, q, k, length = random_table(1, 4), random_table(2, 4), 3, 2  # it forgives only with two behind
    else:
        k, length = 2, 3
    assert law.law_tv(law.emitted_law(rule, p, q, k, length), law.target_law(p, length)) > 0.005


@dataclass(frozen=True)
class BlockWithoutAttempts(BlockVerification):
    """Block verification that meets the coins behind its stop again."""

    looks_ahead = False


def test_block_verification_needs_the_true_attempt():
    p, q = same_everywhere(1 / 3, 2 / 3), same_everywhere(2 / 3, 1 / 3)
    exact = law.target_law(p, 2)
    assert law.law_tv(law.emitted_law(BlockVerification(), p, q, 2, 2), exact) < EXACT
    without = law.law_tv(law.emitted_law(BlockWithoutAttempts(), p, q, 2, 2), exact)
    assert without == pytest.approx(1 / 18)  # worked by the enumeration; 10^10 times the tolerance above
