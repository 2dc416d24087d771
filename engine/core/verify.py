"""Exactness of a real run: many continuations of one prompt through the whole loop, against the target's p.

The loop, its drafter and its rule run as in any session; only the models' answers are kept by context
(engine.core.sharing). What the samples are held against is read apart from them: the target's row after the
prompt and after each first token, from a cache that was filled for it, one row a pass.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from engine.core import exactness, rows, warp
from engine.core.coins import MAX_SEED
from engine.core.exactness import MIN_EXPECTED, ChiSquare
from engine.core.kept import Kept
from engine.core.loop import Ends, Generation, Plan
from engine.core.rivals import Ground, Rival, rivals
from engine.core.sharing import MAX_NUMBERS, SharedDrafter, SharedGeneration, SharedScorer, Tokens
from engine.core.tally import LENGTH, Acceptance, Tally
from engine.core.types import Address, Drafter, Row, Rule, Sampling, Scorer, within
from engine.errors import BadSetting

#: Samples that are run a second time on the bare models, nothing shared, and must come out the same.
UNSHARED = 8

MIN_SAMPLES, MAX_SAMPLES = 100, 1_000_000

CONSISTENT = "consistent with the target"
OTHER = "not the target's distribution"

#: Told what is being done and how far it is, 0 to 1. May raise, to stop.
Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class Question:
    """Whether `rule` gives the target's distribution after `prompt`, asked with that many samples.

    Sample i runs under seed + i. `by_context` says that the drafter's rows depend on the tokens before alone,
    as a model's do. Raises BadSetting for a number of samples, a seed or a sampling that cannot be tested.
    """

    prompt: Tokens
    rule: Rule
    sampling: Sampling
    seed: int
    k: int
    samples: int
    by_context: bool

    def __post_init__(self) -> None:
        within("samples", self.samples, MIN_SAMPLES, MAX_SAMPLES)
        within("seed", self.seed, 0, MAX_SEED - self.samples)
        if self.sampling.xtc_probability > 0:
            raise BadSetting(
                f"xtc_probability is {self.sampling.xtc_probability:g}: XTC tosses a coin for the target's "
                "row itself, so there is no one row to test against.",
                "Set it to 0.",
            )

    def plan(self, i: int) -> Plan:
        """Sample i. A first block of k drafts fits into its budget."""
        length = max(LENGTH, self.k)
        return Plan(self.prompt, self.rule, self.sampling, self.seed + i, self.k, length)


@dataclass(frozen=True)
class Violation:
    """A token that came after `before` although the target gives it no mass there."""

    before: Tokens
    token: int
    times: int


@dataclass(frozen=True)
class Finding:
    """What verify found.

    `drafts` holds the first drafts against the row they are said to be drawn from; None without drafts.
    `unshared` of `unshared_of` samples came out the same on the bare models. `rows_tv` is the largest
    distance between a row the loop judged by and the same row read apart. `target_passes` and
    `draft_passes` count what the real models did for the samples.
    """

    samples: int
    first: ChiSquare
    pairs: ChiSquare
    drafts: ChiSquare | None
    acceptance: Acceptance
    violations: tuple[Violation, ...]
    unshared: int
    unshared_of: int
    rows_tv: float
    rivals: tuple[Rival, ...]
    target_passes: int
    draft_passes: int

    @property
    def verdict(self) -> str:
        """Two tests and the support decide it, so a right rule gets the wrong word at most once in
        1 / (2 ALPHA) runs."""
        wrong = self.first.fails or self.pairs.fails or self.violations
        return OTHER if wrong else CONSISTENT

    @property
    def passed(self) -> bool:
        """The distribution is the target's, acceptance is as the rule says, and sharing changed nothing."""
        same = self.unshared == self.unshared_of
        return self.verdict == CONSISTENT and not self.acceptance.fails and same


class Target:
    """The target's own rows by output, each read from a cache filled for it, and kept."""

    def __init__(self, question: Question, scorer: Scorer) -> None:
        self.question, self.scorer = question, scorer
        self.rows: dict[Tokens, Row] = {}

    def after(self, output: Tokens) -> Row:
        if output not in self.rows:
            sequence = self.question.prompt + output
            self.scorer.prefill(sequence)
            logits = self.scorer.score(sequence[-1:])[-1]
            self.rows[output] = warp.effective(logits, self.question.sampling, sequence)
        return self.rows[output]

    def distance_to(self, known: Kept) -> float:
        """The largest total variation distance to a row of the same context that the loop judged by."""
        met = ((row, known.get(self.question.prompt + output)) for output, row in self.rows.items())
        return max((rows.tv(row, other) for row, other in met if other is not None), default=0.0)


def verify(
    question: Question,
    scorer: Scorer,
    drafter: Drafter,
    ends: Ends,
    others: Iterable[Rule],
    progress: Progress,
) -> Finding:
    """Draw the samples and test them; `others` are the rules whose power is asked for. Raises what the loop
    raises, and what `progress` does."""
    target_side, draft_side, known = SharedScorer(scorer), SharedDrafter(drafter), Kept(MAX_NUMBERS)
    n, tally, outputs = question.samples, Tally(question.rule), []
    for i in range(n):
        progress(f"{i} of {n} samples", i / n)
        target_side.prefill(question.prompt)
        draft_side.start(question.prompt)
        run = SharedGeneration(question.plan(i), draft_side, target_side, ends, known=known)
        outputs.append(tally.add(beginning(run)))
    progress("Running some samples again, nothing shared", 1.0)
    again = [bare(question, i, scorer, drafter, ends) for i in range(min(UNSHARED, n))]
    progress("Reading the target's own rows", 1.0)
    target = Target(question, scorer)
    first = exactness.cells(exactness.law_of(target.after(())), n)
    pairs = exactness.cells(pair_law(question, target, tally, ends), n)
    q = tally.q
    q_after = (lambda output: q_row(question, draft_side, output)) if question.by_context else None
    progress("Asking what other rules would have done", 1.0)
    ground = None if q is None else Ground(target.after, q_after, q, first, pairs, ends, n)
    return Finding(
        samples=n,
        first=exactness.chi_square(tally.firsts, first, n),
        pairs=exactness.chi_square(tally.pairs, pairs, n),
        drafts=None if q is None else drafts_test(tally.drafts, q),
        acceptance=tally.acceptance(),
        violations=violations(tally, target),
        unshared=sum(a == b for a, b in zip(outputs, again, strict=False)),
        unshared_of=len(again),
        rows_tv=target.distance_to(known),
        rivals=() if ground is None else rivals(others, ground),
        target_passes=target_side.passes,
        draft_passes=draft_side.passes,
    )


def beginning(run: Generation) -> list:
    """The rounds of a generation up to the tokens that are looked at."""
    rounds = []
    for done in run:
        rounds.append(done)
        if len(run.output) >= LENGTH:
            break
    return rounds


def bare(question: Question, i: int, scorer: Scorer, drafter: Drafter, ends: Ends) -> Tokens:
    """Sample i on the models themselves."""
    scorer.prefill(question.prompt)
    drafter.start(question.prompt)
    run = Generation(question.plan(i), drafter, scorer, ends)
    beginning(run)
    return run.output[:LENGTH]


def pair_law(question: Question, target: Target, tally: Tally, ends: Ends) -> dict[Tokens, float]:
    """The target's law of pairs, without what is too rare for a cell of its own; an output that ends with
    its first token is its own pair. Where filters cut tokens, every first token that came is followed."""
    n, cut, firsts = question.samples, question.sampling.filters, tally.firsts
    law: dict[Tokens, float] = {}
    for x, prob in exactness.law_of(target.after(())).items():
        if n * prob < MIN_EXPECTED and not (cut and x in firsts):
            continue
        if ends((x,)):
            law[(x,)] = prob
        else:
            seconds = exactness.law_of(target.after((x,)), n, prob)
            law |= {(x, y): both for y, both in seconds.items()}
    return law


def violations(tally: Tally, target: Target) -> tuple[Violation, ...]:
    """Every token that came where the target's row, as far as it was read, gives it no mass."""
    found: Counter[tuple[Tokens, int]] = Counter()
    for pair, times in tally.pairs.items():
        for i, token in enumerate(pair):
            row = target.rows.get(pair[:i])
            if row is not None and row.prob(token) == 0:
                found[pair[:i], token] += times
    return tuple(Violation(*where, times) for where, times in sorted(found.items()))


def drafts_test(drafts: Counter[int], q: Row) -> ChiSquare:
    """First drafts against the row they are said to be drawn from."""
    n = drafts.total()
    return exactness.chi_square(drafts, exactness.cells(exactness.law_of(q), n), n)


def q_row(question: Question, drafter: SharedDrafter, output: Tokens) -> Row:
    """The row of the first draft after an output."""
    return drafter.propose(output, 1, question.sampling, _Likeliest()).rows[0]


class _Likeliest:
    """Draws the most probable token: for asking a drafter for a row."""

    def choose(self, row: Row, at: Address) -> int:
        return rows.argmax(row)
