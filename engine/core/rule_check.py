"""Does a rule keep what it says? Its exact law on random tables, and a watch over every decision it makes.

The law is the rule run over every way its coins can fall (engine.core.law), so a rule that is exact comes
out exact up to rounding, and a biased one by exactly its bias on that table.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from engine.core import law, rows
from engine.core.coins import PhiloxCoins
from engine.core.types import PURPOSES, Address, Block, Coins, Row, Rule, Verdict
from engine.errors import BadSetting

#: The rounding of some thousand sums of float64; a bias is at least a thousand times this.
EXACT = 1e-10

#: (tokens, drafts a round, length of the output whose law is taken)
SIZES = ((3, 1, 1), (2, 1, 3), (3, 1, 2), (2, 2, 3), (3, 2, 2), (2, 3, 4), (4, 1, 2), (4, 2, 2), (3, 3, 2))

KINDS = ("dense", "sparse", "one-hot q", "one-hot p", "equal rows", "disjoint")


@dataclass(frozen=True)
class Case:
    """A target and a drafter as tables: every prefix has rows of its own, drawn from a seed."""

    seed: int
    kind: str
    vocab: int
    k: int
    length: int

    def p(self, prefix: tuple[int, ...]) -> np.ndarray:  # float64[vocab]
        return self._row("p", prefix)

    def q(self, prefix: tuple[int, ...]) -> np.ndarray:  # float64[vocab]
        return self._row("p" if self.kind == "equal rows" else "q", prefix)

    def _row(self, side: str, prefix: tuple[int, ...]) -> np.ndarray:
        rng = np.random.default_rng([self.seed, side == "q", len(prefix), *prefix])
        weights = rng.exponential(size=self.vocab) + 0.02
        if self.kind == "sparse":
            lost = rng.random(self.vocab) < 0.5
            lost[rng.integers(self.vocab)] = False
            weights[lost] = 0.0
        elif self.kind == f"one-hot {side}":
            weights = np.eye(self.vocab)[rng.integers(self.vocab)]
        elif self.kind == "disjoint":
            half = np.arange(self.vocab) < self.vocab // 2
            weights[half == (side == "q")] = 0.0
        return weights / weights.sum()


def cases(greedy_only: bool = False) -> tuple[Case, ...]:
    """Every kind of table at every size; for a rule of greedy targets those with a one-hot p."""
    kinds = ("one-hot p",) if greedy_only else KINDS
    pairs = [(kind, size) for size in SIZES for kind in kinds]
    return tuple(Case(100 + i, kind, *size) for i, (kind, size) in enumerate(pairs))


@dataclass(frozen=True)
class Worst:
    """The table a biased rule is shown on: small, with at least a quarter of the largest distance.
    `emitted` and `right` are the two laws over the first tokens of the output."""

    case: Case
    tv: float
    emitted: dict[tuple[int, ...], float]
    right: dict[tuple[int, ...], float]

    @property
    def prefixes(self) -> Iterator[tuple[int, ...]]:
        """Every prefix of the tokens whose law was taken."""
        yield ()
        yield from sorted({tokens[:n] for tokens in self.right for n in range(1, self.case.length)})


@dataclass(frozen=True)
class Report:
    """A rule's law at its default parameters. `error` is the largest total variation distance to the
    target's law; `claims` is what the rule says of itself. `ahead` says that it is exact once it declares
    that it looks ahead."""

    rule: str
    tables: int
    error: float
    claims: bool
    ahead: bool
    worst: Worst | None

    @property
    def lossless(self) -> bool:
        return self.worst is None

    @property
    def contradicted(self) -> bool:
        """It claims to be lossless, and is not."""
        return self.claims and not self.lossless


def check(rule: Rule) -> Report:
    """Watch a rule decide, and take its law. Raises BadSetting for what no rule may do."""
    watched = Watched(rule)
    tables = cases(rule.greedy_only)
    for case in tables:
        repeats_itself(watched, case)
    found = [_law(watched, case) for case in tables]
    error = max(one.tv for one in found)
    if error <= EXACT:
        return Report(rule.id, len(tables), error, rule.lossless, False, None)
    ahead = not rule.looks_ahead and all(_law(Watched(rule, True), case).tv <= EXACT for case in tables)
    telling = [one for one in found if one.tv >= error / 4]
    worst = min(telling, key=lambda one: (one.case.vocab**one.case.length, one.case.k))
    return Report(rule.id, len(tables), error, rule.lossless, ahead, worst)


def _law(rule: Watched, case: Case) -> Worst:
    emitted = law.emitted_law(rule, case.p, case.q, case.k, case.length)
    total = sum(emitted.values())
    if abs(total - 1) > 1e-9:
        raise BadSetting(
            f"{rule.id}: the ways its coins can fall add up to {total:.6f} instead of 1.",
            "Take every random number from the coins, and decide nothing by clock or memory.",
        )
    right = law.target_law(case.p, case.length)
    return Worst(case, law.law_tv(emitted, right), emitted, right)


def repeats_itself(rule: Watched, case: Case) -> None:
    """Raise BadSetting for a rule that decides the same block on the same coins in two ways."""
    for seed in range(3):
        coins = PhiloxCoins(seed)
        tokens: tuple[int, ...] = ()
        p, q = [rows.from_dense(case.p(()))], []
        for i in range(case.k):
            q.append(rows.from_dense(case.q(tokens)))
            tokens += (rule.draft(q[-1], coins, Address("draft", i)),)
            p.append(rows.from_dense(case.p(tokens)))
        block = Block(0, tokens, tuple(q), tuple(p), (0,) * (case.k + 1))
        if rule.judge(block, coins) != rule.judge(block, coins):
            raise BadSetting(
                f"{rule.id} decides the same drafts on the same coins in two ways.",
                "Take every random number from the coins, and keep nothing between two calls.",
            )


@dataclass(frozen=True)
class Watched:
    """A rule that is held to its word: whatever it may not do raises BadSetting, naming it."""

    rule: Rule
    ahead: bool = False
    id: str = field(init=False)
    looks_ahead: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", self.rule.id)
        object.__setattr__(self, "looks_ahead", self.rule.looks_ahead or self.ahead)

    def draft(self, row: Row, coins: Coins, at: Address) -> int:
        block = Block(at.position, (), (), (row,), (at.attempt,))
        token = self._called("draft", lambda: self.rule.draft(row, WatchedCoins(self.id, coins, block), at))
        self._check(is_whole(token) and row.prob(token) > 0, f"draft returns {token!r}, which q cannot give")
        return int(token)

    def judge(self, block: Block, coins: Coins) -> Verdict:
        verdict = self._called("judge", lambda: self.rule.judge(block, WatchedCoins(self.id, coins, block)))
        self._check(isinstance(verdict, Verdict), f"judge returns {type(verdict).__name__}, not a Verdict")
        n, token = verdict.n_accepted, verdict.next_token
        self._check(is_whole(n) and 0 <= n <= block.k, f"n_accepted is {n!r} for {block.k} drafts")
        self._check(len(verdict.checks) <= block.k, f"{len(verdict.checks)} checks for {block.k} drafts")
        source = "bonus" if n == block.k else "corrected"
        self._check(
            verdict.next_source == source,
            f"next_source is {verdict.next_source!r} with {n} of {block.k} accepted, not {source!r}",
        )
        emitted = [(i, block.tokens[i]) for i in range(n)] + [(n, token)]
        for i, one in emitted:
            self._check(
                is_whole(one) and 0 <= one < block.p[i].vocab,
                f"it emits {one!r}, which is no token of a vocabulary of {block.p[i].vocab}",
            )
            self._check(block.p[i].prob(one) > 0, f"it emits token {one} where p({one}) = 0")
        return verdict

    def _called(self, name: str, call):
        try:
            return call()
        except BadSetting:
            raise
        except Exception as error:
            raise BadSetting(
                f"{self.id}: {name} raises {type(error).__name__}: {error}.",
                "It must decide every block: zero drafts, rows with zeros, equal rows, one-hot rows.",
            ) from error

    def _check(self, holds: bool, what: str) -> None:
        if not holds:
            raise BadSetting(
                f"{self.id}: {what}.", "See the edges a rule must keep in docs/your-own-rule.md."
            )


class WatchedCoins:
    """Coins that are given only at the block's own addresses, for chances and rows that make sense."""

    def __init__(self, rule_id: str, coins: Coins, block: Block) -> None:
        self.rule_id, self.coins, self.block = rule_id, coins, block

    def flip(self, prob: float, at: Address, per: float = 1.0) -> tuple[bool, float]:
        fits = math.isfinite(prob) and math.isfinite(per) and prob >= 0 and per > 0
        self._check(
            fits, f"flip is asked for a chance of {prob} per {per}", "Both must be finite, per above 0"
        )
        return self.coins.flip(prob, self._own(at), per)

    def choose(self, row: Row, at: Address) -> int:
        return self.coins.choose(self._row(row), self._own(at))

    def race(self, row: Row, at: Address) -> int:
        return self.coins.race(self._row(row), self._own(at))

    def _row(self, row: Row) -> Row:
        fits = isinstance(row, Row) and len(row.ids) > 0
        self._check(fits, "a draw is asked of a row without mass", "Draw from p where the residual has none")
        return row

    def _own(self, at: Address) -> Address:
        i = at.position - self.block.start if isinstance(at, Address) else -1
        inside = 0 <= i <= self.block.k and at.purpose in PURPOSES
        inside = inside and (at.purpose == "noise" or at.attempt == self.block.attempts[i])
        self._check(inside, f"a coin is asked for at {at}", "Use block.at(purpose, i), i from 0 to block.k")
        return at

    def _check(self, holds: bool, what: str, hint: str) -> None:
        if not holds:
            raise BadSetting(f"{self.rule_id}: {what}.", f"{hint}.")


def is_whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
