"""Comparisons over seeds in the background, for the screen: begin one, look how far it is, stop it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from engine.errors import BadSetting, EngineError
from engine.worker import Worker
from inspector.form import request_of
from inspector.many import Asked, Comparison, Many, Step
from storage import Store


@dataclass
class Going:
    """A comparison and the thread that runs it; `step` is the run under way, `error` what ended it."""

    many: Many
    thread: threading.Thread | None = None
    step: Step | None = None
    error: EngineError | None = None


class Comparisons:
    """The comparisons this program has begun, numbered from 1. They go on when nobody looks."""

    def __init__(self, store: Store, worker: Worker) -> None:
        self.store, self.worker = store, worker
        self._going: dict[int, Going] = {}
        self._lock = threading.Lock()

    def start(
        self, form: dict, rules: list[Asked], seeds: Sequence[int], prompts: Sequence[str], batch: int = 1
    ) -> int:
        """Begin one with the form's settings, `batch` runs at a time; its number. The form's own prompt, seed
        and rule do not count.

        What is stored already is taken over. Raises BadSetting before anything runs.
        """
        settings = request_of(form | {"prompt": "-", "seed": 0, "rule": "argmax", "params": {}})
        asked = tuple((rule, dict(params)) for rule, params in rules)
        comparison = Comparison(settings, asked, tuple(prompts), tuple(int(seed) for seed in seeds))
        going = Going(Many(self.store, self.worker, comparison, batch=batch))
        going.thread = threading.Thread(
            target=self._run, args=(going,), name="draftscope-compare", daemon=True
        )
        with self._lock:
            number = len(self._going) + 1
            self._going[number] = going
        going.thread.start()
        return number

    def status(self, number: int) -> dict:
        """How far it is: `running`, `done` of `runs`, the `step` under way, an `error`, and the table so far
        (see Many.table)."""
        going = self._of(number)
        error = going.error
        return {
            "running": going.thread.is_alive(),
            "step": None if going.step is None else asdict(going.step),
            "error": None if error is None else {"message": error.message, "hint": error.hint},
            **going.many.table(),
        }

    @property
    def newest(self) -> int | None:
        """The number of the one begun last; None before the first."""
        return max(self._going, default=None)

    def stop(self, number: int) -> None:
        """End the run under way within one draft step and begin no other; what is finished stays."""
        self._of(number).many.stop()

    def wait(self, number: int) -> None:
        self._of(number).thread.join()

    def close(self) -> None:
        """Stop them all, before the worker closes."""
        for going in list(self._going.values()):
            going.many.stop()
            going.thread.join()

    def _of(self, number: int) -> Going:
        if number not in self._going:
            raise BadSetting(f"There is no comparison {number}.", "Begin one first.")
        return self._going[number]

    def _run(self, going: Going) -> None:
        def note(step: Step) -> None:
            going.step = step

        try:
            going.many.run(note)
        except EngineError as error:
            going.error = error
        going.step = None
