"""Faults of an engine, switched on by name for one session, to be seen failing.

A fault stands around the scorer, around the drafter, or around the reading of the target's rows; the loop,
the rules and the models stay as they are, and no check of theirs is switched off. What a broken cache does, a
healthy one does that was told a wrong history: keys, values and positions depend on the tokens before them in
the cache alone. So "one entry too few" is a drafter that follows a sequence without that token, to the last
bit, and its own books are right about the sequence it was told.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from engine.core import rows, warp
from engine.core.kept import Kept
from engine.core.loop import Generation
from engine.core.types import Address, Coins, Draft, Drafter, Row, Sampling, Scorer
from engine.drafters.spec import DrafterSpec
from engine.errors import BadSetting
from engine.models import Pair

#: Rows that a drafter with two rows remembers.
KEPT = 32


class TrimmedCache:
    """A drafter whose cache loses one entry too many each time it takes drafts back.

    The last draft of a round was never fed, so there is something to take back once two or more of the drafts
    fell. The entry lost is the newest that should have stayed; what comes after is read without it.
    """

    def __init__(self, inner: Drafter) -> None:
        self.inner, self.kind = inner, inner.kind
        self.prompt: tuple[int, ...] = ()
        self.output: tuple[int, ...] = ()  # as the cache knows it
        self.drafted = 0

    def start(self, prompt: tuple[int, ...]) -> None:
        self.prompt, self.output, self.drafted = tuple(prompt), (), 0
        self.inner.start(prompt)

    def propose(self, context: tuple[int, ...], k: int, sampling: Sampling, coins: Coins) -> Draft:
        moved = Moved(coins, len(context) - len(self.output))
        draft = self.inner.propose(self.output, k, sampling, moved)
        self.drafted = len(draft.tokens)
        return draft

    def commit(self, tokens: tuple[int, ...]) -> None:
        # Fed were all drafts but the last, and kept are all emitted but the last.
        taken_back = self.drafted - len(tokens)
        self.output += tuple(tokens)
        if taken_back < 1:
            self.inner.commit(tokens)
            return
        if len(self.output) > 1:
            self.output = (*self.output[:-2], self.output[-1])
        else:
            self.prompt = self.prompt[:-1]
        self.inner.start(self.prompt)
        self.inner.commit(self.output)


@dataclass(frozen=True)
class Moved:
    """The coins of positions further on: for a drafter that counts too few tokens before it."""

    coins: Coins
    by: int

    def flip(self, prob: float, at: Address, per: float = 1.0) -> tuple[bool, float]:
        return self.coins.flip(prob, self._there(at), per)

    def choose(self, row: Row, at: Address) -> int:
        return self.coins.choose(row, self._there(at))

    def race(self, row: Row, at: Address) -> int:
        return self.coins.race(row, self._there(at))

    def _there(self, at: Address) -> Address:
        return replace(at, position=at.position + self.by)


class NotRewound:
    """A scorer whose cache keeps every draft that was rejected."""

    def __init__(self, inner: Scorer) -> None:
        self.inner, self.vocab = inner, inner.vocab

    def prefill(self, tokens: tuple[int, ...]) -> int:
        return self.inner.prefill(tokens)

    def score(self, tokens: tuple[int, ...]) -> np.ndarray:  # float32[k + 1, V]
        return self.inner.score(tokens)

    def rewind(self, n: int) -> None:
        """The fault: nothing is taken back."""


class ShiftedRows:
    """A scorer whose rows are read one place too late: draft i is judged by the row behind itself."""

    def __init__(self, inner: Scorer) -> None:
        self.inner, self.vocab = inner, inner.vocab

    def prefill(self, tokens: tuple[int, ...]) -> int:
        return self.inner.prefill(tokens)

    def score(self, tokens: tuple[int, ...]) -> np.ndarray:  # float32[k + 1, V]
        logits = self.inner.score(tokens)
        return logits if len(logits) == 1 else np.concatenate([logits[1:], logits[-1:]])

    def rewind(self, n: int) -> None:
        self.inner.rewind(n)


class DrawnOtherwise:
    """A drafter that draws from another row than the one it hands over.

    `asked` is the sampling of the row handed over, made from the session's; `drawn` turns that row into the
    one that is drawn from.
    """

    def __init__(
        self,
        inner: Drafter,
        asked: Callable[[Sampling], Sampling],
        drawn: Callable[[Row, Sampling], Row],
    ) -> None:
        self.inner, self.kind, self.asked, self.drawn = inner, inner.kind, asked, drawn
        self.made = Kept(KEPT)  # by the very row, which is kept beside its other

    def start(self, prompt: tuple[int, ...]) -> None:
        self.inner.start(prompt)

    def propose(self, context: tuple[int, ...], k: int, sampling: Sampling, coins: Coins) -> Draft:
        other = OtherRow(coins, lambda row: self._other(row, sampling))
        return self.inner.propose(context, k, self.asked(sampling), other)

    def commit(self, tokens: tuple[int, ...]) -> None:
        self.inner.commit(tokens)

    def _other(self, row: Row, sampling: Sampling) -> Row:
        """The row drawn from; the last few are kept, since a probe meets the same ones over and over."""
        known = self.made.get(id(row))
        if known is None:
            known = row, self.drawn(row, sampling)
            self.made.put(id(row), known)
        return known[1]


@dataclass(frozen=True)
class OtherRow:
    """Coins that draw from a row made of the one they are given."""

    coins: Coins
    made: Callable[[Row], Row]

    def flip(self, prob: float, at: Address, per: float = 1.0) -> tuple[bool, float]:
        return self.coins.flip(prob, at, per)

    def choose(self, row: Row, at: Address) -> int:
        return self.coins.choose(self.made(row), at)

    def race(self, row: Row, at: Address) -> int:
        return self.coins.race(self.made(row), at)


def untempered(row: Row, sampling: Sampling) -> Row:
    """The row at temperature 1, from the row at the session's: q is proportional to exp(log-prob / T)."""
    return rows.from_dense(warp.tempered(rows.dense(row), 1 / sampling.temperature))


def filtered(row: Row, sampling: Sampling) -> Row:
    """The row behind the session's filters, from the row at its temperature without them."""
    if sampling.order == "temperature-first":
        return rows.from_dense(warp.filtered(rows.dense(row), sampling))
    kept = warp.filtered(rows.dense(untempered(row, sampling)), sampling)
    return rows.from_dense(warp.tempered(kept, sampling.temperature))


def without_filters(sampling: Sampling) -> Sampling:
    return replace(sampling, top_k=0, top_p=1.0, min_p=0.0)


class StalePenalties(Generation):
    """The loop with penalties counted up to the round's beginning: the round's own drafts are not seen."""

    def effective(self, logits: np.ndarray, seen: tuple[int, ...], at: Address) -> Row:  # logits float32[V]
        return super().effective(logits, seen[: len(self.plan.prompt) + len(self.output)], at)


#: Why a fault would change nothing under a sampling and a drafter; "" where it does change something.
Idle = Callable[[Sampling, DrafterSpec], str]


def needs_drafts(sampling: Sampling, drafter: DrafterSpec) -> str:
    return "nothing is drafted" if drafter.kind == "none" else ""


def needs_model(sampling: Sampling, drafter: DrafterSpec) -> str:
    return needs_drafts(sampling, drafter) or ("lookup runs no model" if drafter.kind == "lookup" else "")


def needs_temperature(sampling: Sampling, drafter: DrafterSpec) -> str:
    if sampling.greedy or sampling.temperature == 1:
        return f"the drafter draws the same token at temperature {sampling.temperature:g}"
    return needs_model(sampling, drafter)


def needs_filter(sampling: Sampling, drafter: DrafterSpec) -> str:
    mirrored = sampling.mirrored()
    if mirrored.greedy or not mirrored.filters:
        return "no filter cuts the drafter's row (top-k, top-p or min-p)"
    return needs_model(sampling, drafter)


def needs_penalty(sampling: Sampling, drafter: DrafterSpec) -> str:
    s = sampling
    if (s.repetition_penalty, s.presence_penalty, s.frequency_penalty) == (1.0, 0.0, 0.0):
        return "no penalty is on (repetition, presence or frequency)"
    return needs_drafts(sampling, drafter)


@dataclass(frozen=True)
class Fault:
    """One fault: its name, what it is called, and where it stands. `idle` says when it would do nothing."""

    id: str
    title: str
    idle: Idle
    scorer: Callable[[Scorer], Scorer] = lambda scorer: scorer
    drafter: Callable[[Drafter], Drafter] = lambda drafter: drafter
    generation: type[Generation] = Generation


_ALL = (
    Fault("draft-cache-trimmed", "draft cache trimmed one too far", needs_model, drafter=TrimmedCache),
    Fault("target-not-rewound", "target cache not rewound", needs_drafts, scorer=NotRewound),
    Fault("rows-shifted", "rows shifted by one", needs_drafts, scorer=ShiftedRows),
    Fault("stale-penalties", "stale penalties", needs_penalty, generation=StalePenalties),
    Fault(
        "drafter-at-t1",
        "drafter at temperature 1",
        needs_temperature,
        drafter=lambda inner: DrawnOtherwise(inner, lambda sampling: sampling, untempered),
    ),
    Fault(
        "unfiltered-q",
        "unfiltered q",
        needs_filter,
        drafter=lambda inner: DrawnOtherwise(inner, without_filters, filtered),
    ),
)

#: The faults by name. "" is none of them.
FAULTS: dict[str, Fault] = {fault.id: fault for fault in _ALL}

HEALTHY = Fault("", "", lambda sampling, drafter: "")


def find(name: str) -> Fault:
    """The fault of that name, or the healthy engine for "". Raises BadSetting for a name there is not."""
    if name and name not in FAULTS:
        raise BadSetting(f"There is no fault {name!r}.", f"Choose one of {', '.join(FAULTS)}, or none.")
    return FAULTS.get(name, HEALTHY)


def checked(name: str, sampling: Sampling, drafter: DrafterSpec, k: int) -> str:
    """The name of a fault that will show. Raises BadSetting for one that there is not, or that would do
    nothing: a session that is called faulty must be so."""
    idle = find(name).idle(sampling, drafter) or ("k is 0" if name and k == 0 else "")
    if idle:
        raise BadSetting(
            f"The fault {name} would change nothing: {idle}.", "Change that setting, or switch the fault off."
        )
    return name


def switched(name: str, pair: Pair) -> Pair:
    """The pair with a session's fault around it; the pair itself for ""."""
    fault = find(name)
    return replace(pair, scorer=fault.scorer(pair.scorer), drafter=fault.drafter(pair.drafter))
