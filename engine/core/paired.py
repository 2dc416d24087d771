"""Means with intervals, and differences of pairs: what repeated runs say, and how surely.

Two rules run with the same prompt and seed meet the same coins, so their difference varies less than either;
the interval is that of the mean difference of pairs (Student's t), with the pairs as independent samples.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

#: How often intervals made this way hold the mean.
LEVEL = 0.95


@dataclass(frozen=True)
class Estimate:
    """A mean over n values, and its interval; None where n is too small to have one."""

    n: int
    mean: float | None
    low: float | None
    high: float | None

    def to_dict(self) -> dict:
        return {"n": self.n, "mean": self.mean, "low": self.low, "high": self.high}


def mean(values: Iterable[float | None], level: float = LEVEL) -> Estimate:
    """The mean of the values that there are, with its t interval."""
    found = [value for value in values if value is not None]
    n = len(found)
    if n == 0:
        return Estimate(0, None, None, None)
    centre = math.fsum(found) / n
    if n == 1:
        return Estimate(1, centre, None, None)
    spread = math.sqrt(math.fsum((value - centre) ** 2 for value in found) / (n - 1))
    half = t_quantile((1 + level) / 2, n - 1) * spread / math.sqrt(n)
    return Estimate(n, centre, centre - half, centre + half)


def difference(
    values: Sequence[float | None], baseline: Sequence[float | None], level: float = LEVEL
) -> Estimate:
    """The mean of values less baseline, pair by pair; a pair that lacks one of the two is left out.

    Raises ValueError for sequences of different lengths.
    """
    pairs = zip(values, baseline, strict=True)
    return mean((a - b for a, b in pairs if a is not None and b is not None), level)


def t_quantile(prob: float, dof: int) -> float:
    """The number that Student's t with `dof` degrees of freedom stays below with that probability.

    By bisection on `t_cdf`, to the last bits. Raises ValueError for a probability outside (0, 1) or dof < 1.
    """
    if not 0 < prob < 1 or dof < 1:
        raise ValueError(f"t_quantile({prob}, {dof})")
    if prob < 0.5:
        return -t_quantile(1 - prob, dof)
    low, high = 0.0, 1.0
    while t_cdf(high, dof) < prob:
        low, high = high, 2 * high
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if t_cdf(middle, dof) < prob else (low, middle)
    return high


def t_cdf(t: float, dof: int) -> float:
    """P(Student's t <= t), by the regularised incomplete beta function (Abramowitz and Stegun 26.7.1)."""
    tail = incomplete_beta(dof / 2, 0.5, dof / (dof + t * t)) / 2
    return 1 - tail if t > 0 else tail


def incomplete_beta(a: float, b: float, x: float) -> float:
    """I_x(a, b), by its continued fraction (Abramowitz and Stegun 26.5.8), on the side where it is quick."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    if x > (a + 1) / (a + b + 2):
        return 1 - front * _beta_fraction(b, a, 1 - x) / b
    return front * _beta_fraction(a, b, x) / a


def _beta_fraction(a: float, b: float, x: float) -> float:
    """1/(1 + d1/(1 + d2/(1 + ...))), by the modified Lentz method."""
    tiny = 1e-300
    c, d = 1.0, 1 / ((1 - (a + b) * x / (a + 1)) or tiny)
    value, m, factor = d, 0, 0.0
    while abs(factor - 1) > 1e-16 and m < 10_000:
        m += 1
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for step in (even, odd):
            d = 1 / ((1 + step * d) or tiny)
            c = (1 + step / c) or tiny
            factor = c * d
            value *= factor
    return value
