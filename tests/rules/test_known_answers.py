"""Every rule on pairs small enough to work out by hand: what it emits, and how much it accepts."""

from fractions import Fraction as F

import numpy as np
import pytest

from engine.core import law, position_law, rows
from engine.rules import RULES, get
from tests.core.tables import random_table, rows_by_length, same_everywhere

CAT_DOG_FOX = (F(3, 10), F(5, 10), F(2, 10)), (F(6, 10), F(3, 10), F(1, 10))
THIRDS = (F(1, 3), F(2, 3)), (F(2, 3), F(1, 3))
PEAKED = (F(6, 10), F(2, 10), F(1, 10), F(1, 10)), (F(7, 10), F(2, 10), F(1, 20), F(1, 20))
TOP_TWO = (F(4, 10), F(4, 10), F(1, 10), F(1, 10)), (F(5, 10), F(3, 10), F(1, 10), F(1, 10))
RISING = (F(1, 10), F(6, 10), F(3, 10)), (F(5, 10), F(3, 10), F(2, 10))
CERTAIN_DRAFT = (F(1, 2), F(1, 2)), (F(1), F(0))


def fraction(value: float) -> F:
    """The fraction a float stands for."""
    found = F(value).limit_denominator(10**6)
    assert abs(float(found) - value) < 1e-13, f"{value} is no fraction of small numbers"
    return found


def first_token(rule, pair, k: int = 1) -> tuple[F, ...]:
    p, q = (same_everywhere(*row) for row in pair)
    emitted = law.emitted_law(rule, p, q, k, 1)
    return tuple(fraction(emitted.get((token,), 0.0)) for token in range(len(pair[0])))


def mean_accepted(rule, pair, k: int) -> F:
    p, q = (same_everywhere(*row) for row in pair)
    return fraction(sum(n * weight for n, weight in law.accepted_law(rule, p, q, k).items()))


P = object()  # the target's own row

FIRST_TOKEN = [
    ("stochastic", {}, CAT_DOG_FOX, P),
    ("sampler-match", {}, CAT_DOG_FOX, P),
    ("one-hot", {}, CAT_DOG_FOX, P),
    ("block", {}, CAT_DOG_FOX, P),
    ("gumbel", {}, CAT_DOG_FOX, P),
    ("argmax", {}, CAT_DOG_FOX, (0, 1, 0)),
    ("fault-one-token-residual", {}, CAT_DOG_FOX, (F(3, 10), F(18, 35), F(13, 70))),
    ("fault-residual-from-p", {}, CAT_DOG_FOX, (F(39, 100), F(45, 100), F(16, 100))),
    ("fault-string-match", {}, CAT_DOG_FOX, (F(39, 100), F(45, 100), F(16, 100))),
    ("ensemble", {"weight": 0.5}, CAT_DOG_FOX, (F(9, 20), F(2, 5), F(3, 20))),
    ("lenient", {"leniency": 0.5}, CAT_DOG_FOX, (F(3, 5), F(3, 10), F(1, 10))),
    ("lenient", {"leniency": 0.8}, CAT_DOG_FOX, (F(3, 8), F(69, 152), F(13, 76))),
    ("fault-shared-coin", {}, THIRDS, P),
    ("fault-residual-from-p", {}, PEAKED, (F(66, 100), F(22, 100), F(6, 100), F(6, 100))),
    ("fault-softmax-q", {}, PEAKED, (F(6, 7), 0, F(1, 14), F(1, 14))),
    ("fault-raw-q", {"top": 2}, TOP_TWO, (F(1, 2), F(1, 2), 0, 0)),
    ("ensemble", {"weight": 0.5}, RISING, (F(3, 10), F(45, 100), F(1, 4))),
    ("fault-string-match", {}, CERTAIN_DRAFT, (F(3, 4), F(1, 4))),
]


@pytest.mark.parametrize(("rule_id", "params", "pair", "expected"), FIRST_TOKEN)
def test_the_law_of_one_token(rule_id, params, pair, expected):
    assert first_token(get(rule_id, **params), pair) == (pair[0] if expected is P else expected)


def test_how_far_the_one_token_residual_is_off():
    p, q = (same_everywhere(*row) for row in CAT_DOG_FOX)
    emitted = law.emitted_law(RULES["fault-one-token-residual"], p, q, 1, 1)
    assert fraction(law.law_tv(emitted, law.target_law(p, 1))) == F(1, 70)


MEAN_ACCEPTED = [
    ("stochastic", CAT_DOG_FOX, 1, F(7, 10)),
    ("stochastic", CAT_DOG_FOX, 2, F(119, 100)),
    ("stochastic", CAT_DOG_FOX, 3, F(1533, 1000)),
    ("stochastic", CAT_DOG_FOX, 4, F(17731, 10000)),
    ("block", CAT_DOG_FOX, 1, F(7, 10)),
    ("block", CAT_DOG_FOX, 2, F(32, 25)),
    ("block", CAT_DOG_FOX, 3, F(1761, 1000)),
    ("block", CAT_DOG_FOX, 4, F(2717, 1250)),
    ("sampler-match", CAT_DOG_FOX, 1, F(7, 20)),
    ("argmax", CAT_DOG_FOX, 1, F(3, 10)),
    ("gumbel", CAT_DOG_FOX, 1, F(59, 85)),
    ("stochastic", THIRDS, 2, F(10, 9)),
    ("sampler-match", THIRDS, 2, F(52, 81)),
    ("block", THIRDS, 2, F(11, 9)),
    ("stochastic", THIRDS, 4, F(130, 81)),
    ("sampler-match", THIRDS, 4, F(5044, 6561)),
    ("block", THIRDS, 4, F(166, 81)),
    ("stochastic", PEAKED, 1, F(9, 10)),
    ("sampler-match", PEAKED, 1, F(47, 100)),
    ("gumbel", RISING, 1, F(32, 55)),
]


@pytest.mark.parametrize(("rule_id", "pair", "k", "expected"), MEAN_ACCEPTED)
def test_the_mean_number_of_accepted_drafts(rule_id, pair, k, expected):
    assert mean_accepted(RULES[rule_id], pair, k) == expected


def test_block_verification_never_accepts_less_than_rejection_sampling():
    for seed in range(6):
        p, q = random_table(seed, 3, zeros=0.3), random_table(seed + 50, 3, zeros=0.3)
        means = [
            sum(n * weight for n, weight in law.accepted_law(RULES[rule], p, q, 3).items())
            for rule in ("block", "stochastic")
        ]
        assert means[0] > means[1] - 1e-12


def test_cat_dog_fox_by_the_row_functions():
    p, q = (rows.from_dense(np.array([float(x) for x in row])) for row in CAT_DOG_FOX)
    assert fraction(rows.overlap(p, q)) == F(7, 10)
    assert fraction(rows.product(p, q)) == F(7, 20)
    assert fraction(rows.tv(p, q)) == F(3, 10)
    residual, mass = rows.residual(p, q)
    assert fraction(mass) == F(3, 10)
    assert [fraction(x) for x in rows.dense(residual)] == [0, F(2, 3), F(1, 3)]


def test_one_coin_for_a_block_hides_from_tests_of_single_tokens():
    """The first token and the second alone are right; the pair is not. So laws are tested as pairs."""
    p, q = (same_everywhere(*row) for row in THIRDS)
    pairs = law.emitted_law(RULES["fault-shared-coin"], p, q, 2, 2)
    found = {tokens: fraction(weight) for tokens, weight in pairs.items()}
    assert found == {(0, 0): F(2, 9), (0, 1): F(1, 9), (1, 0): F(2, 9), (1, 1): F(4, 9)}
    right = {tokens: fraction(weight) for tokens, weight in law.target_law(p, 2).items()}
    assert right == {(0, 0): F(1, 9), (0, 1): F(2, 9), (1, 0): F(2, 9), (1, 1): F(4, 9)}
    assert found[0, 0] + found[0, 1] == F(1, 3)


def test_the_law_follows_the_context():
    """The first token is right, because q is p there; the second carries the bias of its own rows."""
    p = rows_by_length((0.5, 0.5), (F(1, 3), F(2, 3)))
    q = rows_by_length((0.5, 0.5), (F(2, 3), F(1, 3)))
    emitted = law.emitted_law(RULES["fault-residual-from-p"], p, q, 2, 2)
    # Second token: min(p, q) + (1 - 2/3) p = (1/3, 1/3) + (1/9, 2/9), where p is (1/3, 2/3).
    second = (F(4, 9), F(5, 9))
    assert {t: fraction(w) for t, w in emitted.items()} == {
        (a, b): second[b] / 2 for a in range(2) for b in range(2)
    }


@pytest.mark.parametrize("rule", [r for r in RULES.values() if not r.looks_ahead], ids=lambda rule: rule.id)
@pytest.mark.parametrize("pair", [CAT_DOG_FOX, PEAKED, TOP_TWO, CERTAIN_DRAFT])
def test_the_closed_form_of_a_position_is_its_enumeration(rule, pair):
    p, q = (rows.from_dense(np.array([float(x) for x in row])) for row in pair)
    closed = rule.position_law(p, q)
    counted = position_law.enumerated(rule, p, q)
    if closed is None:
        pytest.fail(f"{rule.id} has no closed form")
    assert closed.ids.tolist() == counted.ids.tolist()
    np.testing.assert_allclose(closed.probs, counted.probs, atol=1e-13)
    assert closed.acceptance == pytest.approx(counted.acceptance, abs=1e-13)
