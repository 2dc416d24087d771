"""The drafter that runs a model: each proposed token is drawn from the model's own effective row."""

from __future__ import annotations

from dataclasses import replace

from engine.core import warp
from engine.core.types import Address, Coins, Draft, Row, Sampling
from engine.mlx_backend.pairing import Shared
from engine.mlx_backend.scorer import CachedModel


class ModelDrafter:
    """A draft model with its cache, which holds the emitted sequence less what it still owes.

    Whatever interrupts a proposal, the cache's own list of tokens stays true, and the next use rewinds to
    what it shares with the sequence.
    """

    def __init__(self, kind: str, cached: CachedModel, shared: Shared) -> None:
        self.kind = kind
        self.cached = cached
        self.shared = shared
        self.prompt: tuple[int, ...] = ()
        self.sequence: list[int] = []  # prompt and output

    @property
    def limit(self) -> int | None:
        """The most tokens its cache can hold."""
        return self.cached.limit

    def start(self, prompt: tuple[int, ...]) -> None:
        self.prompt = tuple(prompt)
        self.sequence = list(prompt)
        self.cached.begin(prompt)

    def propose(self, context: tuple[int, ...], k: int, sampling: Sampling, coins: Coins) -> Draft:
        self.sequence = [*self.prompt, *context]
        if k == 0:
            return Draft((), ())
        mirrored = sampling.mirrored()
        owed = self.cached.catch_up(self.cached.follow(self.sequence))
        tokens: list[int] = []
        q: list[Row] = []
        raw: list[Row] = []
        for i in range(k):
            logits = self.shared.masked(self.cached.feed(owed)[-1])
            row = replace(warp.effective(logits, mirrored), vocab=self.shared.vocab)
            x = coins.choose(row, Address("draft", len(context) + i))
            if mirrored.filters:
                raw.append(replace(warp.raw(logits, (x,)), vocab=self.shared.vocab))
            tokens.append(x)
            q.append(row)
            owed = (x,)
        return Draft(tuple(tokens), tuple(q), tuple(raw))

    def commit(self, tokens: tuple[int, ...]) -> None:
        self.sequence.extend(tokens)
        self.cached.follow(self.sequence)
