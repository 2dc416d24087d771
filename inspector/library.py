"""The session list behind the screen: narrow it, change what people may change, delete with a way back.

A deletion waits some seconds before the store carries it out, since the store's own is final. What waits is
already gone from the list; a program that ends meanwhile keeps it, so that nothing is lost by a slip.
"""

from __future__ import annotations

import logging
import threading

from engine.errors import BadSetting, EngineError
from inspector.faults import watermark
from inspector.form import form_of_session
from storage import Listing, SessionInfo, Store

log = logging.getLogger(__name__)

#: Seconds in which a deletion can be taken back.
UNDO_S = 12.0

#: Sessions a list shows at first, and at most in one answer.
PAGE, MOST = 100, 2000

#: Characters of a title, a note and a tag, and tags of a session.
LONGEST = {"title": 200, "note": 10_000, "tag": 40}
MOST_TAGS = 20


class Library:
    """The sessions of one store, as a list that people keep in order. Safe to call from any thread."""

    def __init__(self, store: Store, undo_s: float = UNDO_S) -> None:
        self.store = store
        self.undo_s = undo_s
        self._leaving: dict[int, threading.Timer] = {}
        self._lock = threading.Lock()

    def close(self) -> None:
        """Keep every session whose deletion still waits."""
        with self._lock:
            timers, self._leaving = list(self._leaving.values()), {}
        for timer in timers:
            timer.cancel()

    def page(self, filters: dict, limit: int = PAGE) -> dict:
        """The sessions that filters leave: `sessions`, how many there are of them (`total`) and in all
        (`all`), what all take on disk (`bytes`), and what can be chosen from (`facets`).

        `filters` has any fields of storage.Listing; an empty text leaves a field open.
        """
        wanted = listing(filters, tuple(self._leaving))
        found = self.store.listed(wanted, max(1, min(limit, MOST)))
        return {
            "sessions": [line_view(info) for info in found],
            "total": self.store.number_listed(wanted),
            "all": self.store.number_of_sessions() - len(self._leaving),
            "bytes": self.store.size_bytes(),
            "facets": self.store.facets(),
        }

    def change(self, session_id: int, changes: dict) -> dict:
        """Change a session's title, note, tags or star; its new line. Raises BadSetting for anything else."""
        unknown = sorted(set(changes) - {"title", "note", "tags", "starred"})
        if unknown:
            raise BadSetting(
                f"A session's {unknown[0]} cannot be changed.", "Change title, note, tags or starred."
            )
        checked: dict = {name: limited(name, changes[name]) for name in ("title", "note") if name in changes}
        if "tags" in changes:
            checked["tags"] = tags(changes["tags"])
        if "starred" in changes:
            checked["starred"] = bool(changes["starred"])
        return line_view(self.store.update(session_id, **checked))

    def settings(self, session_id: int) -> tuple[dict, list[str]]:
        """What to put into the form to ask for such a session again (see form_of_session)."""
        return form_of_session(self.store.started(session_id))

    def delete(self, session_id: int) -> dict:
        """Take a session from the list, and from the store in `undo_s` seconds. Raises StoreError while it
        runs."""
        info = self.store.session(session_id)
        if info.unfinished:
            raise BadSetting(f"Session {session_id} is still running.", "Stop it first.")
        timer = threading.Timer(self.undo_s, self._carry_out, [session_id])
        timer.daemon = True
        with self._lock:
            if session_id not in self._leaving:
                self._leaving[session_id] = timer
                timer.start()
        return {"session": session_id, "undo_s": self.undo_s}

    def undo(self, session_id: int) -> dict:
        """Take a deletion back. Raises BadSetting when it is too late."""
        with self._lock:
            timer = self._leaving.pop(session_id, None)
        if timer is None:
            raise BadSetting(
                f"The deletion of session {session_id} can no longer be taken back.",
                "Restore a copy of the database, or run the session again.",
            )
        timer.cancel()
        return line_view(self.store.session(session_id))

    def _carry_out(self, session_id: int) -> None:
        with self._lock:
            if self._leaving.pop(session_id, None) is None:
                return
            try:
                self.store.delete(session_id)
            except EngineError as error:
                log.warning("Session %s stays: %s", session_id, error)


def listing(filters: dict, leaving: tuple[int, ...]) -> Listing:
    """The screen's filters, every text in its place. Raises BadSetting for a filter there is not."""
    texts = {"search", "rule", "drafter", "target", "status", "tag", "order"}
    unknown = sorted(set(filters) - texts - {"starred"})
    if unknown:
        raise BadSetting(f"There is no filter {unknown[0]!r}.", f"Use {', '.join(sorted(texts))} or starred.")
    chosen = {name: str(filters[name]) for name in texts if filters.get(name)}
    starred = True if filters.get("starred") else None
    return Listing(**chosen, starred=starred, without=leaving)


def limited(name: str, value: object, what: str = "") -> str:
    """A text within its length, on the outside without spaces."""
    if not isinstance(value, str):
        raise BadSetting(f"{what or name} is {value!r}.", "Give a text.")
    if len(value.strip()) > LONGEST[name]:
        raise BadSetting(f"The {what or name} has {len(value)} characters.", f"Give at most {LONGEST[name]}.")
    return value.strip()


def tags(value: object) -> list[str]:
    """A list of tags, or a text with commas between them."""
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list):
        raise BadSetting(f"tags is {value!r}.", "Give texts, with commas between them.")
    found = [tag for tag in (limited("tag", part) for part in parts) if tag]
    if len(found) > MOST_TAGS:
        raise BadSetting(f"{len(found)} tags were given.", f"Give at most {MOST_TAGS}.")
    return found


def line_view(info: SessionInfo) -> dict:
    """A session as the list shows it."""
    names = ("id", "parent_id", "relation", "created", "title", "note", "starred", "prompt", "rule", "asked")
    names += ("params", "drafter", "target", "seed", "k", "max_tokens", "temperature", "status")
    names += ("emitted", "rounds", "branch_at", "imported", "fault")
    line = {name: getattr(info, name) for name in names}
    return line | {
        "tags": list(info.tags),
        "watermark": watermark(info.fault, info.rule),
        "end_reason": info.reason,
        "accepted": info.accepted,
        "positions_tested": info.positions_tested,
        "per_position_acceptance": info.counters.per_position_acceptance,
    }
