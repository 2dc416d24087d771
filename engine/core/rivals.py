"""The power of a sample: which other rules would have failed it, on the very rows it was drawn from.

First tokens by each rule's exact law of one position, pairs by running the rule over every way its coins can
fall (engine.core.law). What is too wide to enumerate, or depends on more than the context, is said to be
unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from engine.core import exactness, law, position_law
from engine.core.exactness import Cells
from engine.core.types import Row, Rule

#: Rows with more tokens are not enumerated in pairs.
MAX_SUPPORT = 12

#: A rule that first tokens catch this often needs no look at pairs.
SURE = 0.99

RowAfter = Callable[[tuple[int, ...]], Row]


@dataclass(frozen=True)
class Power:
    """How far a rule's law is from the target's (total variation), and how often it would have failed."""

    tv: float
    power: float


@dataclass(frozen=True)
class Rival:
    """A rule that is not lossless, and what the sample would have made of it; None where it is unknown.

    `why` says why `pairs` is None; empty when it is not.
    """

    rule: str
    faulty: bool
    first: Power | None
    pairs: Power | None
    why: str

    @property
    def power(self) -> float | None:
        """The better of the two."""
        found = [one.power for one in (self.first, self.pairs) if one is not None]
        return max(found, default=None)


@dataclass(frozen=True)
class Ground:
    """What the rules are held against: both sides' rows by output, the cells of the two tests, when an output
    ends, the number of samples. `q` is the row of the first draft; `q_after` is None where the drafter's rows
    depend on more than the output."""

    p_after: RowAfter
    q_after: RowAfter | None
    q: Row
    first: Cells
    pairs: Cells
    ends: Callable[[tuple[int, ...]], bool]
    n: int


def rivals(rules: Iterable[Rule], ground: Ground) -> tuple[Rival, ...]:
    """Every rule of those that claims nothing, on these rows."""
    return tuple(_rival(rule, ground) for rule in rules if not rule.lossless)


def _rival(rule: Rule, ground: Ground) -> Rival:
    p = ground.p_after(())
    found = position_law.position_law(rule, p, ground.q)
    if found is None:
        ahead = "it looks ahead: its law belongs to a whole block"
        return Rival(rule.id, rule.faulty, None, None, ahead if rule.looks_ahead else "its rows are too wide")
    first = _first(found, p, ground)
    if first.power >= SURE:
        return Rival(rule.id, rule.faulty, first, None, "first tokens tell enough")
    why = _unknown(ground)
    return Rival(rule.id, rule.faulty, first, None if why else _pairs(rule, ground), why)


def _first(found: position_law.PositionLaw, p: Row, ground: Ground) -> Power:
    emitted = dict(zip(found.ids.tolist(), found.probs.tolist(), strict=True))
    support = float(found.probs[np.isin(found.ids, p.ids)].sum())
    return Power(
        position_law.tv_to(found, p), exactness.power(emitted, ground.first, _whole(support), ground.n)
    )


def _unknown(ground: Ground) -> str:
    """Why pairs cannot be enumerated; empty when they can."""
    if ground.q_after is None:
        return "the drafter's rows depend on more than the tokens before"
    p, q = ground.p_after(()), ground.q
    if max(len(p.ids), len(q.ids)) > MAX_SUPPORT:
        return f"the rows have more than {MAX_SUPPORT} tokens"
    return ""


def _pairs(rule: Rule, ground: Ground) -> Power:
    emitted, expected = pair_law(rule, ground), target_pairs(ground)
    support = sum(prob for pair, prob in emitted.items() if expected.get(pair, 0.0) > 0)
    tv = law.law_tv(emitted, expected)
    return Power(tv, exactness.power(emitted, ground.pairs, _whole(support), ground.n))


def target_pairs(ground: Ground) -> dict[tuple[int, ...], float]:
    """The target's own law of the first two tokens, all of it."""
    pairs: dict[tuple[int, ...], float] = {}
    for x, prob in exactness.law_of(ground.p_after(())).items():
        if ground.ends((x,)):
            pairs[(x,)] = prob
        else:
            pairs |= {(x, y): both for y, both in exactness.law_of(ground.p_after((x,)), mass=prob).items()}
    return pairs


def pair_law(rule: Rule, ground: Ground) -> dict[tuple[int, ...], float]:
    """The exact law of the first two tokens of a session under a rule that does not look ahead.

    Two drafts a round tell all: what a longer block holds behind them decides nothing about them. An output
    that ends with its first token is its own pair.
    """
    after = _Compact(ground)
    found = law.emitted_law(rule, after.p, after.q, k=2, length=2)
    pairs: dict[tuple[int, ...], float] = {}
    for tokens, prob in found.items():
        pair = tuple(int(after.ids[token]) for token in tokens)
        pair = pair[:1] if ground.ends(pair[:1]) else pair
        pairs[pair] = pairs.get(pair, 0.0) + prob
    return pairs


class _Compact:
    """Both sides as tables over only the ids that occur: rows by what was emitted, in compact ids. From the
    third position on, where nothing is asked any more, both are certain of the same token."""

    def __init__(self, ground: Ground) -> None:
        firsts = sorted({*ground.p_after(()).ids.tolist(), *ground.q.ids.tolist()})
        self.p_rows = [ground.p_after(()), *(ground.p_after((x,)) for x in firsts)]
        self.q_rows = [ground.q, *(ground.q_after((x,)) for x in firsts)]
        self.ids = np.unique(np.concatenate([row.ids for row in self.p_rows + self.q_rows]))
        self.row_of = {int(np.searchsorted(self.ids, x)): i for i, x in enumerate(firsts, 1)}

    def p(self, prefix: tuple[int, ...]) -> np.ndarray:
        return self._dense(self.p_rows, prefix)

    def q(self, prefix: tuple[int, ...]) -> np.ndarray:
        return self._dense(self.q_rows, prefix)

    def _dense(self, rows: list[Row], prefix: tuple[int, ...]) -> np.ndarray:  # float64[ids]
        out = np.zeros(len(self.ids))
        if len(prefix) > 1:
            out[0] = 1.0
            return out
        row = rows[self.row_of[prefix[0]] if prefix else 0]
        out[np.searchsorted(self.ids, row.ids)] = row.probs
        return out


def _whole(mass: float) -> float:
    """A mass that is 1 but for rounding is 1."""
    return 1.0 if mass > 1 - 1e-12 else mass
