"""Races of exponential clocks, as exact geometry.

Adding Gumbel noise to log-probabilities and taking the argmax is a race: token i arrives at E_i / p_i with
independent exponential E_i, and the first wins with probability p_i (the Gumbel-max trick). Rows that share
the E share the noise. Divided by their sum, the E are uniform on the simplex, and "z wins on row r" is a
set of half-spaces through it, so the probability of any outcome of any number of races on one noise is a
ratio of volumes.
"""

from __future__ import annotations

import numpy as np

#: A part of the simplex, cut into small simplices: each float64[V, V], its vertices as rows.
Region = list[np.ndarray]

#: A vertex this close to a cutting plane lies on it.
ON_PLANE = 1e-14


def simplex(vocab: int) -> Region:
    """All of it: nothing is known of the noise yet."""
    return [np.eye(vocab)]


def volume(region: Region) -> float:
    """The share of the whole simplex."""
    return float(sum(abs(np.linalg.det(part)) for part in region))


def where_wins(region: Region, probs: np.ndarray, winner: int) -> Region:
    """The part in which `winner` arrives first on a row float64[V]; empty when it has no mass there."""
    if probs[winner] <= 0:
        return []
    for other in np.flatnonzero(probs):
        if other != winner:
            plane = np.zeros(len(probs))
            plane[other], plane[winner] = probs[winner], -probs[other]
            region = above(region, plane)
    return region


def above(region: Region, plane: np.ndarray) -> Region:
    """The part of the region with plane . E >= 0, by halving each simplex that the plane crosses."""
    kept: Region = []
    open_parts = list(region)
    while open_parts:
        part = open_parts.pop()
        side = part @ plane
        side[np.abs(side) < ON_PLANE] = 0.0
        high, low = int(np.argmax(side)), int(np.argmin(side))
        if side[low] >= 0:
            kept.append(part)
        elif side[high] > 0:
            crossing = (side[high] * part[low] - side[low] * part[high]) / (side[high] - side[low])
            for corner in (high, low):
                half = part.copy()
                half[corner] = crossing
                open_parts.append(half)
    return kept
