"""Rows as wide as real vocabularies, with nothing at their end: a draw is always an id with mass."""

import numpy as np
import pytest

from engine.core import rows
from engine.core.coins import PhiloxCoins
from engine.core.types import Address, Block
from engine.rules import RULES
from tests.core.fixed_coins import FixedCoins

LAST = 1 - 2**-53
#: The width that kernels cut rows into, one above it, and one real vocabulary.
WIDTHS = (8192, 8193, 49152)


def rows_of(width: int, tail: int = 900) -> tuple[rows.Row, rows.Row]:
    """p and q with no mass on the last `tail` ids, p none on the first either."""
    rng = np.random.default_rng(width)
    made = []
    for first in (1, 0):
        weights = rng.exponential(size=width) ** 4
        weights[:first], weights[width - tail :] = 0.0, 0.0
        made.append(rows.from_dense(weights / weights.sum()))
    return made[0], made[1]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("rule", list(RULES.values()), ids=lambda rule: rule.id)
def test_no_coin_leads_to_an_id_beyond_the_mass(rule, width):
    p, q = rows_of(width)
    for coins in (FixedCoins(LAST), FixedCoins(0.0), PhiloxCoins(3)):
        x = rule.draft(q, coins, Address("draft", 0))
        assert q.prob(x) > 0
        for drafted in (x, 0, width - 1):  # the drafter's own, one p rules out, one that neither has
            verdict = rule.judge(Block(0, (drafted,), (q,), (p, p), (0, 0)), coins)
            assert p.prob(verdict.next_token) > 0
            assert verdict.n_accepted == 0 or p.prob(drafted) > 0


@pytest.mark.parametrize("width", WIDTHS)
def test_the_residual_sums_to_one_and_ends_where_p_does(width):
    p, q = rows_of(width)
    residual, mass = rows.residual(p, q)
    dense = np.maximum(rows.dense(p) - rows.dense(q), 0)
    np.testing.assert_array_equal(residual.ids, np.flatnonzero(dense))
    assert mass == dense[residual.ids].sum()
    assert rows.quantile(residual, LAST) == int(residual.ids[-1]) <= int(p.ids[-1])
    assert rows.quantile(residual, 0.0) == int(residual.ids[0])
