"""The exact distribution of what a rule emits, by running it over every way its coins can fall.

A rule meets randomness only through its coins. `BranchingCoins` knows of each address only the interval
its u still lies in: a flip or a draw cuts the interval at its thresholds and follows one piece, and the
piece's share of the interval is the branch's probability. An address asked twice is answered from the
same u, so a rule that shares or repeats a coin shows exactly the bias that causes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from itertools import accumulate, pairwise
from typing import TypeVar

import numpy as np

from engine.core import rows
from engine.core.types import Address, Block, Row, Rule

T = TypeVar("T")

#: A model as a table: the output so far -> float64[V], the distribution of the next token.
Table = Callable[[tuple[int, ...]], np.ndarray]

RowTable = Callable[[tuple[int, ...]], Row]


class BranchingCoins:
    """Coins that follow one path through the branches and remember where the next path parts."""

    def __init__(self, path: list[int]) -> None:
        self.path = path  # the piece to take at each branch, in order; grows as new branches are met
        self.pieces: list[int] = []  # how many pieces each branch had
        self.weight = 1.0
        self.interval: dict[Address, tuple[float, float]] = {}

    def flip(self, prob: float, at: Address, per: float = 1.0) -> tuple[bool, float]:
        threshold = 1.0 if prob >= per else prob / per
        accepted = self._cut(at, [0.0, threshold, 1.0]) == 0
        return accepted, self.interval[at][0]

    def choose(self, row: Row, at: Address) -> int:
        bounds = [0.0, *accumulate(row.probs.tolist())]
        return int(row.ids[self._cut(at, [bound / bounds[-1] for bound in bounds])])

    def _cut(self, at: Address, bounds: list[float]) -> int:
        """Cut the address's interval at the bounds, follow one piece, return its index in the bounds."""
        low, high = self.interval.get(at, (0.0, 1.0))
        pieces = [
            (i, a if a > low else low, b if b < high else high)
            for i, (a, b) in enumerate(pairwise(bounds))
            if a < high and low < b and a < b
        ]
        taken = self._branch(len(pieces))
        i, a, b = pieces[taken]
        self.weight *= (b - a) / (high - low)
        self.interval[at] = (a, b)
        return i

    def _branch(self, n: int) -> int:
        if n == 1:
            return 0
        depth = len(self.pieces)
        if depth == len(self.path):
            self.path.append(0)
        self.pieces.append(n)
        return self.path[depth]

    def next_path(self) -> list[int] | None:
        """The path of the next branch, depth first; None when this was the last."""
        path = self.path[:]
        while path and path[-1] + 1 == self.pieces[len(path) - 1]:
            path.pop()
        if not path:
            return None
        return [*path[:-1], path[-1] + 1]


def branches(run: Callable[[BranchingCoins], T]) -> Iterator[tuple[T, float]]:
    """Run a function once for every way its coins can fall: its result and that way's probability."""
    path: list[int] | None = []
    while path is not None:
        coins = BranchingCoins(path)
        yield run(coins), coins.weight
        path = coins.next_path()


def emitted_law(rule: Rule, p_of: Table, q_of: Table, k: int, length: int) -> dict[tuple[int, ...], float]:
    """The exact distribution of the first `length` emitted tokens of a whole multi-round session.

    `p_of(prefix)` and `q_of(prefix)` give the target's and the drafter's float64[V] after a tuple of
    output tokens. Every round drafts k tokens (0: plain target steps). The probabilities sum to 1 up to
    rounding; the work grows with the number of branches, so keep V, k and length small (V 4, k 3,
    length 4 runs in seconds).
    """
    law: dict[tuple[int, ...], float] = defaultdict(float)
    p_row, q_row = _rows_of(p_of), _rows_of(q_of)
    for tokens, weight in branches(lambda coins: _session(rule, p_row, q_row, k, length, coins)):
        law[tokens] += weight
    return dict(law)


def target_law(p_of: Table, length: int) -> dict[tuple[int, ...], float]:
    """The law of plain sampling from the target: what a lossless rule must emit."""
    law = {(): 1.0}
    for _ in range(length):
        law = {
            (*prefix, int(token)): weight * float(prob)
            for prefix, weight in law.items()
            for token, prob in enumerate(p_of(prefix))
            if prob > 0
        }
    return law


def law_tv(a: dict[tuple[int, ...], float], b: dict[tuple[int, ...], float]) -> float:
    """Total variation distance of two laws over token sequences."""
    return sum(abs(a.get(key, 0.0) - b.get(key, 0.0)) for key in a.keys() | b.keys()) / 2


def accepted_law(rule: Rule, p_of: Table, q_of: Table, k: int) -> dict[int, float]:
    """The exact distribution of how many drafts of one round are accepted."""
    law: dict[int, float] = defaultdict(float)
    p_row, q_row = _rows_of(p_of), _rows_of(q_of)

    def one_round(coins: BranchingCoins) -> int:
        return rule.judge(_block(rule, p_row, q_row, k, (), Counter(), coins), coins).n_accepted

    for n, weight in branches(one_round):
        law[n] += weight
    return dict(law)


def _rows_of(table: Table) -> RowTable:
    return cache(lambda prefix: rows.from_dense(np.asarray(table(prefix), dtype=np.float64)))


def _session(
    rule: Rule, p_row: RowTable, q_row: RowTable, k: int, length: int, coins: BranchingCoins
) -> tuple[int, ...]:
    output: tuple[int, ...] = ()
    attempts: Counter[int] = Counter()
    while len(output) < length:
        block = _block(rule, p_row, q_row, k, output, attempts, coins)
        verdict = rule.judge(block, coins)
        output += (*block.tokens[: verdict.n_accepted], verdict.next_token)
        if rule.looks_ahead:
            attempts.update(range(block.start, block.start + k))
    return output[:length]


def _block(
    rule: Rule,
    p_row: RowTable,
    q_row: RowTable,
    k: int,
    output: tuple[int, ...],
    attempts: Counter[int],
    coins: BranchingCoins,
) -> Block:
    """Draft k tokens after the output and lay both sides' rows beside them."""
    start = len(output)
    tokens: tuple[int, ...] = ()
    for i in range(k):
        at = Address("draft", start + i, attempts[start + i])
        tokens += (rule.draft(q_row(output + tokens), coins, at),)
    return Block(
        start,
        tokens,
        tuple(q_row(output + tokens[:i]) for i in range(k)),
        tuple(p_row(output + tokens[:i]) for i in range(k + 1)),
        tuple(attempts[start + i] for i in range(k + 1)),
    )
