"""Threads that ask, and one that answers them when every one of them waits.

It keeps lanes in step without their knowing: each runs its own code as if alone, and its question comes
back answered. Between two answers nobody but the lanes runs, and while an answer is worked on, no lane does.
"""

from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import Generic, TypeVar

Question = TypeVar("Question")
Reply = TypeVar("Reply")


class Lockstep(Generic[Question, Reply]):
    """Lanes 0 to n - 1. All count as running until they `leave`."""

    def __init__(self, n_lanes: int) -> None:
        self._running = set(range(n_lanes))
        self._asked: dict[int, tuple[Question, Future[Reply]]] = {}
        self._change = threading.Condition()

    def ask(self, lane: int, question: Question) -> Reply:
        """Wait for the reply, on the lane's thread. Raises what it is refused with."""
        future: Future[Reply] = Future()
        with self._change:
            self._asked[lane] = question, future
            self._change.notify()
        return future.result()

    def leave(self, lane: int) -> None:
        """The lane asks nothing more."""
        with self._change:
            self._running.discard(lane)
            self._change.notify()

    def waiting(self) -> dict[int, Question]:
        """Wait until every running lane has asked; what they asked, none once all have left."""
        with self._change:
            self._change.wait_for(lambda: self._asked.keys() == self._running)
            return {lane: question for lane, (question, _) in sorted(self._asked.items())}

    def reply(self, lane: int, reply: Reply) -> None:
        """Let a lane that waits go on."""
        self._take(lane).set_result(reply)

    def refuse(self, lane: int, error: BaseException) -> None:
        """Raise an error where a lane waits."""
        self._take(lane).set_exception(error)

    def _take(self, lane: int) -> Future[Reply]:
        with self._change:
            return self._asked.pop(lane)[1]
