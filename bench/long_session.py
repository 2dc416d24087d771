"""A session of many rounds with rows as wide as a store keeps: the real loop over toy models that answer
at once. For measuring the screen and the store."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from engine.core import warp
from engine.core.events import PromptRead, SessionFinished, SessionStarted
from engine.core.loop import Generation, Plan
from engine.core.types import Address, Draft, Sampling
from engine.rules import get
from storage import Store

VOCAB = 2048
SAMPLING = Sampling(temperature=0.8)


def logits(context: tuple[int, ...], mixed: float) -> np.ndarray:
    """Another row after every pair of tokens; `mixed` is how much noise of its own a drafter adds."""
    row = np.random.default_rng([1, *context[-2:]]).normal(0, 2.2, VOCAB)
    if mixed:
        row = row + np.random.default_rng([2, *context[-2:]]).normal(0, mixed, VOCAB)
    return row.astype(np.float32)


class Target:
    """A scorer whose cache is the list of what it was fed."""

    vocab = VOCAB

    def prefill(self, tokens: tuple[int, ...]) -> int:
        self.fed = list(tokens[:-1])
        return 0

    def score(self, tokens: tuple[int, ...]) -> np.ndarray:
        rows = []
        for token in tokens:
            self.fed.append(token)
            rows.append(logits(tuple(self.fed[-2:]), 0.0))
        return np.stack(rows)

    def rewind(self, n: int) -> None:
        del self.fed[len(self.fed) - n :]


class Noisy:
    """A drafter of the same rows with noise."""

    kind = "toy"

    def start(self, prompt: tuple[int, ...]) -> None:
        self.prompt = prompt

    def propose(self, context, k, sampling, coins) -> Draft:
        tokens, rows = [], []
        before = (*self.prompt, *context)[-2:]
        for i in range(k):
            rows.append(warp.effective(logits((*before, *tokens), 0.8), sampling.mirrored()))
            tokens.append(coins.choose(rows[-1], Address("draft", len(context) + i)))
        return Draft(tuple(tokens), tuple(rows))

    def commit(self, tokens: tuple[int, ...]) -> None:
        """What it needs comes with the context."""


def write(path: Path, rounds: int) -> int:
    """Store a session of so many rounds; its id."""
    started = SessionStarted(
        prompt=f"{rounds} rounds",
        raw=True,
        target="toy",
        drafter="toy",
        rule="stochastic",
        params={},
        asked="stochastic",
        reason="",
        sampling=SAMPLING,
        seed=7,
        k=4,
        max_tokens=10 * rounds,
    )
    with Store.open(path) as store:
        session_id = store.create(started)
        store.add_pieces("long", {token: f" w{token}".encode() for token in range(VOCAB)})
        store.append(session_id, PromptRead((1, 2), 1.0, VOCAB, "long"))
        target, drafter = Target(), Noisy()
        target.prefill((1, 2))
        drafter.start((1, 2))
        plan = Plan((1, 2), get("stochastic"), SAMPLING, started.seed, started.k, started.max_tokens)
        never = lambda *_: False  # noqa: E731
        for done in Generation(plan, drafter, target, never, never):
            if done.index == rounds:
                break
            store.append(session_id, done)
        store.append(session_id, SessionFinished("finished", f"{rounds} rounds", 1.0))
    return session_id
