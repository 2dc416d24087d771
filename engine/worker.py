"""One thread owns the models and runs sessions one after another; everybody else talks to it by queue.

MLX arrays and streams belong to the thread that made them, so nothing but numbers and events leaves here.
Events go to the job's `sink`, in order, from this thread: a session goes on when whoever asked for it is
gone. Nothing in this file is imported from MLX until the thread needs it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from engine import rules
from engine.core import loop
from engine.core.ending import Ending
from engine.core.events import Event, PromptRead, SessionFinished, SessionStarted
from engine.errors import EngineError, ModelError
from engine.models import Models, Pair

log = logging.getLogger(__name__)


class Sink(Protocol):
    """Where a run's events go. Called on the worker's thread."""

    def tokenizer(self, fingerprint: str, pieces: Callable[[], dict[int, bytes]]) -> None:
        """The tokenizer the session uses; `pieces` gives the bytes of its every token."""

    def event(self, event: Event) -> None:
        """The next event after SessionStarted."""


@dataclass(eq=False)
class Run:
    """A session on its way.

    A re-run repeats the tokens of its parent: `prompt`, which belong to the tokenizer of that fingerprint.
    """

    started: SessionStarted
    sink: Sink
    prompt: tuple[int, ...] | None = None
    tokenizer: str = ""
    progress: str = "Waiting for the run before"
    cancelled: threading.Event = field(default_factory=threading.Event)
    done: threading.Event = field(default_factory=threading.Event)

    def note(self, message: str, fraction: float | None = None) -> None:
        """What it is doing, for whoever looks."""
        self.progress = message if fraction is None else f"{message} ({fraction:.0%})"


class Worker:
    """The queue and its thread, which starts with the first job and dies with the program."""

    def __init__(self) -> None:
        self._jobs: deque[Callable[[Models], None]] = deque()
        self._waiting: dict[Run, Callable[[Models], None]] = {}
        self._change = threading.Condition()
        self._thread: threading.Thread | None = None

    def submit(self, run: Run) -> None:
        """Queue a run behind those before it."""

        def job(models: Models) -> None:
            with self._change:
                self._waiting.pop(run, None)
            execute(run, models)

        self._waiting[run] = job
        self._add(job)

    def warm(self, target: str, drafter: str, note: Callable[[str], None]) -> None:
        """Load a pair before anyone asks for it; what goes wrong is told to `note`."""

        def job(models: Models) -> None:
            try:
                models.pair(target, drafter, lambda message, fraction: note(message))
                note("")
            except EngineError as error:
                note(str(error))

        self._add(job)

    def stop(self, run: Run) -> None:
        """End a run: within one draft step, at once when it is still waiting."""
        run.cancelled.set()
        with self._change:
            job = self._waiting.pop(run, None)
            if job in self._jobs:
                self._jobs.remove(job)
            else:
                job = None
        if job:
            finish(run, SessionFinished("stopped", "stopped before it began", 0.0))

    def _add(self, job: Callable[[Models], None]) -> None:
        with self._change:
            self._jobs.append(job)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="draftscope-worker", daemon=True)
                self._thread.start()
            self._change.notify()

    def _work(self) -> None:
        models = Models()
        while True:
            with self._change:
                self._change.wait_for(lambda: self._jobs)
                job = self._jobs.popleft()
            try:
                job(models)
            except Exception:
                log.exception("The worker goes on after a job that failed")


def execute(run: Run, models: Models) -> None:
    """Run a session to its end, whatever the end is; the sink always gets a SessionFinished."""
    begun = time.perf_counter()
    try:
        if run.cancelled.is_set():
            raise loop.Cancelled
        pair = models.pair(run.started.target, run.started.drafter, run.note)
        begun = time.perf_counter()
        status, reason = "finished", generate(run, pair)
    except loop.Cancelled:
        status, reason = "stopped", "stopped by hand"
    except EngineError as error:
        status, reason = "failed", str(error)
    except Exception as error:
        log.exception("Session failed")
        status, reason = "failed", f"Unexpected {type(error).__name__}: {error}"
    finish(run, SessionFinished(status, reason, 1e3 * (time.perf_counter() - begun)))


def finish(run: Run, event: SessionFinished) -> None:
    try:
        run.sink.event(event)
    finally:
        run.note("")
        run.done.set()


def generate(run: Run, pair: Pair) -> str:
    """Read the prompt, yield the rounds to the sink; returns the reason the text ended."""
    started, target = run.started, pair.target
    run.sink.tokenizer(target.fingerprint, lambda: target.text.pieces(range(target.vocab)))
    prompt = prompt_tokens(run, pair)
    run.note("Reading the prompt")
    begun = time.perf_counter()
    pair.scorer.prefill(prompt)
    pair.drafter.start(prompt)
    ms = 1e3 * (time.perf_counter() - begun)
    special = tuple(sorted(target.text.special_ids))
    run.sink.event(PromptRead(prompt, ms, target.vocab, target.fingerprint, special, pair.versions))
    ending = Ending(target.eos_ids, started.stop, target.text.pieces)
    rule = rules.get(started.rule, **started.params)
    plan = loop.Plan(prompt, rule, started.sampling, started.seed, started.k, started.max_tokens)
    generation = loop.Generation(plan, pair.drafter, pair.scorer, ending.reached, run.cancelled.is_set)
    run.note("Generating")
    for done in generation:
        run.sink.event(done)
    return ending.reason(generation.output) or f"{started.max_tokens} tokens"


def prompt_tokens(run: Run, pair: Pair) -> tuple[int, ...]:
    """The prompt's tokens, checked against what the target can hold.

    Raises ModelError for a re-run whose tokens belong to another tokenizer, BadSetting for an empty prompt.
    """
    started, target = run.started, pair.target
    if run.prompt is not None and run.tokenizer != target.fingerprint:
        raise ModelError(
            f"{started.target} now has another tokenizer than when the session ran.",
            "Start a new session with the prompt.",
        )
    prompt = target.text.encode(started.prompt, started.raw) if run.prompt is None else run.prompt
    room = target.context_length
    if room is not None and len(prompt) + started.max_tokens > room:
        raise ModelError(
            f"The prompt has {len(prompt)} tokens, and with {started.max_tokens} more it passes the "
            f"{room} that {started.target} holds.",
            "Shorten the prompt or ask for fewer tokens.",
        )
    return prompt
