"""Two ways to look at a session again: re-judge its blocks under another rule, or hold a re-run against it.

Re-judging needs no model. It is the re-run's own beginning: it goes on while the other rule emits the same
tokens in the same rounds from the same coins, and ends where a run is needed to know more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

import numpy as np

from engine.core import ending, loop, rows, stats
from engine.core.coins import RecordingCoins, judge
from engine.core.events import Round, StageTimes
from engine.core.types import Coin, Row, Rule


@dataclass(frozen=True)
class Rejudged:
    """A lane made without a model.

    `complete` is False when the rule left the stored path; `why` says how, and what follows needs a run.
    `exact` is False when a row it judged from had been cut for storage (`tail`: the most mass missing).
    """

    rounds: tuple[Round, ...]
    complete: bool
    why: str
    exact: bool
    tail: float

    @property
    def tokens(self) -> tuple[int, ...]:
        return tuple(token for done in self.rounds for token in done.emitted)

    @property
    def counters(self) -> stats.Counters:
        return stats.counters(self.rounds)


def rejudge(
    rounds: Iterable[Round],
    rule: Rule,
    seed: int,
    ran: Rule | None = None,
    drafted: Mapping[int, int] | None = None,
) -> Rejudged:
    """Judge stored rounds under another rule, same drafts, same coins, until it leaves their path.

    `ran` is the rule that drew the drafts; one that draws them in another way has no path in common.
    `drafted` says how often a branch's positions were drafted before it began.
    """
    if ran is not None and type(rule).draft is not type(ran).draft:
        return _rejudged([], 0.0, f"{rule.id} draws its drafts in another way than {ran.id}")
    coins = RecordingCoins(seed)
    attempts: Counter[int] = Counter(drafted)
    judged: list[Round] = []
    tail = 0.0
    for stored in rounds:
        block = stored.block
        tries = tuple(attempts[block.start + i] for i in range(block.k + 1))
        if tries != block.attempts:
            return _rejudged(judged, tail, f"the drafts from position {block.start} on fall on other coins")
        tail = max(tail, *(row.tail for row in (*block.p, *block.q)))
        judged.append(judge_again(stored, rule, coins))
        if rule.looks_ahead:
            attempts.update(range(block.start, block.start + block.k))
        if judged[-1].emitted != stored.emitted:
            return _rejudged(judged, tail, _parting(block.start, judged[-1].emitted, stored.emitted))
    return _rejudged(judged, tail, "")


def judge_again(stored: Round, rule: Rule, coins: RecordingCoins) -> Round:
    """The round as the rule would have had it: its drafts and the target's own draws stay, and with them
    their coins. No work was done, so it took no time."""
    block = stored.block
    verdict, drew = judge(rule, block, coins)
    verdict, emitted = ending.close(block, verdict, stored.final)
    drew = drew if verdict.next_token is not None else None
    kept = [coin for coin in stored.coins if coin.at.purpose in ("draft", "xtc", "noise")]
    own = own_coins(stored, coins) if type(rule).target_draw is Rule.target_draw else []
    by_address = {coin.at: coin for coin in (*kept, *own, *coins.take())}
    fell = loop.fallen(by_address.values(), block, verdict)
    return replace(stored, verdict=verdict, emitted=emitted, coins=fell, drew=drew, times=StageTimes())


def own_coins(stored: Round, coins: RecordingCoins) -> list[Coin]:
    """The coins of the target's own draws, also of one behind an end that the other rule may not reach."""
    block = stored.block
    fell = {coin.at: coin for coin in stored.coins}
    at = [block.at("target", i) for i in range(block.k + 1)]
    return [
        fell.get(where) or Coin(where, *own_draw(row, coins.uniform(where)))
        for where, row in zip(at, block.p, strict=True)
        if len(row.ids) > 1
    ]


def own_draw(row: Row, u: float) -> tuple[float, int, float, float]:
    """u, the token it draws from the row, and that token's slice."""
    return u, *rows.quantile_slice(row, u)


def _rejudged(judged: list[Round], tail: float, why: str) -> Rejudged:
    return Rejudged(tuple(judged), not why, why, tail == 0.0, tail)


def _parting(start: int, emitted: tuple[int, ...], stored: tuple[int, ...]) -> str:
    here = first_divergence(emitted, stored)
    if here is None:
        common = start + min(len(emitted), len(stored))
        return f"same tokens, but the rounds fall differently from position {common} on"
    return f"another token at position {start + here}"


def first_divergence(a: Sequence[int], b: Sequence[int]) -> int | None:
    """The first position where both outputs have a token and the tokens differ; None if there is none.

    An output that is merely shorter (still running, stopped) has not diverged.
    """
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), None)


#: What decides a round, by the names `difference` uses.
DECIDED = ("drafts", "coins", "tests", "output")


def difference(a: Sequence[Round], b: Sequence[Round]) -> str:
    """Where a re-run first differs from the session it repeats, token for token and coin for coin.

    Empty when it does not: then drafts, coins, tests and output are all equal.
    """
    for index, (x, y) in enumerate(zip_longest(a, b)):
        if x is None or y is None:
            return f"round {index}: only one of the two has it"
        for name, left, right in zip(DECIDED, _decided(x), _decided(y), strict=True):
            if left != right:
                return f"round {index}: {name} differ: {_first_pair(left, right)}"
    return ""


def _decided(done: Round) -> tuple[tuple, ...]:
    return done.block.tokens, done.coins, done.verdict.checks, done.emitted


def _first_pair(left: tuple, right: tuple) -> str:
    pairs = (pair for pair in zip_longest(left, right) if pair[0] != pair[1])
    x, y = next(pairs)
    return f"{x} and {y}"


@dataclass(frozen=True)
class RowDifference:
    """The first row in which two runs of the same session differ: `side` "p" or "q" at an absolute position.

    `tv` is the total variation distance between the two, over the tokens that both keep; `largest` the
    biggest difference of one token's probability, and `token` that token.
    """

    round: int
    position: int
    side: str
    tv: float
    largest: float
    token: int


def row_difference(a: Sequence[Round], b: Sequence[Round]) -> RowDifference | None:
    """The first row that is not the same in both, in the order the rows were made; None where all are.

    Rows behind the first differing token belong to different texts and are not compared.
    """
    for x, y in zip(a, b, strict=False):
        for i, side, left, right in _rows_in_common(x, y):
            if left != right:
                return RowDifference(x.index, x.block.start + i, side, *_apart(left, right))
        if x.block.tokens != y.block.tokens or x.emitted != y.emitted:
            return None
    return None


def _rows_in_common(x: Round, y: Round) -> Iterable[tuple[int, str, Row, Row]]:
    """The rows of two rounds that follow the same tokens: q before p, as far as the drafts agree."""
    same = first_divergence(x.block.tokens, y.block.tokens)
    n = min(x.block.k, y.block.k) if same is None else same
    for side in ("q", "p"):
        left, right = getattr(x.block, side), getattr(y.block, side)
        for i in range(min(n + 1, len(left), len(right))):
            yield i, side, left[i], right[i]


def _apart(a: Row, b: Row) -> tuple[float, float, int]:
    """TV, the largest difference and its token; what one of two cut rows leaves out is not counted."""
    ids, left, right = rows.pair(a, b)
    if not (a.exact and b.exact):
        both = np.isin(ids, a.ids) & np.isin(ids, b.ids)
        ids, left, right = ids[both], left[both], right[both]
    if not len(ids):
        return 1.0, 1.0, int(a.ids[0])
    gaps = np.abs(left - right)
    return float(gaps.sum() / 2), float(gaps.max()), int(ids[int(np.argmax(gaps))])
