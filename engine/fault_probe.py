"""The law of a faulty loop, measured: many beginnings of one prompt, held against the target's own rows.

As engine.core.verify, with the fault between the loop and the models. What the samples are held against is
read from the models themselves, so a fault cannot hide by bending its own yardstick.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from engine import faults
from engine.core import exactness, rows
from engine.core.events import Round
from engine.core.exactness import ChiSquare
from engine.core.loop import Ends, Generation
from engine.core.sharing import SharedDrafter, SharedScorer
from engine.core.tally import Acceptance, Tally
from engine.core.types import Address, Drafter, Row, Scorer
from engine.core.verify import Question, Target, beginning, drafts_test, pair_law


@dataclass(frozen=True)
class Probe:
    """What a loop emitted: `firsts` against `law` (the target's first row), pairs, drafts against the q they
    are said to be drawn from, acceptance against its closed form, and accepted drafts by depth in the first
    round as (accepted, tested)."""

    samples: int
    law: Row
    firsts: Counter[int]
    first: ChiSquare
    pairs: ChiSquare
    drafts: ChiSquare | None
    acceptance: Acceptance
    depths: tuple[tuple[int, int], ...]
    ceiling: float | None  # sum min(p, q) of the first row: the most a right rule accepts there

    @property
    def tv(self) -> float:
        """The distance of the first tokens that came to the target's row; also chance moves it from 0."""
        ids = {*self.firsts, *self.law.ids.tolist()}
        return sum(abs(self.firsts[x] / self.samples - self.law.prob(x)) for x in ids) / 2


@dataclass
class Depths:
    """Accepted and tested drafts of first rounds, by their place."""

    counts: list[list[int]] = field(default_factory=list)

    def add(self, done: Round) -> None:
        for i in range(done.n_tested):
            if i == len(self.counts):
                self.counts.append([0, 0])
            self.counts[i][0] += i < done.verdict.n_accepted
            self.counts[i][1] += 1


def probe(
    question: Question,
    scorer: Scorer,
    drafter: Drafter,
    fault: str = "",
    ends: Ends = lambda output: False,
    check: Callable[[], None] = lambda: None,
) -> Probe:
    """Draw the question's samples with a fault ("" for none) and test them. `check` is called before each,
    and may raise to stop."""
    known = faults.find(fault)
    target_side, draft_side = SharedScorer(scorer), SharedDrafter(drafter)
    faulty_scorer, faulty_drafter = known.scorer(target_side), known.drafter(draft_side)
    tally, depths, kept = Tally(question.rule), Depths(), {}
    for i in range(question.samples):
        check()
        faulty_scorer.prefill(question.prompt)
        faulty_drafter.start(question.prompt)
        run = known.generation(question.plan(i), faulty_drafter, faulty_scorer, ends)
        run.shown = nothing_shown
        run.effective = remembering(run, kept)
        if faulty_scorer is not target_side:
            tally.known.clear()  # such a row depends on more than the tokens before it
        done = beginning(run)
        tally.add(done)
        depths.add(done[0])
    n, target = question.samples, Target(question, scorer)
    row = target.after(())
    first = exactness.cells(exactness.law_of(row), n)
    pairs = exactness.cells(pair_law(question, target, tally, ends), n)
    return Probe(
        samples=n,
        law=row,
        firsts=tally.firsts,
        first=exactness.chi_square(tally.firsts, first, n),
        pairs=exactness.chi_square(tally.pairs, pairs, n),
        drafts=None if tally.q is None else drafts_test(tally.drafts, tally.q),
        acceptance=tally.acceptance(),
        depths=tuple((accepted, tested) for accepted, tested in depths.counts),
        ceiling=None if tally.q is None else rows.overlap(row, tally.q),
    )


def remembering(run: Generation, kept: dict) -> Callable[[np.ndarray, tuple[int, ...], Address], Row]:
    """The run's own reading of rows, each made once for the same logits after the same tokens."""
    read = run.effective

    def effective(logits: np.ndarray, seen: tuple[int, ...], at: Address) -> Row:  # logits float32[V]
        key = logits.tobytes(), seen
        if key not in kept:
            kept[key] = read(logits, seen, at)
        return kept[key]

    return effective


def nothing_shown(*of: object) -> tuple[tuple[()], tuple[()]]:
    """In place of Generation.shown: nobody looks at a sample's rows."""
    return (), ()
