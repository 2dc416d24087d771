"""Several sessions at once over one pair: their passes are run together, everything else is each one's own.

Every session runs as it would alone, in the thread of its lane; the worker's thread, which owns the models,
answers the lanes' passes when all of them wait for one (engine.lockstep, engine.mlx_backend.lanes). A lane
whose session has ended, or failed, takes the next one. A stop ends all of them, and finished rounds stay.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

from engine.core import loop
from engine.core.events import Event, SessionFinished
from engine.core.types import within
from engine.errors import BadSetting
from engine.lockstep import Lockstep
from engine.models import Models, Pair
from engine.worker import Run, Sink, Task, conclude, execute, finish, prompt_tokens, told

log = logging.getLogger(__name__)

MAX_LANES = 64


@dataclass
class InTurn:
    """A sink that events reach one at a time, from whichever lane they come."""

    sink: Sink
    turn: threading.Lock

    def tokenizer(self, fingerprint: str, pieces: Callable[[], dict[int, bytes]]) -> None:
        with self.turn:
            self.sink.tokenizer(fingerprint, pieces)

    def event(self, event: Event) -> None:
        with self.turn:
            self.sink.event(event)


@dataclass(eq=False)
class Batch(Task):
    """Sessions that share their target and drafter, `lanes` of them at a time, begun in order. They are
    stopped together: each has the batch's flag.

    Where passes cannot be shared, the sessions run one after another and `unbatched` says why; it is empty
    otherwise, and for a single lane. Raises BadSetting for no session, too many lanes, or different models.
    """

    runs: tuple[Run, ...]
    lanes: int
    unbatched: str = ""
    progress: str = "Starting"
    cancelled: threading.Event = field(default_factory=threading.Event)
    done: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        if not self.runs:
            raise BadSetting("A batch of 0 sessions.", "Give at least one.")
        within("lanes", self.lanes, 1, MAX_LANES)
        models = {(run.started.target, run.started.drafter) for run in self.runs}
        if len(models) > 1:
            raise BadSetting("The sessions of a batch have different models.", "Batch those of one pair.")
        turn = threading.Lock()
        for run in self.runs:
            run.cancelled = self.cancelled
            run.sink = InTurn(run.sink, turn)

    def execute(self, models: Models) -> None:
        try:
            self.progress = f"Running {len(self.runs)} sessions"
            pair = self._shared(models) if min(self.lanes, len(self.runs)) > 1 else None
            if pair is None:
                for run in self.runs:
                    execute(run, models)
            else:
                together(self.runs, pair, self.lanes, self.cancelled)
        finally:
            self.progress = ""
            self.done.set()

    def _shared(self, models: Models) -> Pair | None:
        """The pair, where its passes can be shared. None where a session would not even load it: what is
        wrong then, each session says for itself."""
        from engine.mlx_backend import lanes

        started = self.runs[0].started
        try:
            self.check()
            pair = models.pair(started.target, started.drafter, self.loading)
            self.unbatched = lanes.refusal(pair)
        except Exception:
            return None
        return None if self.unbatched else pair

    def withdraw(self) -> None:
        for run in self.runs:
            run.withdraw()
        self.done.set()


def together(runs: tuple[Run, ...], pair: Pair, n_lanes: int, cancelled: threading.Event) -> None:
    """Run sessions over shared passes, on the thread that owns the models."""
    from engine.mlx_backend.lanes import Lanes

    waiting_runs = deque(run for run in runs if begins(run, pair))
    n_lanes = min(n_lanes, len(waiting_runs))
    lanes = Lanes(pair, n_lanes)
    step: Lockstep = Lockstep(n_lanes)
    threads = [
        threading.Thread(
            target=play,
            args=(waiting_runs, lanes.pair(n, partial(step.ask, n)), partial(step.leave, n)),
            name=f"draftscope-lane-{n}",
            daemon=True,
        )
        for n in range(n_lanes)
    ]
    for thread in threads:
        thread.start()
    while waiting := step.waiting():
        turn = lanes.turn(waiting.values())
        try:
            if cancelled.is_set():
                raise loop.Cancelled
            replies = lanes.answers(turn)
        except Exception as error:
            for ask in turn:
                step.refuse(ask.lane, error)
        else:
            for ask, reply in zip(turn, replies, strict=True):
                step.reply(ask.lane, reply)
    for thread in threads:
        thread.join()


def begins(run: Run, pair: Pair) -> bool:
    """Turn the prompt into tokens here: a tokenizer is not for several threads. One that is refused ends its
    session."""
    try:
        run.prompt, run.tokenizer = prompt_tokens(run, pair), pair.target.fingerprint
    except Exception as error:
        finish(run, SessionFinished("failed", told(error), 0.0))
        return False
    return True


def play(runs: deque[Run], pair: Pair, leave: Callable[[], None]) -> None:
    """One lane, on its thread: run after run, until none is left."""
    try:
        for run in taken(runs):
            play_one(run, pair)
    finally:
        leave()


def taken(runs: deque[Run]) -> Iterator[Run]:
    """The next run, as long as other lanes leave one."""
    while True:
        try:
            yield runs.popleft()
        except IndexError:
            return


def play_one(run: Run, pair: Pair) -> None:
    def load() -> Pair:
        run.check()
        return pair

    try:
        conclude(run, load)
    except Exception:
        log.exception("The batch goes on after a session that could not be finished")
