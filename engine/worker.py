"""One thread owns the models and runs sessions one after another; everybody else talks to it by queue.

MLX arrays and streams belong to the thread that made them, so nothing but numbers and events leaves here.
Events go to the job's `sink`, in order, from this thread: a session goes on when whoever asked for it is
gone. Nothing in this file is imported from MLX until the thread needs it.
"""

from __future__ import annotations

import logging
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from typing import Protocol

from engine import faults, rules
from engine.core import loop, stopping
from engine.core.ending import Ending
from engine.core.events import Event, PromptRead, SessionFinished, SessionStarted
from engine.errors import BadSetting, EngineError, ModelError
from engine.models import Models, Pair

log = logging.getLogger(__name__)

Job = Callable[[Models], None]


class Sink(Protocol):
    """Where a run's events go. Called on the worker's thread, or on the run's own in a batch."""

    def tokenizer(self, fingerprint: str, pieces: Callable[[], dict[int, bytes]]) -> None:
        """The tokenizer the session uses; `pieces` gives the bytes of its every token."""

    def event(self, event: Event) -> None:
        """The next event after SessionStarted."""


class Task(ABC):
    """Work on the models that somebody waits for and can stop.

    `progress` says in a phrase what it is doing; empty once it has ended.
    """

    progress: str
    cancelled: threading.Event
    done: threading.Event

    @abstractmethod
    def execute(self, models: Models) -> None:
        """Do it, on the worker's thread. Sets `done`, whatever happens."""

    @abstractmethod
    def withdraw(self) -> None:
        """It was stopped while it waited, and will not be executed."""

    def check(self) -> None:
        """Raise Cancelled once somebody has stopped it."""
        if self.cancelled.is_set():
            raise loop.Cancelled

    def loading(self, message: str, fraction: float | None) -> None:
        """The progress of loading, which a stop interrupts at its next report."""
        self.check()
        self.progress = phrase(message, fraction)


@dataclass(eq=False)
class Run(Task):
    """A session on its way.

    A re-run repeats the tokens of its parent: `prompt`, which belong to the tokenizer of that fingerprint.
    """

    started: SessionStarted
    sink: Sink
    prompt: tuple[int, ...] | None = None
    tokenizer: str = ""
    progress: str = "Starting"
    cancelled: threading.Event = field(default_factory=threading.Event)
    done: threading.Event = field(default_factory=threading.Event)

    def execute(self, models: Models) -> None:
        execute(self, models)

    def withdraw(self) -> None:
        finish(self, SessionFinished("stopped", "stopped before it began", 0.0))


def phrase(message: str, fraction: float | None) -> str:
    """A loading step as people read it."""
    return message if fraction is None else f"{message} ({fraction:.0%})"


class Worker:
    """The queue and its thread, which starts with the first job and ends with `close`."""

    def __init__(self) -> None:
        self._jobs: dict[object, Job] = {}  # in the order they came; a task's job has the task as its key
        self._current: object = None
        self._change = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False

    def submit(self, task: Task) -> None:
        """Queue a run or another task behind those before it."""
        with self._change:
            ahead = [*self._jobs, self._current]
            if any(isinstance(key, Task) for key in ahead):
                task.progress = "Waiting for the run before"
            elif ahead != [None]:
                task.progress = "Waiting for the models"
            self._add(task, task.execute)

    def warm(self, target: str, drafter: str, note: Callable[[str], None]) -> None:
        """Load a pair before anyone asks for it; `note` is told how far it is, "" at the end, or what went
        wrong."""

        def job(models: Models) -> None:
            try:
                models.pair(target, drafter, lambda message, fraction: note(phrase(message, fraction)))
                note("")
            except Exception as error:
                note(told(error))

        with self._change:
            self._add(object(), job)

    def stop(self, task: Task) -> None:
        """End a run or another task: within one draft step, at once when it is still waiting."""
        task.cancelled.set()
        with self._change:
            waiting = self._jobs.pop(task, None)
        if waiting:
            task.withdraw()

    def close(self) -> None:
        """Stop everything and end the thread. A load under way is waited for."""
        with self._change:
            self._closed = True
            tasks = [key for key in (*self._jobs, self._current) if isinstance(key, Task)]
            self._change.notify()
        for task in tasks:
            self.stop(task)
        if self._thread is not None:
            self._thread.join()

    def _add(self, key: object, job: Job) -> None:
        if self._closed:
            raise EngineError("The program is closing.", "Start it again.")
        self._jobs[key] = job
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="draftscope-worker", daemon=True)
            self._thread.start()
        self._change.notify()

    def _work(self) -> None:
        with closing(Models()) as models:
            while job := self._next():
                try:
                    job(models)
                except Exception:
                    log.exception("The worker goes on after a job that failed")

    def _next(self) -> Job | None:
        """Wait for a job; None once the worker is closed."""
        with self._change:
            self._current = None
            self._change.wait_for(lambda: self._jobs or self._closed)
            if self._closed:
                return None
            self._current = next(iter(self._jobs))
            return self._jobs.pop(self._current)


def execute(run: Run, models: Models) -> None:
    """Run a session to its end, whatever the end is; the sink always gets a SessionFinished."""

    def load() -> Pair:
        run.check()
        run.progress = "Starting"
        return models.pair(run.started.target, run.started.drafter, run.loading)

    conclude(run, load)


def conclude(run: Run, load: Callable[[], Pair]) -> None:
    """Run a session on the pair that `load` gives, to its end, whatever the end is."""
    begun = None
    try:
        pair = load()
        begun = time.perf_counter()
        status, reason = "finished", generate(run, pair)
    except Exception as error:
        # What a stop broke off (a download, say) may come back as another error than Cancelled.
        by_hand = run.cancelled.is_set()
        status, reason = ("stopped", "stopped by hand") if by_hand else ("failed", told(error))
    ms = 0.0 if begun is None else 1e3 * (time.perf_counter() - begun)
    finish(run, SessionFinished(status, reason, ms))


def told(error: Exception) -> str:
    """An error for whoever waits. One nobody foresaw is also logged with its trace."""
    if isinstance(error, EngineError):
        return str(error)
    log.error("Unexpected error", exc_info=error)
    return f"Unexpected {type(error).__name__}: {error}"


def finish(run: Run, event: SessionFinished) -> None:
    try:
        run.sink.event(event)
    finally:
        run.progress = ""
        run.done.set()


def generate(run: Run, pair: Pair) -> str:
    """Read the prompt, give the rounds to the sink; returns the reason the text ended."""
    started, target = run.started, pair.target
    prompt = prompt_tokens(run, pair)
    pair, fault = faults.switched(started.fault, pair), faults.find(started.fault)
    check_bias(started, target.vocab)
    run.sink.tokenizer(target.fingerprint, lambda: target.text.pieces(range(target.vocab)))
    run.progress = "Reading the prompt"
    begun = time.perf_counter()
    with stopping.while_asking(run.check):
        cached = pair.scorer.prefill(prompt + started.forced)
        run.check()
        pair.drafter.start(prompt)
        if started.forced:
            pair.drafter.commit(started.forced)
    ms = 1e3 * (time.perf_counter() - begun)
    special = tuple(sorted(target.text.special_ids | target.eos_ids))
    run.sink.event(PromptRead(prompt, ms, target.vocab, target.fingerprint, special, pair.versions, cached))
    ending = Ending(target.eos_ids, started.stop, target.text.pieces)
    rule = rules.get(started.rule, **started.params)
    plan = loop.Plan(prompt, rule, started.sampling, started.seed, started.k, started.max_tokens)
    generation = fault.generation(
        plan,
        pair.drafter,
        pair.scorer,
        ending.reached,
        run.cancelled.is_set,
        output=started.forced,
        matrix_rules=rules.with_own(rule),
        drafted=started.attempts,
    )
    run.progress = "Generating"
    for done in generation:
        run.sink.event(done)
    return ending.reason(generation.output) or f"{started.max_tokens} tokens"


def prompt_tokens(run: Run, pair: Pair) -> tuple[int, ...]:
    """The prompt's tokens, checked against what target and drafter can hold.

    Raises ModelError for a re-run whose tokens belong to another tokenizer, BadSetting for a prompt that is
    empty or too long.
    """
    started, target = run.started, pair.target
    if run.prompt is not None and run.tokenizer != target.fingerprint:
        raise ModelError(
            f"{started.target} now has another tokenizer than when the session ran.",
            "Start a new session with the prompt.",
        )
    prompt = target.text.encode(started.prompt, started.raw) if run.prompt is None else run.prompt
    for name, room in ((started.target, target.context_length), (started.drafter, pair.drafter_limit)):
        if room is not None and len(prompt) + started.max_tokens > room:
            raise BadSetting(
                f"The prompt has {len(prompt)} tokens, and with {started.max_tokens} more it passes the "
                f"{room} that {name} holds.",
                "Shorten the prompt or ask for fewer tokens.",
            )
    return prompt


def check_bias(started: SessionStarted, vocab: int) -> None:
    """Raise BadSetting for a bias on a token that the target does not have: it would change nothing."""
    for token, _ in started.sampling.logit_bias:
        if token >= vocab:
            raise BadSetting(
                f"logit_bias names token {token}, and {started.target} has {vocab}.",
                f"Give token ids from 0 to {vocab - 1}.",
            )
