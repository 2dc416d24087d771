"""Closed forms of what one position emits, for rows too wide to enumerate.

With d(x) the chance that x is drafted, a(x) that it is accepted and r(v | x) what replaces it,
o(v) = d(v) a(v) + sum over x of d(x) (1 - a(x)) r(v | x), and the acceptance is sum d(x) a(x).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from engine.core import rows
from engine.core.once import once
from engine.core.types import PositionLaw, Row

#: (p, q) on their common ids -> one number a token; all float64[m].
Vector = Callable[[np.ndarray, np.ndarray], np.ndarray]


@once
def ratio(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """min(1, p/q), 0 where q has no mass: the test of rejection sampling."""
    return np.minimum(1.0, np.divide(p, q, out=np.zeros_like(p), where=q > 0))


def positive(values: np.ndarray, instead: np.ndarray) -> np.ndarray:
    """norm(values+), or `instead` where nothing is positive."""
    kept = np.maximum(values, 0)
    mass = kept.sum()
    return kept / mass if mass > rows.ROUNDING_MASS else instead


@once
def excess(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """norm((p - q)+), or p where they are equal: the refill of rejection sampling."""
    return positive(p - q, p)


def refilled(p: Row, q: Row, accept: Vector, refill: Vector, drawn: Vector | None = None) -> PositionLaw:
    """The law where what replaces a draft does not depend on it. `drawn` is d(x), by default q."""
    ids, pv, qv = rows.pair(p, q)
    kept = (qv if drawn is None else drawn(pv, qv)) * accept(pv, qv)
    acceptance = float(kept.sum())
    return PositionLaw(ids, kept + (1 - acceptance) * refill(pv, qv), acceptance)


def excluded(p: Row, q: Row, accept: Vector) -> PositionLaw:
    """The law where a rejected x gives way to a draw from p without x: r(v | x) = p(v) / (1 - p(x))."""
    ids, pv, qv = rows.pair(p, q)
    a = accept(pv, qv)
    lost = qv * (1 - a)
    spread = np.divide(lost, 1 - pv, out=np.zeros_like(lost), where=(lost > 0) & (pv < 1))
    return PositionLaw(ids, qv * a + pv * (spread.sum() - spread), float((qv * a).sum()))


def as_target(p: Row, q: Row, acceptance: float) -> PositionLaw:
    """The law of a rule that emits p whatever the draft was."""
    ids, pv, _ = rows.pair(p, q)
    return PositionLaw(ids, pv, acceptance)


def argmax_hot(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """All mass on the argmax of p."""
    hot = np.zeros_like(p)
    hot[np.argmax(p)] = 1.0
    return hot
