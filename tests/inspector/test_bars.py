"""The rows beside each other: the short way to the top of both gives what a full sort gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.core import rows
from engine.core.types import Row
from inspector.view_model import BARS, FIRST_BARS, bars_view, highest, number_of_tokens, short, shorts


def sorted_fully(p: Row, q: Row) -> list[int]:
    ids, pv, qv = rows.pair(p, q)
    return ids[np.lexsort((ids, -np.maximum(pv, qv)))[:BARS]].tolist()


@st.composite
def pairs(draw) -> tuple[Row, Row]:
    """Rows over 60 ids, sparse or full, with many ties."""
    vocab = 60
    made = []
    for _ in range(2):
        weights = draw(st.lists(st.sampled_from([0, 0, 1, 1, 2, 5]), min_size=vocab, max_size=vocab))
        weights[draw(st.integers(0, vocab - 1))] = 3
        made.append(rows.from_dense(np.array(weights, float) / sum(weights)))
    return made[0], made[1]


@settings(max_examples=60)
@given(pairs())
def test_the_highest_of_both_rows_are_those_of_a_full_sort(both):
    assert highest(both, BARS) == sorted_fully(*both)


@settings(max_examples=60)
@given(pairs(), st.sampled_from([FIRST_BARS, BARS]))
def test_the_rest_counts_each_hidden_token_once(both, n):
    p, q = both
    assert number_of_tokens(both) == len(np.union1d(p.ids, q.ids))
    view = bars_view(p, q, None, None, [int(p.ids[-1]), 59], n)
    listed = {bar[0] for bar in view["bars"]}
    everything = set(p.ids.tolist()) | set(q.ids.tolist())
    assert view["rest"][2] == len(everything - listed)
    assert view["rest"][0] == pytest.approx(sum(p.prob(token) for token in everything - listed), abs=1e-3)


@settings(max_examples=60)
@given(pairs())
def test_the_first_bars_are_the_head_of_all_of_them_and_hold_both_tops(both):
    few = bars_view(*both, None, None, [], FIRST_BARS)["bars"]
    assert few[:FIRST_BARS] == bars_view(*both, None, None, [], BARS)["bars"][:FIRST_BARS]
    listed = {bar[0] for bar in few}
    assert all(int(rows.top(row, 1)[0]) in listed for row in both)


def test_one_row_alone_is_its_own_top():
    p = rows.from_dense(np.array([0.1, 0.4, 0.1, 0.4]))
    assert highest((p,), BARS) == [1, 3, 0, 2]
    assert bars_view(p, None, None, None, [], BARS)["rest"] == [0.0, None, 0]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_many_numbers_are_shortened_as_one_is(values):
    for one, value in zip(shorts(np.array(values)), values, strict=True):
        assert one == pytest.approx(short(value), rel=1.1e-3)
        assert len(repr(one)) <= 10 or "e" in repr(one), f"{one} is not short"


@pytest.mark.parametrize(
    "value", [0.0, 1.0, 0.1, 0.001, 0.12345678, 0.99999, 1e-9, 4.5678e-17, 3e-20, 1e-300]
)
def test_a_shortened_number_has_four_digits(value):
    assert shorts(np.array([value])) == [short(value)]
