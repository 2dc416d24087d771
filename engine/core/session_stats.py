"""What a session's rounds say about its rule and its drafter; folds over events, as in engine.core.stats.

Every rate travels with its count and its denominator. Nothing here looks at a row: what needs whole rows
was measured when the round ran (Round.measures, Round.matrix), so rounds read without their rows will do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.core.events import Round
from engine.core.exactness import binomial_p_value

#: The two-sided 95 % point of the standard normal distribution.
Z95 = 1.959963984540054

#: Points of a curve over rounds, and cells of a histogram over entropy, at most.
MOST_POINTS = 160
MOST_BINS = 8


@dataclass(frozen=True)
class Share:
    """`part` of `whole`, with the Wilson interval of the chance behind it at 95 %."""

    part: int
    whole: int

    @property
    def rate(self) -> float | None:
        return self.part / self.whole if self.whole else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Wilson 1927: the chances that a sample like this one does not refute; None for an empty one."""
        n = self.whole
        if not n:
            return None
        rate, square = self.part / n, Z95**2
        middle = (rate + square / (2 * n)) / (1 + square / n)
        reach = Z95 / (1 + square / n) * math.sqrt(rate * (1 - rate) / n + square / (4 * n * n))
        return max(0.0, middle - reach), min(1.0, middle + reach)

    def to_dict(self) -> dict:
        low, high = self.interval or (None, None)
        return {"part": self.part, "whole": self.whole, "rate": self.rate, "low": low, "high": high}


@dataclass(frozen=True)
class Tests:
    """Every tested draft of a session, one entry each, in order."""

    depth: np.ndarray  # int[n], 0 is the first draft of a round
    accepted: np.ndarray  # bool[n]
    entropy: np.ndarray  # float64[n], nats, of p
    overlap: np.ndarray  # float64[n], sum min(p, q)
    product: np.ndarray  # float64[n], sum p q


def tests(rounds: Sequence[Round]) -> Tests:
    """The drafts that were tested: those accepted, and the rejected one behind them."""
    found = [
        (i, i < done.verdict.n_accepted, m.entropy_p, m.overlap, m.product)
        for done in rounds
        for i, m in enumerate(done.measures[: done.n_tested])
    ]
    depth, accepted, *others = zip(*found, strict=True) if found else ((),) * 5
    return Tests(np.array(depth, int), np.array(accepted, bool), *(np.array(one, float) for one in others))


def by_depth(rounds: Sequence[Round], tested: Tests) -> list[dict]:
    """For each depth: how often it was drafted, and of the drafts tested there how many were accepted."""
    most = max((done.block.k for done in rounds), default=0)
    drafted = [sum(done.block.k > i for done in rounds) for i in range(most)]
    shares = [share_of(tested.accepted[tested.depth == i]) for i in range(most)]
    return [{"depth": i + 1, "drafted": drafted[i], **share.to_dict()} for i, share in enumerate(shares)]


def share_of(accepted: np.ndarray) -> Share:
    return Share(int(accepted.sum()), len(accepted))


def lengths(rounds: Sequence[Round]) -> list[dict]:
    """How many rounds accepted 0, 1, ... drafts, of all rounds."""
    most = max((done.block.k for done in rounds), default=0)
    counts = np.bincount([done.verdict.n_accepted for done in rounds], minlength=most + 1)
    return [{"accepted": i, **Share(int(n), len(rounds)).to_dict()} for i, n in enumerate(counts)]


def by_entropy(tested: Tests) -> list[dict]:
    """Acceptance in cells of equal count over the entropy of p, lowest first; equals stay together."""
    if not len(tested.entropy):
        return []
    cuts = np.quantile(tested.entropy, np.linspace(0, 1, min(MOST_BINS, len(tested.entropy)) + 1)[1:-1])
    cell = np.searchsorted(np.unique(cuts), tested.entropy, side="right")
    out = []
    for i in np.unique(cell):
        inside = cell == i
        out.append(
            {
                "from": float(tested.entropy[inside].min()),
                "to": float(tested.entropy[inside].max()),
                "mean": float(tested.entropy[inside].mean()),
                "sum_min": float(tested.overlap[inside].mean()),
                **share_of(tested.accepted[inside]).to_dict(),
            }
        )
    return out


def correlation(tested: Tests) -> dict:
    """Pearson's r between the entropy of p and acceptance (1 or 0), and its 95 % interval by Fisher's z.

    None where either never varies, the interval also below four tested drafts.
    """
    n = len(tested.accepted)
    accepted = tested.accepted.astype(float)
    if n < 2 or np.ptp(accepted) == 0 or np.ptp(tested.entropy) == 0:
        return {"r": None, "low": None, "high": None, "n": n}
    r = float(np.clip(np.corrcoef(tested.entropy, accepted)[0, 1], -1, 1))
    if n < 4 or abs(r) == 1:
        return {"r": r, "low": None, "high": None, "n": n}
    reach = Z95 / math.sqrt(n - 3)
    return {"r": r, "low": math.tanh(math.atanh(r) - reach), "high": math.tanh(math.atanh(r) + reach), "n": n}


def closed_forms(tested: Tests) -> list[dict]:
    """What every position's own rows predict, on average: the ceiling sum min(p, q), and sum p q."""
    return [
        expectation("sum min(p, q)", tested.overlap, tested.accepted),
        expectation("sum p q", tested.product, tested.accepted),
    ]


def own_law(
    rule: str, rounds: Sequence[Round], changed: dict[str, float] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """What the rule's law expects at each tested draft where the matrix has it, and whether it was accepted:
    float64[m], bool[m]. `changed` has the parameters that are not at their defaults."""
    own = (rule, changed or {})
    chances, accepted = [], []
    for done in rounds:
        laws = next((line.laws for line in done.matrix if (line.rule, line.params) == own), ())
        for i, law in enumerate(laws[: done.n_tested]):
            if law is not None:
                chances.append(law.acceptance)
                accepted.append(i < done.verdict.n_accepted)
    return np.array(chances, float), np.array(accepted, bool)


def expectation(name: str, chances: np.ndarray, accepted: np.ndarray) -> dict:
    """A closed form beside what was measured at the same drafts.

    `expected` is the mean chance; `low` and `high` hold 95 % of the rates that such chances give (normal
    approximation to a sum of unequal coins); `p_value` is that of the measured count, two-sided, too large
    rather than too small because the chances differ (Hoeffding 1956).
    """
    n = len(chances)
    measured = share_of(accepted)
    if not n:
        return {
            "name": name,
            "expected": None,
            "low": None,
            "high": None,
            "p_value": None,
            **count_of(measured),
        }
    chances = np.clip(chances, 0.0, 1.0)
    mean = float(chances.mean())
    reach = Z95 * math.sqrt(float((chances * (1 - chances)).sum())) / n
    return {
        "name": name,
        "expected": mean,
        "low": max(0.0, mean - reach),
        "high": min(1.0, mean + reach),
        "p_value": binomial_p_value(measured.part, n, mean),
        **count_of(measured),
    }


def count_of(measured: Share) -> dict:
    return {"accepted": measured.part, "tested": measured.whole}


STAGES = ("draft", "target", "judge", "matrix")


def stages(rounds: Sequence[Round]) -> list[dict]:
    """Milliseconds by stage over all rounds: the sum, its share of all stages, and the median round."""
    table = np.array([[getattr(done.times, name) for name in STAGES] for done in rounds]).reshape(-1, 4)
    sums, whole = table.sum(axis=0), float(table.sum())
    return [
        {
            "stage": name,
            "ms": float(sums[i]),
            "share": float(sums[i]) / whole if whole else None,
            "median": float(np.median(table[:, i])) if len(table) else None,
        }
        for i, name in enumerate(STAGES)
    ]


def pace(rounds: Sequence[Round]) -> list[dict]:
    """Speed along the session, in at most MOST_POINTS stretches of equally many rounds: tokens a target
    pass, and tokens a second of drafting, scoring and judging (what only this tool does is left out)."""
    width = max(1, math.ceil(len(rounds) / MOST_POINTS))
    out = []
    for lo in range(0, len(rounds), width):
        part = rounds[lo : lo + width]
        emitted = sum(len(done.emitted) for done in part)
        ms = sum(done.times.draft + done.times.target + done.times.judge for done in part)
        out.append(
            {
                "from": part[0].index,
                "to": part[-1].index,
                "emitted": emitted,
                "passes": len(part),
                "per_pass": emitted / len(part),
                "ms": ms,
                "per_second": 1e3 * emitted / ms if ms else None,
            }
        )
    return out


def describe(
    rounds: Sequence[Round], rule: str | None = None, changed: dict[str, float] | None = None
) -> dict:
    """All of the above as plain JSON types. `rule` names the line of the matrix that is the session's own
    rule, `changed` its parameters that are not at their defaults; None leaves out what its law expects."""
    tested = tests(rounds)
    forms = closed_forms(tested)
    if rule is not None:
        chances, accepted = own_law(rule, rounds, changed)
        if len(chances):
            forms = [expectation(rule, chances, accepted), *forms]
    return {
        "rounds": len(rounds),
        "emitted": sum(len(done.emitted) for done in rounds),
        "proposed": sum(done.block.k for done in rounds),
        "measured": share_of(tested.accepted).to_dict(),
        "by_depth": by_depth(rounds, tested),
        "lengths": lengths(rounds),
        "by_entropy": by_entropy(tested),
        "correlation": correlation(tested),
        "closed_forms": forms,
        "stages": stages(rounds),
        "pace": pace(rounds),
    }
