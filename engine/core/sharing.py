"""Run the loop many times from one prompt, and let the models do each thing once.

The samples of one prompt meet the same contexts over and over. A model's answer depends on the context
alone, so it is kept by context and handed out again, the very same array; every draft is still drawn,
every test made and every coin tossed by the loop, its drafter and its rule. What is not kept is asked of
the real models the way their protocols say.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from engine.core.kept import Kept
from engine.core.loop import Generation
from engine.core.types import Address, Coins, Draft, Drafter, Row, Sampling, Scorer

#: Numbers kept by one model's memory: 256 MB of float32, half a gigabyte of float64.
MAX_NUMBERS = 2**26

Tokens = tuple[int, ...]


class SharedScorer:
    """A Scorer that asks the real one for a row only where it has none for that context. `passes` counts."""

    def __init__(self, inner: Scorer) -> None:
        self.inner = inner
        self.vocab = inner.vocab
        self.passes = 0
        self.known = Kept(MAX_NUMBERS)
        self.prompt: Tokens = ()
        self.held: Tokens = ()

    def prefill(self, tokens: Tokens) -> int:
        self.prompt, self.held = tuple(tokens), tuple(tokens[:-1])
        return 0

    def score(self, tokens: Tokens) -> np.ndarray:  # float32[k + 1, V]
        before, self.held = len(self.held), self.held + tuple(tokens)
        contexts = [self.held[: before + i] for i in range(1, len(tokens) + 1)]
        rows = [self.known.get(context) for context in contexts]
        if any(row is None for row in rows):
            self.passes += 1
            self.inner.prefill(self.prompt)
            fresh = self.inner.score(self.held[len(self.prompt) - 1 :])[-len(tokens) :]
            for i, context in enumerate(contexts):
                if rows[i] is None:
                    rows[i] = fresh[i]
                    self.known.put(context, fresh[i], fresh.shape[-1])
        return np.stack(rows)

    def rewind(self, n: int) -> None:
        self.held = self.held[: len(self.held) - n]


@dataclass(frozen=True)
class _Step:
    """What a drafter does next: draw from `row` at `at`; or nothing more (None), and then it hands over
    `rows` as those it has drawn from."""

    row: Row | None
    at: Address | None
    rows: tuple[Row, ...] = ()


class SharedDrafter:
    """A Drafter that walks what the real one has proposed in the same place, as far as it is known.

    A proposal is a tree: after the same context and the same draws the next row is the same. `passes` counts
    the proposals the real drafter made. It must draw by `coins.choose` alone, as the protocol says.
    """

    def __init__(self, inner: Drafter) -> None:
        self.inner = inner
        self.kind = inner.kind
        self.passes = 0
        self.known = Kept(MAX_NUMBERS)
        self.prompt: Tokens = ()

    def start(self, prompt: Tokens) -> None:
        self.prompt = tuple(prompt)

    def propose(self, context: Tokens, k: int, sampling: Sampling, coins: Coins) -> Draft:
        tokens: Tokens = ()
        while step := self.known.get((self.prompt, context, k, tokens)):
            if step.row is None:
                return Draft(tokens, step.rows)
            tokens += (coins.choose(step.row, step.at),)
        self.passes += 1
        self.inner.start(self.prompt)
        if context:
            self.inner.commit(context)
        memory = _Memory(self, context, k, tokens, coins)
        draft = self.inner.propose(context, k, sampling, memory)
        memory.note(_Step(None, None, draft.rows))
        return Draft(draft.tokens, draft.rows)

    def commit(self, tokens: Tokens) -> None:
        """Nothing to follow: the real drafter is told all when it is asked."""


class _Memory:
    """The coins of one real proposal: draws that fell already are repeated, and every row is written down."""

    def __init__(self, drafter: SharedDrafter, context: Tokens, k: int, fallen: Tokens, coins: Coins) -> None:
        self.known, self.place = drafter.known, (drafter.prompt, context, k)
        self.fallen, self.coins = fallen, coins
        self.drawn: Tokens = ()

    def choose(self, row: Row, at: Address) -> int:
        self.note(_Step(row, at))
        i = len(self.drawn)
        token = self.fallen[i] if i < len(self.fallen) else self.coins.choose(row, at)
        self.drawn += (token,)
        return token

    def note(self, step: _Step) -> None:
        key = (*self.place, self.drawn)
        if self.known.get(key) is None:
            self.known.put(key, step, 1 if step.row is None else 2 * len(step.row.ids))


@dataclass
class SharedGeneration(Generation):
    """The loop, with each context's effective row kept in `known`; for samplings without XTC's coin."""

    known: Kept = field(default_factory=lambda: Kept(MAX_NUMBERS))

    def effective(self, logits: np.ndarray, seen: Tokens, at: Address) -> Row:  # logits float32[V]
        row = self.known.get(seen)
        if row is None:
            row = super().effective(logits, seen, at)
            self.known.put(seen, row, 2 * len(row.ids))
        return row

    def shown(self, draft: Draft, logits: np.ndarray, own: Tokens) -> tuple[tuple[Row, ...], tuple[Row, ...]]:
        """Nothing: nobody looks at a sample's rows."""
        return (), ()
