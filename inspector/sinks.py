"""Where the worker's events go: into the store, and to a listener for as long as there is one."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from engine.core.events import Event, SessionFinished, SessionStarted
from storage import Store

log = logging.getLogger(__name__)

Listener = Callable[[Event], None]


@dataclass
class StoreSink:
    """Takes a run's events into the store, then tells whoever listens."""

    store: Store
    session_id: int | None
    listen: Listener

    def tokenizer(self, fingerprint: str, pieces: Callable[[], dict[int, bytes]]) -> None:
        self.store.learn(fingerprint, pieces)

    def event(self, event: Event) -> None:
        self.store.append(self.session_id, event)
        try:
            self.listen(event)
        except Exception as error:
            log.warning("Session %s goes on without its listener: %s", self.session_id, error)
            self.listen = deaf


@dataclass
class LateSink(StoreSink):
    """A sink whose session comes to be when its prompt is read: one that cannot begin leaves nothing.

    `refused` is the end of such a session.
    """

    started: SessionStarted
    refused: SessionFinished | None = None

    def event(self, event: Event) -> None:
        if self.session_id is None and isinstance(event, SessionFinished):
            self.refused = event
            return
        if self.session_id is None:
            self.session_id = self.store.create(self.started)
        super().event(event)


def deaf(event: Event) -> None:
    """The listener of a session nobody listens to."""
