"""Models that only count, and a sink that keeps what it hears."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

import numpy as np

from engine import worker
from engine.core import warp
from engine.core.events import Event, Round, SessionFinished
from engine.core.types import Address, Draft, Sampling

WAIT_S = 60
VOCAB = 8


@dataclass
class Ear:
    """A sink that keeps events and the threads they came from; `on_event` may act on one."""

    events: list[Event] = field(default_factory=list)
    threads: set[int] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    on_event: object = None

    def tokenizer(self, fingerprint, pieces) -> None:
        self.threads.add(threading.get_ident())

    def event(self, event: Event) -> None:
        self.threads.add(threading.get_ident())
        self.names.add(threading.current_thread().name)
        self.events.append(event)
        if self.on_event:
            self.on_event(event)

    @property
    def rounds(self) -> list[Round]:
        return [event for event in self.events if isinstance(event, Round)]

    @property
    def end(self) -> SessionFinished:
        return self.events[-1]


class Words:
    special_ids = frozenset()

    def encode(self, prompt: str, raw: bool) -> tuple[int, ...]:
        return tuple(range(len(prompt.split())))

    def pieces(self, ids):
        return {i: bytes([97 + i]) for i in ids}


@dataclass
class Target:
    name: str = "fake"
    text: Words = field(default_factory=Words)
    vocab: int = VOCAB
    eos_ids: frozenset = frozenset()
    context_length: int | None = 100
    fingerprint: str = "words"


class FlatScorer:
    vocab = VOCAB

    def prefill(self, tokens) -> int:
        """Nothing to read."""
        return 0

    def score(self, tokens) -> np.ndarray:
        return np.zeros((len(tokens), VOCAB), dtype=np.float32)

    def rewind(self, n) -> None:
        """Nothing to take back."""


class CountingDrafter:
    """Drafts from a flat row and counts its steps; `hook(step)` runs before each draw."""

    kind = "counting"

    def __init__(self) -> None:
        self.steps = 0
        self.hook = lambda step: None
        self.thread: int | None = None

    def start(self, prompt) -> None:
        self.thread = threading.get_ident()

    def propose(self, context, k, sampling, coins) -> Draft:
        tokens, rows = [], []
        for i in range(k):
            self.steps += 1
            self.hook(self.steps)
            row = warp.effective(np.zeros(VOCAB, dtype=np.float32), Sampling(temperature=1.0))
            tokens.append(coins.choose(row, Address("draft", len(context) + i)))
            rows.append(row)
        return Draft(tuple(tokens), tuple(rows))

    def commit(self, tokens) -> None:
        """Nothing to follow."""


@dataclass
class FakeModels:
    """Stands where the worker makes its Models; `load` may block or raise."""

    drafter: CountingDrafter = field(default_factory=CountingDrafter)
    load: object = None
    closed: bool = False

    def pair(self, target, drafter, progress) -> worker.Pair:
        progress("Loading fake", None)
        if self.load:
            self.load(progress)
        return worker.Pair(Target(), FlatScorer(), self.drafter, {"fake": "1"})

    def close(self) -> None:
        self.closed = True
