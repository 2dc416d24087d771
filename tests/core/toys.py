"""Toy models for the loop: logits that depend on every token before, and caches that forgive nothing."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import cache

import numpy as np

from engine.core import loop, rows, warp
from engine.core.events import Round
from engine.core.types import Address, Coins, Draft, Sampling

Logits = Callable[[tuple[int, ...]], np.ndarray]  # every token before -> float32[V]

PROMPT = (0, 1)


def random_logits(seed: int, vocab: int, spread: float = 1.0) -> Logits:
    """Another row after every sequence."""

    @cache
    def row(tokens: tuple[int, ...]) -> np.ndarray:
        rng = np.random.default_rng([seed, zlib.crc32(bytes(tokens))])
        return (spread * rng.normal(size=vocab)).astype(np.float32)

    return lambda tokens: row(tokens).copy()


def certain_of(text: tuple[int, ...], vocab: int, prompt: tuple[int, ...] = PROMPT) -> Logits:
    """Logits with their argmax on the text's next token; token 0 behind its end."""

    def logits(tokens: tuple[int, ...]) -> np.ndarray:
        position = len(tokens) - len(prompt)
        row = np.zeros(vocab, dtype=np.float32)
        row[text[position] if position < len(text) else 0] = 9.0
        return row

    return logits


class ToyScorer:
    """A target whose cache is the list of the tokens it was fed."""

    def __init__(self, logits: Logits) -> None:
        self.logits = logits
        self.vocab = len(logits(()))
        self.held: list[int] = []
        self.widths: list[int] = []  # rows of each pass

    def prefill(self, tokens: tuple[int, ...]) -> int:
        self.held = list(tokens[:-1])
        return 0

    def score(self, tokens: tuple[int, ...]) -> np.ndarray:
        first = len(self.held)
        self.held.extend(tokens)
        self.widths.append(len(tokens))
        return np.stack([self.logits(tuple(self.held[: first + i + 1])) for i in range(len(tokens))])

    def rewind(self, n: int) -> None:
        assert 0 <= n <= len(self.held), f"cannot take back {n} of {len(self.held)}"
        del self.held[len(self.held) - n :]


class ToyDrafter:
    """A drafter that feeds what it owes, and refuses a context that its commits did not announce."""

    kind = "toy"

    def __init__(self, logits: Logits) -> None:
        self.logits = logits
        self.held: list[int] = []
        self.sequence: list[int] = []
        self.prompt: tuple[int, ...] = ()
        self.commits: list[tuple[int, ...]] = []
        self.asked: list[int] = []  # k of each proposal

    def start(self, prompt: tuple[int, ...]) -> None:
        self.prompt, self.sequence, self.held = tuple(prompt), list(prompt), list(prompt[:-1])
        self.commits, self.asked = [], []

    def propose(self, context: tuple[int, ...], k: int, sampling: Sampling, coins: Coins) -> Draft:
        assert [*self.prompt, *context] == self.sequence, "the context is not what was committed"
        assert self.held == self.sequence[: len(self.held)], "the cache holds tokens that were not emitted"
        self.asked.append(k)
        owed = self.sequence[len(self.held) :]
        assert owed, "the cache has no token left to feed"
        tokens, q = (), ()
        for i in range(k):
            self.held.extend(owed)
            row = warp.effective(self.logits(tuple(self.held)), sampling.mirrored())
            owed = [coins.choose(row, Address("draft", len(context) + i))]
            tokens, q = (*tokens, *owed), (*q, row)
        return Draft(tokens, q)

    def commit(self, tokens: tuple[int, ...]) -> None:
        self.commits.append(tokens)
        self.sequence.extend(tokens)
        while self.held != self.sequence[: len(self.held)] or len(self.held) >= len(self.sequence):
            self.held.pop()


class TextDrafter(ToyDrafter):
    """Proposes the tokens of a text by position, each one certain, fewer where the text ends."""

    def __init__(self, text: tuple[int, ...], vocab: int) -> None:
        super().__init__(certain_of(text, vocab))
        self.text, self.vocab = text, vocab

    def propose(self, context: tuple[int, ...], k: int, sampling: Sampling, coins: Coins) -> Draft:
        assert [*self.prompt, *context] == self.sequence
        self.asked.append(k)
        q = tuple(rows.one_hot(token, self.vocab) for token in self.text[len(context) :][:k])
        tokens = tuple(coins.choose(r, Address("draft", len(context) + i)) for i, r in enumerate(q))
        return Draft(tokens, q)


def plan(rule, *, k=3, max_tokens=12, seed=0, prompt=PROMPT, **sampling) -> loop.Plan:
    return loop.Plan(prompt, rule, Sampling(**{"temperature": 1.0} | sampling), seed, k, max_tokens)


def play(asked: loop.Plan, drafter: ToyDrafter, scorer: ToyScorer, **settings) -> list[Round]:
    """Run a generation to its end, looking into both caches after every round."""
    scorer.prefill(asked.prompt)
    drafter.start(asked.prompt)
    done: list[Round] = []
    sequence = list(asked.prompt)
    for played in loop.Generation(asked, drafter, scorer, **settings):
        assert played.index == len(done)
        assert played.block.start == len(sequence) - len(asked.prompt)
        sequence.extend(played.emitted)
        done.append(played)
        ended = played.verdict.next_source == "ended"
        assert scorer.held == (sequence if ended else sequence[:-1]), "the target's cache is off"
        assert drafter.sequence == sequence, "the drafter was not told what was emitted"
    return done


def output(done: list[Round]) -> tuple[int, ...]:
    return tuple(token for played in done for token in played.emitted)
