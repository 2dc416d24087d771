"""Whether a sample can have come from a distribution, and how often a wrong one would have been caught.

Pearson's chi-square over cells that are expected often enough, binomial tails summed. A p-value is
the chance of a deviation at least this large if the distribution is right, so `alpha`, below which a test
fails, is also how often a right one fails.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass

import numpy as np

from engine.core.types import Row

#: A test fails below this p-value: one right sample in ten thousand does.
ALPHA = 1e-4

#: A cell expected less often than this is merged with others; the tail of the statistic is Gaussian
#: counting, and far out it needs more than the usual five.
MIN_EXPECTED = 10.0

#: Samples of a wrong distribution drawn to see how often they are caught.
SIMULATIONS = 2000

#: Above so many trials a binomial tail is taken as normal.
MAX_SUMMED = 1_000_000

Law = Mapping[Hashable, float]


def chi_square_tail(statistic: float, dof: int) -> float:
    """P(chi-square of `dof` degrees of freedom >= statistic) = Q(dof/2, statistic/2).

    The regularised upper incomplete gamma function by its series below a + 1 and by Lentz's continued
    fraction above (Abramowitz and Stegun 6.5.29 and 6.5.31).
    """
    a, x = dof / 2, statistic / 2
    if x <= 0:
        return 1.0
    front = math.exp(a * math.log(x) - x - math.lgamma(a))
    return 1.0 - front * _gamma_series(a, x) if x < a + 1 else front * _gamma_fraction(a, x)


def _gamma_series(a: float, x: float) -> float:
    """sum over n of x^n / (a (a+1) ... (a+n)); every term is positive and at last they fall."""
    term = total = 1.0 / a
    n = 0
    while term > total * 1e-17:
        n += 1
        term *= x / (a + n)
        total += term
    return total


def _gamma_fraction(a: float, x: float) -> float:
    """1/(x+1-a- 1(1-a)/(x+3-a- 2(2-a)/(x+5-a- ...))), by the modified Lentz method."""
    tiny = 1e-300
    b = x + 1 - a
    c, d = 1 / tiny, 1 / (b or tiny)
    value, factor, n = d, 0.0, 0
    while abs(factor - 1) > 1e-15:
        n += 1
        b += 2
        step = n * (a - n)
        d = 1 / ((b + step * d) or tiny)
        c = (b + step / c) or tiny
        factor = c * d
        value *= factor
    return value


def chi_square_critical(alpha: float, dof: int) -> float:
    """The statistic whose tail is `alpha`, by bisection."""
    low, high = 0.0, float(dof)
    while chi_square_tail(high, dof) > alpha:
        low, high = high, 2 * high
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if chi_square_tail(middle, dof) > alpha else (low, middle)
    return high


def binomial_p_value(successes: int, trials: int, prob: float) -> float:
    """Twice the smaller tail, at most 1. Where the trials' chances differ and `prob` is their mean it is too
    large, never too small, but for deviations below one success (Hoeffding 1956)."""
    if prob <= 0 or prob >= 1:
        return float(successes == (trials if prob >= 1 else 0))
    if trials > MAX_SUMMED:
        z = (successes - trials * prob) / math.sqrt(trials * prob * (1 - prob))
        return min(1.0, 2 * normal_tail(abs(z)))
    i = np.arange(trials)
    steps = np.log((trials - i) / (i + 1)) + math.log(prob) - math.log1p(-prob)
    logs = trials * math.log1p(-prob) + np.concatenate(([0.0], np.cumsum(steps)))
    pmf = np.exp(logs)
    return min(1.0, 2 * float(min(pmf[: successes + 1].sum(), pmf[successes:].sum())))


def normal_tail(z: float) -> float:
    """P(a standard normal number >= z)."""
    return math.erfc(z / math.sqrt(2)) / 2


@dataclass(frozen=True)
class Cells:
    """The outcomes that are told apart, each with its probability; the last cell is all others, if any.

    `law` keeps the single outcomes. `rest` is the mass of the merged cell, None where it has none or too
    little: then what it would hold counts to the rarest single outcome, `absorbing`.
    """

    law: dict[Hashable, float]
    rest: float | None
    absorbing: Hashable | None

    @property
    def number(self) -> int:
        return len(self.law) + (self.rest is not None)

    def probs(self) -> np.ndarray:  # float64[cells]
        return np.array([*self.law.values(), *([] if self.rest is None else [self.rest])])

    def sorted_in(self, weights: Law, total: float) -> np.ndarray:  # float64[cells]
        """Counts or probabilities over outcomes, as cells; they add up to `total`."""
        found = {key: float(weights.get(key, 0.0)) for key in self.law}
        others = total - sum(found.values())
        if self.absorbing is not None:
            found[self.absorbing] += others
        return np.array([*found.values(), *([] if self.rest is None else [others])])


def cells(law: Law, n: int) -> Cells:
    """Outcomes expected at least MIN_EXPECTED times in n samples stand alone, all others are one cell. Where
    that one is expected less often too, it joins the rarest outcome that stands alone.

    `law` may leave out what is rare; its missing mass goes to the rest.
    """
    kept = {key: float(prob) for key, prob in law.items() if n * prob >= MIN_EXPECTED}
    rest = max(0.0, 1.0 - sum(kept.values()))
    if n * rest >= MIN_EXPECTED or not kept:
        return Cells(kept, rest, None)
    rarest = min(kept, key=kept.get)
    kept[rarest] += rest
    return Cells(kept, None, rarest)


@dataclass(frozen=True)
class ChiSquare:
    """A chi-square test: its statistic, degrees of freedom and p-value (1 where there is but one cell),
    the cells it told apart and the probability of the merged one."""

    statistic: float
    dof: int
    p_value: float
    cells: int
    merged_mass: float

    @property
    def fails(self) -> bool:
        return self.p_value < ALPHA


def chi_square(counts: Law, expected: Cells, n: int) -> ChiSquare:
    """Pearson's test of n outcomes against cells."""
    probs = expected.probs()
    observed = expected.sorted_in(counts, n)
    statistic = float(((observed - n * probs) ** 2 / (n * probs)).sum())
    dof = expected.number - 1
    p_value = chi_square_tail(statistic, dof) if dof else 1.0
    return ChiSquare(statistic, dof, p_value, expected.number, expected.rest or 0.0)


def power(alternative: Law, expected: Cells, support: float, n: int) -> float:
    """How often n samples of another law would fail the test, or show an outcome without mass.

    `support` is the alternative's probability of an outcome that the expected law can give at all. By
    SIMULATIONS multinomial samples from a generator of a fixed seed.
    """
    seen = 1.0 - support**n if support < 1 else 0.0
    if expected.number < 2:
        return seen
    probs = np.maximum(expected.sorted_in(alternative, 1.0), 0.0)
    drawn = np.random.default_rng(0).multinomial(n, probs / probs.sum(), size=SIMULATIONS)
    mean = n * expected.probs()
    statistics = ((drawn - mean) ** 2 / mean).sum(axis=1)
    caught = float((statistics > chi_square_critical(ALPHA, expected.number - 1)).mean())
    return 1.0 - (1.0 - caught) * (1.0 - seen)


def law_of(row: Row, n: int = 0, mass: float = 1.0) -> dict[int, float]:
    """A row as a law, times `mass`; with n, only what is expected at least MIN_EXPECTED times."""
    weights = mass * row.probs
    kept = n * weights >= MIN_EXPECTED if n else weights > 0
    return dict(zip(row.ids[kept].tolist(), weights[kept].tolist(), strict=True))
