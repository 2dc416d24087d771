"""What a page is sent while sessions run: JSON strings, at most ten a second, each only what is new.

One delta is a JSON string (Gradio diffs a dict leaf by leaf): {"started": id} puts a new session on view;
{"error": {message, hint}} shows a banner; {"reused": ...} says that settings were put into the form;
{"updates": [...]} carries, per session, `s`, `n` rounds so far, `status`, and the rounds from `lo` on with
their pieces. A page that missed some fetches them itself.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from engine.errors import EngineError
from inspector.view_model import FIRST_BARS

if TYPE_CHECKING:
    from inspector.controller import Controller

#: Seconds between two deltas at least, and between two looks at a quiet session.
DELTA_S, QUIET_S = 0.1, 0.05
#: Rounds in one delta or one page at most; the rest is back-filled.
PAGE = 200


def encode(message: object) -> str:
    """JSON that is safe inside a page; NaN is refused, because it is no JSON."""
    return json.dumps(message, ensure_ascii=False, separators=(",", ":"), allow_nan=False).replace(
        "<", "\\u003c"
    )


def error_view(error: EngineError) -> dict:
    return {"error": {"message": error.message, "hint": error.hint}}


class Tails:
    """One tail a page: a newer one, by a later ticket, ends the one before."""

    def __init__(self, controller: Controller) -> None:
        self.controller = controller
        self.tickets = itertools.count()
        self.newest: dict[str, int] = {}

    async def follow(self, page: str, sessions: list[int]) -> AsyncIterator[str]:
        """Deltas of these sessions until all have ended, at most one every DELTA_S seconds."""
        ticket = self.newest[page] = next(self.tickets)
        seen: dict[int, tuple[int, str, str]] = {}
        while self.newest.get(page) == ticket:
            updates = [await asyncio.to_thread(self.update, session, seen) for session in sessions]
            fresh = [update for update in updates if update]
            if fresh:
                yield encode({"updates": fresh})
            if all(not live(seen[session][1]) for session in sessions):
                return
            await asyncio.sleep(DELTA_S if fresh else QUIET_S)

    def banner(self, error: EngineError) -> str:
        """An error as a delta; the ticket makes the same error twice two different values."""
        return encode(error_view(error) | {"ticket": next(self.tickets)})

    def reused(self, session: int, left_out: list[str]) -> str:
        """Word that a session's settings are in the form now, and which of them it cannot hold."""
        return encode({"reused": {"session": session, "left_out": left_out}, "ticket": next(self.tickets)})

    def forget(self, page: str) -> None:
        self.newest.pop(page, None)

    def update(self, session: int, seen: dict[int, tuple[int, str, str]]) -> dict | None:
        """What is new of a session since the last look; the first look says only how far it is."""
        n, status = self.controller.count(session)
        before, old_status, old_progress = seen.get(session, (n, "", ""))
        head = self.controller.head(session) if n == 0 or status != old_status else None
        progress = head["progress"] if head else ""
        seen[session] = (n, status, progress)
        if (n, status, progress) == (before, old_status, old_progress):
            return None
        update = {"s": session, "n": n, "status": status}
        if head:
            update["head"] = head
        if before < n <= before + PAGE:
            update |= {"lo": before, **self.controller.rounds(session, before, n, FIRST_BARS)}
        return update


def live(status: str) -> bool:
    return status in ("queued", "loading", "running")
