"""The drafter that never drafts: plain decoding, one target pass a token."""

from __future__ import annotations

from engine.core.types import Coins, Draft, Sampling


class NoDrafter:
    kind = "none"

    def start(self, prompt: tuple[int, ...]) -> None:
        """Nothing to read."""

    def propose(self, context: tuple[int, ...], k: int, sampling: Sampling, coins: Coins) -> Draft:
        return Draft((), ())

    def commit(self, tokens: tuple[int, ...]) -> None:
        """Nothing to follow."""
