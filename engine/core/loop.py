"""The speculative loop: draft, verify in one target pass, judge, emit. A generator of rounds.

Both caches hold exactly the emitted sequence less its last token between rounds: the scorer rewinds what
was not accepted, the drafter is told what was emitted. A draft that ends the output (EOS or a stop
string) is the last of its block, so no position behind the end is ever scored, judged or counted.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from engine.core import ending, matrix, rows, warp
from engine.core.coins import RecordingCoins, judge
from engine.core.events import Measure, Round, StageTimes
from engine.core.once import remembering
from engine.core.types import Address, Block, Coin, Draft, Drafter, Row, Rule, Sampling, Scorer, Verdict
from engine.errors import BadRow

#: Says whether the output ends with its last token; called with the output tokens so far.
Ends = Callable[[tuple[int, ...]], bool]


class Cancelled(Exception):
    """The run was stopped; every round before is complete, the one under way is dropped."""


@dataclass(frozen=True)
class Plan:
    """What a generation is asked to do. `k` drafts a round at most, `max_tokens` emitted in all."""

    prompt: tuple[int, ...]
    rule: Rule
    sampling: Sampling
    seed: int
    k: int
    max_tokens: int


class DraftCoins:
    """The coins a drafter sees: the rule's own draft draw, at the true attempt, unless the run is stopped.

    `drawn` counts the draws, so that a bad row can be named by its position.
    """

    def __init__(
        self, rule: Rule, coins: RecordingCoins, attempts: Counter[int], cancelled: Callable[[], bool]
    ) -> None:
        self.rule, self.coins, self.attempts, self.cancelled = rule, coins, attempts, cancelled
        self.drawn = 0

    def flip(self, prob: float, at: Address, per: float = 1.0) -> tuple[bool, float]:
        return self.coins.flip(prob, at, per)

    def race(self, row: Row, at: Address) -> int:
        return self.coins.race(row, at)

    def choose(self, row: Row, at: Address) -> int:
        if self.cancelled():
            raise Cancelled
        self.drawn += 1
        return self.rule.draft(row, self.coins, replace(at, attempt=self.attempts[at.position]))


@dataclass
class Generation:
    """A generation under way: iterate over it for its rounds.

    Both models must have read the prompt (scorer.prefill, drafter.start). `ends` says whether the output
    is complete with its last token. Raises Cancelled once `cancelled` says so, BadRow naming position and
    model when a row is no distribution, ModelError when a cache cannot follow. Each round carries what
    `matrix_rules` would have done with its block.

    A branch begins with `output` given, which both models have read as well; `drafted` says how often
    positions behind it were drafted before, as (position, count).
    """

    plan: Plan
    drafter: Drafter
    scorer: Scorer
    ends: Ends = lambda output: False
    cancelled: Callable[[], bool] = lambda: False
    clock: Callable[[], float] = time.perf_counter
    output: tuple[int, ...] = ()
    matrix_rules: tuple[Rule, ...] = ()
    drafted: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        self.coins = RecordingCoins(self.plan.seed)
        self.attempts: Counter[int] = Counter(dict(self.drafted))

    def __iter__(self) -> Iterator[Round]:
        index = 0
        while len(self.output) < self.plan.max_tokens and not (self.output and self.ends(self.output)):
            if self.cancelled():
                raise Cancelled
            with remembering():
                done = self.round(index)
            self.output += done.emitted
            index += 1
            yield done

    def round(self, index: int) -> Round:
        """Draft, verify, judge and bring both caches to what is emitted."""
        t0 = self.clock()
        draft = self.propose()
        t1 = self.clock()
        logits = self.scorer.score((self.last, *draft.tokens))
        t2 = self.clock()
        block = self.block(draft, logits)
        own = tuple(
            self.plan.rule.target_draw(row, self.coins, block.at("target", i))
            for i, row in enumerate(block.p)
        )
        final = self.final(block)
        verdict, drew = judge(self.plan.rule, block, self.coins)
        verdict, emitted = ending.close(block, verdict, final)
        self.remember(block)
        self.scorer.rewind(block.k - verdict.n_accepted)
        self.drafter.commit(emitted)
        raw_p, raw_q = self.shown(draft, logits, own)
        measures = tuple(measure(p, q) for p, q in zip(block.p, block.q, strict=False))
        t3 = self.clock()
        n_tested = min(verdict.n_accepted + 1, block.k)
        lines = matrix.judged(block, self.matrix_rules, self.plan.seed, final, n_tested)
        return Round(
            index=index,
            block=block,
            verdict=verdict,
            emitted=emitted,
            own=own,
            drew=drew if verdict.next_token is not None else None,
            coins=fallen(self.coins.take(), block, verdict),
            measures=measures,
            entropy_bonus=rows.entropy(block.p[-1]),
            times=stage_times(t0, t1, t2, t3, self.clock()),
            final=final,
            raw_p=raw_p,
            raw_q=raw_q,
            matrix=lines,
        )

    @property
    def last(self) -> int:
        return self.output[-1] if self.output else self.plan.prompt[-1]

    def propose(self) -> Draft:
        """At most k drafts, never beyond the budget, none behind one that ends the output."""
        k = min(self.plan.k, self.plan.max_tokens - len(self.output))
        if k == 0:
            return Draft((), ())
        coins = DraftCoins(self.plan.rule, self.coins, self.attempts, self.cancelled)
        try:
            draft = self.drafter.propose(self.output, k, self.plan.sampling, coins)
        except BadRow as error:
            raise located(error, f"Drafter {self.drafter.kind}", len(self.output) + coins.drawn) from error
        for n in range(1, len(draft.tokens)):
            if self.ends(self.output + draft.tokens[:n]):
                return Draft(draft.tokens[:n], draft.rows[:n], draft.raw[:n])
        return draft

    def block(self, draft: Draft, logits: np.ndarray) -> Block:  # logits float32[k + 1, V]
        start, k = len(self.output), len(draft.tokens)
        tries = tuple(self.attempts[start + i] for i in range(k + 1))
        history = self.plan.prompt + self.output
        p = []
        for i in range(k + 1):
            at = Address("xtc", start + i, tries[i])
            try:
                p.append(self.effective(logits[i], history + draft.tokens[:i], at))
            except BadRow as error:
                raise located(error, "Target", start + i) from error
        return Block(start, draft.tokens, draft.rows, tuple(p), tries)

    def effective(self, logits: np.ndarray, seen: tuple[int, ...], at: Address) -> Row:  # logits float32[V]
        """The target's distribution after the tokens `seen`; `at` is its XTC coin's address."""
        return warp.effective(logits, self.plan.sampling, seen, self.coins, at)

    def final(self, block: Block) -> bool:
        """True when accepting every draft ends the output: by its budget, EOS or a stop string."""
        output = self.output + block.tokens
        return len(output) >= self.plan.max_tokens or (block.k > 0 and self.ends(output))

    def remember(self, block: Block) -> None:
        """Count the positions drafted, for the rules whose coins must not be met twice."""
        if self.plan.rule.looks_ahead:
            self.attempts.update(range(block.start, block.start + block.k))

    def shown(
        self, draft: Draft, logits: np.ndarray, own: tuple[int, ...]
    ) -> tuple[tuple[Row, ...], tuple[Row, ...]]:
        """The softmax before the filters, top part, where the filters cut anything."""
        if not self.plan.sampling.filters:
            return (), ()
        keep = (*draft.tokens, *own)
        return tuple(warp.raw(row, keep) for row in logits), draft.raw


def fallen(coins: Iterable[Coin], block: Block, verdict: Verdict) -> tuple[Coin, ...]:
    """The coins that belong to the round: none of a draft that was cut off the block, and none of a
    position behind the end of the output."""
    last_draft = block.start + block.k - 1
    last = last_draft if verdict.next_source == "ended" else last_draft + 1
    return tuple(c for c in coins if c.at.position <= (last_draft if c.at.purpose == "draft" else last))


def stage_times(*stamps: float) -> StageTimes:
    """Seconds at the seams between the stages -> milliseconds of each."""
    return StageTimes(*(1e3 * (after - before) for before, after in pairwise(stamps)))


def located(error: BadRow, model: str, position: int) -> BadRow:
    """The same error, naming whose row it was and where."""
    return BadRow(f"{model}, position {position}: {error.message}", error.hint)


def measure(p: Row, q: Row) -> Measure:
    """What the position says of the pair: overlap, product, entropies (nats)."""
    return Measure(rows.overlap(p, q), rows.product(p, q), rows.entropy(p), rows.entropy(q))
