"""Rows of every shape that models and filters make, for tests that no shape may break."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from engine.core import rows
from engine.core.types import Block, Row

#: Whole and tiny weights: zeros, ties, one token far above the rest, tokens far below it.
WEIGHTS = (0, 0, 0, 1, 1, 2, 3, 7, 10**6, 1e-9)


def row_of(weights) -> Row:
    values = np.array(weights, dtype=np.float64)
    return rows.from_dense(values / values.sum())


@st.composite
def any_row(draw, most: int = 50) -> Row:
    """2 to `most` tokens: sparse, flat, or certain."""
    n = draw(st.integers(2, most))
    kind = draw(st.sampled_from(("sparse", "sparse", "flat", "certain")))
    if kind == "flat":
        return row_of([1] * n)
    if kind == "certain":
        return rows.one_hot(draw(st.integers(0, n - 1)), n)
    weights = draw(st.lists(st.sampled_from(WEIGHTS), min_size=n, max_size=n))
    weights[draw(st.integers(0, n - 1))] += 1
    return row_of(weights)


def nudged(row: Row, how: str) -> Row:
    """The row itself, or one whose every other probability is an ulp higher: the same by another route."""
    if how == "equal":
        return row
    odd = np.arange(len(row.probs)) % 2 == 1
    return Row(row.ids, np.where(odd, np.nextafter(row.probs, 1.0), row.probs), row.vocab)


@st.composite
def any_block(draw, most: int = 50) -> Block:
    """Up to three drafts, any ids of the drafter's own vocabulary: also ones that neither row gives mass.
    The two sides' rows need not be equally wide."""
    k = draw(st.integers(0, 3))
    p = tuple(draw(any_row(most)) for _ in range(k + 1))
    near = draw(st.lists(st.sampled_from(("equal", "nearly equal", "any", "any")), min_size=k, max_size=k))
    q = tuple(draw(any_row(most)) if how == "any" else nudged(p[i], how) for i, how in enumerate(near))
    tokens = tuple(draw(st.integers(0, row.vocab - 1)) for row in q)
    return Block(draw(st.integers(0, 99)), tokens, q, p, (0,) * (k + 1))
