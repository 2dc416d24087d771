"""Sessions for tests: ask, wait, read."""

from __future__ import annotations

from engine import session
from engine.core.events import Round
from engine.session import Request
from inspector.controller import Controller

WAIT_S = 120  # a hang fails the test; nothing here is timed


def play(controller: Controller, request: Request) -> int:
    """Run a request to its end; the session's id."""
    run, sink = controller.begin(session.plan(request))
    assert run.done.wait(WAIT_S)
    assert sink.refused is None, sink.refused
    return sink.session_id


def rounds_of(controller: Controller, session_id: int) -> list[Round]:
    return controller.all_rounds(session_id)


def tokens_of(controller: Controller, session_id: int) -> list[int]:
    return [token for done in controller.all_rounds(session_id) for token in done.emitted]
