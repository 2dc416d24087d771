"""Rows: what is a distribution, what is left of one, and what two have in common."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core import rows
from engine.core.types import Row
from engine.errors import BadRow


def row(*probs: float) -> Row:
    return rows.from_dense(np.array(probs))


@pytest.mark.parametrize(
    "probs", [(np.nan, 0.5), (np.inf, 0.0), (0.0, 0.0), (1.5, -0.5), (0.25, 0.25), (2.0, 1.0), ()]
)
def test_what_is_no_distribution_is_refused(probs):
    with pytest.raises(BadRow, match="sums to"):
        row(*probs)


def test_a_row_holds_what_has_mass_in_ascending_order():
    found = row(0.0, 0.25, 0.0, 0.75)
    assert (found.ids.tolist(), found.probs.tolist(), found.vocab) == ([1, 3], [0.25, 0.75], 4)
    assert (found.ids.dtype, found.probs.dtype) == (np.uint32, np.float64)
    assert [found.prob(i) for i in range(6)] == [0, 0.25, 0, 0.75, 0, 0]
    assert found.exact


def test_a_row_cannot_be_written_to():
    found = row(0.5, 0.5)
    with pytest.raises(ValueError, match="read-only"):
        found.probs[0] = 1.0


def test_equal_rows_are_equal_and_others_are_not():
    assert row(0.5, 0.5) == row(0.5, 0.5)
    assert row(0.5, 0.5) != row(0.5, 0.5, 0.0)  # another vocabulary
    assert row(0.5, 0.5) != row(0.25, 0.75)
    assert row(0.5, 0.5) != "row"


def test_argmax_and_top_break_ties_by_the_lowest_id():
    found = row(0.1, 0.3, 0.2, 0.3, 0.1)
    assert rows.argmax(found) == 1
    assert rows.top(found, 3).tolist() == [1, 3, 2]
    assert rows.top(found, 4).tolist() == [1, 3, 2, 0]
    assert rows.top(found, 99).tolist() == [1, 3, 2, 0, 4]


def test_vocabularies_of_different_width_meet_on_shared_ids():
    wide, narrow = row(0.25, 0.25, 0.0, 0.5), row(0.5, 0.5)
    assert rows.overlap(narrow, wide) == 0.5
    residual, mass = rows.residual(narrow, wide)
    assert (residual.ids.tolist(), residual.vocab, mass) == ([0, 1], 2, 0.5)
    residual, mass = rows.residual(wide, narrow)
    assert (residual.ids.tolist(), residual.vocab, mass) == ([3], 4, 0.5)


def test_taking_mass_from_one_token():
    found, mass = rows.without(row(0.5, 0.25, 0.25), 0, 0.5)
    assert (found.ids.tolist(), found.probs.tolist(), mass) == ([1, 2], [0.5, 0.5], 0.5)
    found, mass = rows.without(row(0.5, 0.25, 0.25), 0, 0.9)  # never below 0
    assert (found.ids.tolist(), mass) == ([1, 2], 0.5)
    assert rows.without(row(1.0, 0.0), 0, 1.0) == (None, 0.0)


def test_entropy_in_nats():
    assert rows.entropy(row(0.5, 0.5)) == pytest.approx(math.log(2))
    assert math.copysign(1, rows.entropy(rows.one_hot(3, 9))) == 1.0
    assert rows.entropy(rows.one_hot(3, 9)) == 0.0


def test_a_cut_row_keeps_its_top_what_is_named_and_how_much_is_gone():
    whole = row(0.05, 0.4, 0.05, 0.3, 0.2)
    part = rows.cut(whole, 2, keep=(0, 77))
    assert part.ids.tolist() == [0, 1, 3]
    assert part.probs.tolist() == [0.05, 0.4, 0.3]
    assert part.tail == pytest.approx(0.25) and not part.exact
    assert rows.cut(part, 1).tail == pytest.approx(0.25 + 0.05 + 0.3)
    assert rows.cut(whole, 5) is whole


pairs = st.integers(1, 12).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(0, 9), min_size=n, max_size=n).filter(any)] * 2)
)


@given(pairs)
def test_overlap_tv_residual_and_product_agree(pair):
    p, q = (rows.from_dense(np.array(side) / sum(side)) for side in pair)
    overlap = rows.overlap(p, q)
    assert overlap == pytest.approx(1 - rows.tv(p, q), abs=1e-12)
    residual, mass = rows.residual(p, q)
    assert mass == pytest.approx(1 - overlap, abs=1e-12)
    assert (residual is None) == (mass == 0)
    if residual is not None:
        assert residual.probs.sum() == pytest.approx(1)
        assert not set(residual.ids.tolist()) - set(p.ids.tolist())
    assert 0 <= rows.product(p, q) <= overlap + 1e-15, "sum p q lies under sum min(p, q)"
    for name in ("overlap", "tv", "product"):
        assert getattr(rows, name)(p, q) == pytest.approx(getattr(rows, name)(q, p), abs=1e-15)
