"""Pages of rounds as the browser gets them, kept for sessions that have ended: reading and drawing up a wide
row's top costs far more than keeping the text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.core.kept import Kept
from inspector.screen.tail import PAGE, encode
from inspector.view_model import FIRST_BARS

if TYPE_CHECKING:
    from inspector.controller import Controller

#: Characters of text kept.
KEPT = 48_000_000

ENDED = ("finished", "stopped", "failed", "interrupted")


class Pages:
    """JSON texts of `controller.rounds`, the least used forgotten first."""

    def __init__(self, controller: Controller, kept: int = KEPT) -> None:
        self.controller = controller
        self.kept = Kept(kept)

    def text(self, session_id: int, lo: int, hi: int, bars: int = FIRST_BARS) -> str:
        """Rounds lo to hi - 1, at most PAGE of them, `bars` tokens a position.

        Raises StoreError for a session that is not there.
        """
        hi = min(hi, lo + PAGE)
        _, status = self.controller.count(session_id)
        key = (session_id, lo, hi, bars)
        text = self.kept.get(key)
        if text is None:
            text = encode(self.controller.rounds(session_id, lo, hi, bars))
            if status in ENDED:
                self.kept.put(key, text, len(text))
        return text
