"""Prompt lookup: when the last few tokens stood somewhere before, propose what followed them there.

Saxena 2023, "Prompt Lookup Decoding". Costs no model pass. Each proposal is certain of itself, so q is
one-hot. The longest suffix wins (3 tokens, then 2, then 1), and of its occurrences the most recent:
what a text did last is the better guess of what it does next. Where nothing matches, nothing is proposed.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.core import rows
from engine.core.types import Address, Coins, Draft, Row, Sampling

MAX_NGRAM = 3


def continuation(tokens: Sequence[int], k: int, max_ngram: int = MAX_NGRAM) -> tuple[int, ...]:
    """At most k tokens that followed the most recent earlier occurrence of the longest matching suffix."""
    tokens = tuple(tokens)
    for n in range(min(max_ngram, len(tokens) - 1), 0, -1):
        suffix = tokens[-n:]
        for start in range(len(tokens) - n - 1, -1, -1):
            if tokens[start : start + n] == suffix:
                return tokens[start + n : start + n + k]
    return ()


class LookupDrafter:
    """Proposes what the prompt and the output so far repeat. `vocab` is the target's width."""

    kind = "lookup"

    def __init__(self, vocab: int, max_ngram: int = MAX_NGRAM) -> None:
        self.vocab = vocab
        self.max_ngram = max_ngram
        self.prompt: tuple[int, ...] = ()

    def start(self, prompt: tuple[int, ...]) -> None:
        self.prompt = tuple(prompt)

    def propose(self, context: tuple[int, ...], k: int, sampling: Sampling, coins: Coins) -> Draft:
        tokens: list[int] = []
        q: list[Row] = []
        for i, found in enumerate(continuation((*self.prompt, *context), k, self.max_ngram)):
            row = rows.one_hot(found, self.vocab)
            tokens.append(coins.choose(row, Address("draft", len(context) + i)))
            q.append(row)
        return Draft(tuple(tokens), tuple(q))

    def commit(self, tokens: tuple[int, ...]) -> None:
        """Nothing to follow: every proposal reads the whole sequence."""
