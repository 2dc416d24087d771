"""Sessions for tests: ask, wait, read."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

from engine import session
from engine.core.events import Round
from engine.core.types import Sampling
from engine.session import Request
from inspector.controller import Controller
from storage import Store

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


WARM = Sampling(temperature=1.0)
#: Few enough tokens with mass that every stored row is whole.
SHORT_ROWS = Sampling(temperature=1.0, top_k=20)
EOS = 260
NO_EOS = ((EOS, -100.0),)


def asked(target: str, **changes) -> Request:
    base = {
        "prompt": "the theme then",
        "target": target,
        "drafter": "self:8bit",
        "sampling": WARM,
        "max_tokens": 16,
    }
    return Request(**base | changes)


def table(store: Store) -> list[tuple]:
    """Every session row and event of the file, as another program reads it."""
    with closing(sqlite3.connect(store.path)) as conn:
        return [row for name in ("sessions", "events") for row in conn.execute(f"SELECT * FROM {name}")]


def plain(value: object) -> object:
    """The value through JSON; NaN, infinity and NumPy scalars are refused."""
    return json.loads(json.dumps(value, allow_nan=False))
