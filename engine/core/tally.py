"""What verify's samples add up to: tokens counted, and acceptance beside what the closed form expects."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field

from engine.core import exactness, position_law
from engine.core.events import Round
from engine.core.types import Block, Row, Rule

#: Tokens of a continuation that are looked at.
LENGTH = 2


@dataclass(frozen=True)
class Acceptance:
    """Drafts accepted, of those tested, against what the rule's closed form expects on the rows they met.

    `basis` says what the expectation is: the closed form at every tested position, at the first of each round
    (for a rule that claims nothing, whose closed form may hold only there), or for a rule that looks ahead
    rejection sampling on the same drafts, a lower bound. `expected` and `p_value` are None where there is
    none. A p-value may be too large, never too small.
    """

    tested: int
    accepted: int
    expected: float | None
    p_value: float | None
    basis: str

    @property
    def fails(self) -> bool:
        return self.p_value is not None and self.p_value < exactness.ALPHA


@dataclass
class Tally:
    """What the samples add up to."""

    rule: Rule
    pairs: Counter[tuple[int, ...]] = field(default_factory=Counter)  # shorter where the text ended
    drafts: Counter[int] = field(default_factory=Counter)  # first draft of each sample
    q: Row | None = None  # the row a sample's first draft is said to be drawn from
    tested: int = 0
    accepted: int = 0
    expected: float = 0.0
    without: int = 0  # tested positions that have no closed form
    gains: list[float] = field(default_factory=list)  # accepted less rejection sampling's mean, by round
    known: dict[tuple, float | None] = field(default_factory=dict)

    def add(self, rounds: list[Round]) -> tuple[int, ...]:
        """One sample's rounds; returns what is looked at of its output."""
        output: tuple[int, ...] = ()
        for done in rounds:
            if done.block.k:
                self._tests(done, output)
            output += done.emitted
        if rounds[0].block.k:
            self.q = rounds[0].block.q[0]
            self.drafts[rounds[0].block.tokens[0]] += 1
        self.pairs[output[:LENGTH]] += 1
        return output[:LENGTH]

    def _tests(self, done: Round, output: tuple[int, ...]) -> None:
        n_accepted = done.verdict.n_accepted
        if self.rule.looks_ahead:
            self.tested, self.accepted = self.tested + done.n_tested, self.accepted + n_accepted
            bound = ratio_length(done.block)
            self.gains.append(n_accepted - bound)
            self.expected += bound
            return
        for i in range(done.n_tested if self.rule.lossless else 1):
            chance = self._chance(done.block, i, output)
            if chance is None:
                self.without += 1
            else:
                self.tested, self.accepted = self.tested + 1, self.accepted + (i < n_accepted)
                self.expected += chance

    def _chance(self, block: Block, i: int, output: tuple[int, ...]) -> float | None:
        key = (output, block.k, block.tokens[:i])
        if key not in self.known:
            found = position_law.position_law(self.rule, block.p[i], block.q[i])
            self.known[key] = None if found is None else found.acceptance
        return self.known[key]

    @property
    def firsts(self) -> Counter[int]:
        """First tokens, however they went on."""
        firsts: Counter[int] = Counter()
        for pair, times in self.pairs.items():
            firsts[pair[0]] += times
        return firsts

    def acceptance(self) -> Acceptance:
        """The binomial check, or for a rule that looks ahead its lower bound."""
        if self.rule.looks_ahead:
            basis = "rejection sampling on the same drafts, which accepts at most as many"
            return Acceptance(self.tested, self.accepted, *self._bound(), basis)
        if self.without:
            return Acceptance(self.tested, self.accepted, None, None, "none: the rows are too wide for it")
        if not self.tested:
            return Acceptance(0, 0, None, None, "none: nothing was drafted")
        where = "at every tested position" if self.rule.lossless else "at the first position of each round"
        chance = min(1.0, self.expected / self.tested)
        p_value = exactness.binomial_p_value(self.accepted, self.tested, chance)
        return Acceptance(self.tested, self.accepted, self.expected, p_value, f"the closed form {where}")

    def _bound(self) -> tuple[float | None, float | None]:
        """Rejection sampling's accepted drafts, and the one-sided p-value of accepting fewer."""
        n = len(self.gains)
        if n < 2:
            return None, None
        mean = sum(self.gains) / n
        spread = math.sqrt(sum((gain - mean) ** 2 for gain in self.gains) / (n - 1))
        if spread == 0:
            return self.expected, float(mean >= 0)
        return self.expected, exactness.normal_tail(-mean * math.sqrt(n) / spread)


def ratio_length(block: Block) -> float:
    """How many of these drafts rejection sampling accepts on average: sum over i of the product of
    min(1, p/q) over the first i."""
    stands, total = 1.0, 0.0
    for i in range(block.k):
        q = block.q_of(i)
        stands *= min(1.0, block.p_of(i) / q) if q > 0 else 0.0
        total += stands
    return total
