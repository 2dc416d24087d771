"""The exact distribution of what a rule emits, by running it over every way its coins can fall.

A rule meets randomness only through its coins. `BranchingCoins` knows of each address only the interval
its u still lies in: a flip or a draw cuts the interval at its thresholds and follows one piece, and the
piece's share of the interval is the branch's probability (for Gumbel noise: of the simplex, see
engine.core.race). An address asked twice is answered from the same u, so a rule that shares or repeats a
coin shows exactly the bias that causes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, pairwise
from typing import NamedTuple, TypeVar

import numpy as np

from engine.core import race, rows
from engine.core.types import Address, Block, Row, Rule

T = TypeVar("T")

#: A model as a table: the output so far -> float64[V], the distribution of the next token.
Table = Callable[[tuple[int, ...]], np.ndarray]

RowTable = Callable[[tuple[int, ...]], Row]

#: Where the u of a coin still lies: at least the first number, below the second.
Interval = tuple[float, float]


@dataclass(frozen=True, eq=False)
class Noise:
    """Where the noise of a race still lies. Two are equal only when they are one and the same."""

    region: race.Region


class BranchingCoins:
    """Coins that follow one path through the branches and remember where the next path parts.

    `known` and `noise` are what is known of some coins and races already.
    """

    def __init__(
        self,
        path: list[int],
        known: Iterable[tuple[Address, Interval]] = (),
        noise: Iterable[tuple[Address, Noise]] = (),
    ) -> None:
        self.path = path  # the piece to take at each branch, in order; grows as new branches are met
        self.pieces: list[int] = []  # how many pieces each branch had
        self.weight = 1.0
        self.interval: dict[Address, Interval] = dict(known)
        self.noise: dict[Address, Noise] = dict(noise)

    def flip(self, prob: float, at: Address, per: float = 1.0) -> tuple[bool, float]:
        threshold = 1.0 if prob >= per else prob / per
        accepted = self._cut(at, [0.0, threshold, 1.0]) == 0
        return accepted, self.interval[at][0]

    def choose(self, row: Row, at: Address) -> int:
        bounds = [0.0, *accumulate(row.probs.tolist())]
        return int(row.ids[self._cut(at, [bound / bounds[-1] for bound in bounds])])

    def race(self, row: Row, at: Address) -> int:
        before = self.noise[at].region if at in self.noise else race.simplex(row.vocab)
        won = [(int(token), race.where_wins(before, rows.dense(row), int(token))) for token in row.ids]
        pieces = [(token, part, race.volume(part)) for token, part in won]
        pieces = [piece for piece in pieces if piece[2] > 0]
        token, part, size = pieces[self._branch(len(pieces))]
        self.weight *= size / race.volume(before)
        self.noise[at] = Noise(part)
        return token

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


def branches(
    run: Callable[[BranchingCoins], T],
    known: Iterable[tuple[Address, Interval]] = (),
    noise: Iterable[tuple[Address, Noise]] = (),
) -> Iterator[tuple[T, float]]:
    """Run a function once for every way its coins can fall: its result and that way's probability."""
    path: list[int] | None = []
    while path is not None:
        coins = BranchingCoins(path, known, noise)
        yield run(coins), coins.weight
        path = coins.next_path()


def emitted_law(rule: Rule, p_of: Table, q_of: Table, k: int, length: int) -> dict[tuple[int, ...], float]:
    """The exact distribution of the first `length` emitted tokens of a whole multi-round session.

    `p_of(prefix)` and `q_of(prefix)` give the target's and the drafter's float64[V] after a tuple of
    output tokens. Every round drafts k tokens (0: plain target steps). The probabilities sum to 1 up to
    rounding. Ways that meet again in the same state are followed once, so V 4, k 3, length 4 takes
    seconds.
    """
    p_row, q_row = _rows_of(p_of), _rows_of(q_of)
    try:
        return _emitted_law(rule, p_row, q_row, k, length, _still_asked)
    except _Forgotten:
        return _emitted_law(rule, p_row, q_row, k, length, _ever_asked)


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


class _State(NamedTuple):
    """All that the rest of a session can depend on: the output, how often each position was drafted, and
    what is known of the coins that can still be asked for."""

    output: tuple[int, ...] = ()
    attempts: frozenset[tuple[int, int]] = frozenset()  # (position, count)
    coins: frozenset[tuple[Address, Interval]] = frozenset()
    noise: frozenset[tuple[Address, Noise]] = frozenset()


class _Forgotten(Exception):
    """A rule asked for a coin of which nothing is known any more."""


#: Whether a coin can still be asked for, after that output and those attempts.
Asked = Callable[[Address, tuple[int, ...], Counter[int]], bool]


def _still_asked(at: Address, output: tuple[int, ...], attempts: Counter[int]) -> bool:
    """What rules that use their block's addresses can ask for."""
    return at.position >= len(output) and at.attempt >= attempts[at.position]


def _ever_asked(at: Address, output: tuple[int, ...], attempts: Counter[int]) -> bool:
    """For rules that go back to old coins: slow, and right whatever a rule does."""
    return True


def _emitted_law(
    rule: Rule, p_row: RowTable, q_row: RowTable, k: int, length: int, asked: Asked
) -> dict[tuple[int, ...], float]:
    layers: list[dict[_State, float]] = [defaultdict(float) for _ in range(length + 1)]
    layers[0][_State()] = 1.0
    for layer in layers[:length]:
        for state, weight in layer.items():
            for after, share in _after_a_round(rule, p_row, q_row, k, state, asked):
                at_end = len(after.output) >= length
                after = _State(after.output[:length]) if at_end else after
                layers[len(after.output)][after] += weight * share
    return {state.output: weight for state, weight in layers[length].items()}


def _after_a_round(
    rule: Rule, p_row: RowTable, q_row: RowTable, k: int, state: _State, asked: Asked
) -> Iterator[tuple[_State, float]]:
    """Every state the next round can lead to, and its probability."""
    before = Counter(dict(state.attempts))

    def one_round(coins: BranchingCoins) -> _State:
        block = _block(rule, p_row, q_row, k, state.output, before, coins)
        verdict = rule.judge(block, coins)
        if not all(asked(at, state.output, before) for at in (*coins.interval, *coins.noise)):
            raise _Forgotten
        output = (*state.output, *block.tokens[: verdict.n_accepted], verdict.next_token)
        attempts = before.copy()
        if rule.looks_ahead:
            attempts.update(range(block.start, block.start + k))
        drafted = frozenset(item for item in attempts.items() if item[0] >= len(output))
        known = frozenset(item for item in coins.interval.items() if asked(item[0], output, attempts))
        noise = frozenset(item for item in coins.noise.items() if asked(item[0], output, attempts))
        return _State(output, drafted, known, noise)

    return branches(one_round, state.coins, state.noise)


class _Lazy(Sequence):
    """n items, each made when it is first looked at: a draw that no decision looks at needs no branch."""

    def __init__(self, n: int, make: Callable[[int], object]) -> None:
        self._n, self._make = n, cache(make)

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, i):
        if isinstance(i, slice):
            return tuple(self._make(j) for j in range(self._n)[i])
        return self._make(range(self._n)[i])


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
    tries = tuple(attempts[start + i] for i in range(k + 1))
    tokens = _Lazy(k, lambda i: rule.draft(q[i], coins, Address("draft", start + i, tries[i])))
    q = _Lazy(k, lambda i: q_row(output + tokens[:i]))
    p = _Lazy(k + 1, lambda i: p_row(output + tokens[:i]))
    return Block(start, tokens, q, p, tries)
