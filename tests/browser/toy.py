"""The real controller, store, worker and loop over the toy chains of tests.browser.fake: all of a screen but
MLX, at any pace. A gate lets a test hold every run before a round; loading can be held as well."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from engine.models import Pair, Progress
from engine.worker import Worker
from inspector.controller import Controller
from storage import Store
from tests.browser.fake import END, IDS, PIECES, Chain, ToyDrafter, ToyScorer


class ToyText:
    """Any prompt is one word; the tokens are the words of the toy's text."""

    special_ids = frozenset({END})

    def encode(self, prompt: str, raw: bool) -> tuple[int, ...]:
        return (IDS[b" The"],)

    def pieces(self, ids) -> dict[int, bytes]:
        return {token: PIECES[token] for token in ids}


@dataclass
class ToyTarget:
    text: ToyText = field(default_factory=ToyText)
    vocab: int = len(PIECES)
    eos_ids: frozenset = frozenset({END})
    context_length: int | None = None
    fingerprint: str = "toy"


class HeldScorer(ToyScorer):
    def prefill(self, tokens: tuple[int, ...]) -> int:
        super().prefill(tokens)
        return 0


class PacedDrafter(ToyDrafter):
    """Waits at the gate before each round, and `pace` seconds in it."""

    def __init__(self, chain: Chain, worker: ToyWorker) -> None:
        super().__init__(chain)
        self.worker = worker
        self.round = 0

    def start(self, prompt: tuple[int, ...]) -> None:
        super().start(prompt)
        self.round = 0

    def propose(self, context, k, sampling, coins):
        self.worker.wait(self.round)
        self.round += 1
        time.sleep(self.worker.pace)
        return super().propose(context, k, sampling, coins)


class ToyModels:
    def __init__(self, worker: ToyWorker) -> None:
        self.worker = worker

    def pair(self, target: str, drafter: str, progress: Progress) -> Pair:
        while self.worker.loading:
            progress(*self.worker.loading)
            time.sleep(0.02)
        scorer = HeldScorer(Chain(9.0, 1, self.worker.hostile))
        paced = PacedDrafter(Chain(1.5, 2, self.worker.hostile), self.worker)
        return Pair(ToyTarget(), scorer, paced, {"toy": "1"})

    def close(self) -> None:
        """Nothing to let go of."""


class ToyWorker(Worker):
    """`hold(n)` stops every run before round n until `release()`; while `loading` is set, models load and
    say so; `pace` is seconds a round."""

    def __init__(self, pace: float = 0.0, hostile: float = 0.0) -> None:
        super().__init__()
        self.pace, self.hostile = pace, hostile
        self.loading: tuple[str, float | None] | None = None
        self.limit: int | None = None
        self.gate = threading.Condition()

    def hold(self, n: int) -> None:
        self.limit = n

    def release(self) -> None:
        with self.gate:
            self.limit = None
            self.gate.notify_all()

    def wait(self, round_index: int) -> None:
        def open_now() -> bool:
            task = self._current
            stopped = getattr(task, "cancelled", None) is not None and task.cancelled.is_set()
            return self.limit is None or round_index < self.limit or stopped

        with self.gate:
            while not self.gate.wait_for(open_now, timeout=0.05):
                pass

    def _work(self) -> None:
        with closing(ToyModels(self)) as models:
            while job := self._next():
                job(models)


@contextmanager
def open_toy(path: Path, pace: float = 0.0, hostile: float = 0.0) -> Iterator[Controller]:
    """A controller over a new database, closed at the end with its store."""
    with Store.open(path) as store, closing(Controller(store, ToyWorker(pace, hostile))) as controller:
        yield controller


def run(controller: Controller, **settings) -> int:
    """Run a session to its end; its id."""
    form = controller.choices()["defaults"] | {"prompt": "Tell me about the cat and the dog.", **settings}
    session_id = controller.start(form)
    controller.wait(session_id)
    return session_id
