"""Arithmetic on rows: draws, residuals, overlaps. Every sum runs in float64 in ascending id order."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from engine.core.once import once
from engine.core.types import Row
from engine.errors import BadRow

#: How far from 1 the sum of a distribution may be: far above rounding, far below a missing normalisation.
SUM_TOLERANCE = 1e-4

#: Residual mass that the rounding of two equal rows can leave (a sum of V terms of about p 2^-53 each).
ROUNDING_MASS = 1e-14


def from_dense(probs: np.ndarray) -> Row:  # float64[V], sums to 1
    """The row of a dense vector, without its zeros. Raises BadRow unless it is a distribution."""
    total = float(probs.sum())
    if not abs(total - 1.0) <= SUM_TOLERANCE or (least := probs.min()) < 0:
        raise BadRow(f"A row sums to {total}, which is no distribution.", "Check the model's weights.")
    if least > 0:
        return Row(every_id(len(probs)), probs.astype(np.float64), len(probs))
    ids = np.flatnonzero(probs)
    return Row(ids.astype(np.uint32), probs[ids].astype(np.float64), len(probs))


@lru_cache(maxsize=16)
def every_id(vocab: int) -> np.ndarray:  # uint32[vocab]
    """The ids of a row without a zero: one array for all of them."""
    return np.arange(vocab, dtype=np.uint32)


def one_hot(token: int, vocab: int) -> Row:
    """All mass on one token."""
    return Row(np.array([token], dtype=np.uint32), np.ones(1), vocab)


def dense(row: Row, vocab: int | None = None) -> np.ndarray:
    """The row as float64[vocab]; ids a narrower vocabulary lacks are not in the row to begin with."""
    out = np.zeros(vocab or row.vocab)
    out[row.ids] = row.probs
    return out


@once
def argmax(row: Row) -> int:
    """The most probable token; the lowest id wins a tie."""
    return int(row.ids[np.argmax(row.probs)])


def log_prob(row: Row, token: int) -> float | None:
    """ln of the row's probability of a token (nats); None where it has none, or may be in the tail."""
    prob = row.prob(token)
    return math.log(prob) if prob > 0 else None


def quantile(row: Row, u: float) -> int:
    """Inverse CDF: the first token whose cumulative mass exceeds u times the row's total."""
    return quantile_slice(row, u)[0]


def quantile_slice(row: Row, u: float) -> tuple[int, float, float]:
    """The token at quantile u, and the slice [low, high) of [0, 1) that draws it."""
    cumulative = cumulated(row)
    total = float(cumulative[-1])
    i = int(np.searchsorted(cumulative, u * total, side="right"))
    low = float(cumulative[i - 1]) if i else 0.0
    return int(row.ids[i]), low / total, float(cumulative[i]) / total


@once
def cumulated(row: Row) -> np.ndarray:
    """The running sums of the row's probabilities: float64[n]."""
    return np.cumsum(row.probs)


@once
def top(row: Row, n: int) -> np.ndarray:
    """The ids of the n most probable tokens, most probable first, ties by id: uint32[<= n]."""
    if n < len(row.ids):
        cut = np.partition(row.probs, -n)[-n]
        candidates = np.flatnonzero(row.probs >= cut)
    else:
        candidates = np.arange(len(row.ids))
    order = np.lexsort((row.ids[candidates], -row.probs[candidates]))
    return row.ids[candidates[order[:n]]]


@once
def pair(p: Row, q: Row) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Both rows on the union of their ids: ids uint32[m], p float64[m], q float64[m]."""
    if p.ids is q.ids or np.array_equal(p.ids, q.ids):
        return p.ids, p.probs, q.probs
    ids = np.union1d(p.ids, q.ids)
    return ids, dense(p, max(p.vocab, q.vocab))[ids], dense(q, max(p.vocab, q.vocab))[ids]


def positive_part(ids: np.ndarray, values: np.ndarray, vocab: int) -> tuple[Row | None, float]:
    """norm(values+) and the mass before the division; (None, 0) when nothing is positive."""
    kept = np.flatnonzero(values > 0)
    mass = float(values[kept].sum())
    if mass <= 0:
        return None, 0.0
    return Row(ids[kept].astype(np.uint32), values[kept] / mass, vocab), mass


@once
def residual(p: Row, q: Row, scale: float = 1.0) -> tuple[Row | None, float]:
    """norm((scale * p - q)+) and its mass Z before the division (Leviathan et al. 2023, section 2.3).

    (None, 0) when there is no mass but what rounding leaves: p = q, or scale * p under q everywhere.
    """
    ids, pv, qv = pair(p, q)
    row, mass = positive_part(ids, scale * pv - qv, p.vocab)
    return (row, mass) if mass > ROUNDING_MASS else (None, 0.0)


def without(p: Row, token: int, amount: float) -> tuple[Row | None, float]:
    """norm((p - amount * e_token)+) and its mass before the division."""
    values = np.where(p.ids == token, p.probs - amount, p.probs)
    return positive_part(p.ids, values, p.vocab)


@once
def overlap(p: Row, q: Row) -> float:
    """sum min(p, q) = 1 - TV(p, q): the most often any lossless rule can accept."""
    _, pv, qv = pair(p, q)
    return float(np.minimum(pv, qv).sum())


@once
def product(p: Row, q: Row) -> float:
    """sum p q: how often two independent draws agree."""
    _, pv, qv = pair(p, q)
    return float((pv * qv).sum())


@once
def tv(p: Row, q: Row) -> float:
    """Total variation distance, in [0, 1]."""
    _, pv, qv = pair(p, q)
    return float(np.abs(pv - qv).sum() / 2)


@once
def entropy(row: Row) -> float:
    """Shannon entropy in nats."""
    kept = row.probs[row.probs > 0]
    return float(-(kept * np.log(kept)).sum()) + 0.0


def cut(row: Row, cap: int, keep: tuple[int, ...] = ()) -> Row:
    """The top `cap` tokens and those in `keep`, the rest summed into `tail`; the row itself if it fits."""
    if len(row.ids) <= cap:
        return row
    wanted = np.union1d(top(row, cap), np.asarray(keep, dtype=np.uint32))
    kept = np.isin(row.ids, wanted)
    return Row(row.ids[kept], row.probs[kept], row.vocab, row.tail + float(row.probs[~kept].sum()))
