"""The sessions of a file that was read and found sound, into the database: new ids, marked as imported.

Counters, status and text columns are folded from the events, as for a session that ran here.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime

from sqlite_utils import Database

from storage import tables
from storage.codec import Encoded, row_hashes
from storage.errors import StoreError
from storage.info import WRITER_GONE
from storage.reading import Package, ReadSession
from storage.session_line import advance, as_text, new_line


def write(db: Database, package: Package) -> list[int]:
    """Insert everything inside the caller's transaction; the new ids."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    for tokenizer, pieces in package.pieces.items():
        try:
            tables.put_pieces(db, tokenizer, pieces)
        except StoreError as error:
            raise StoreError(error.message, "The file's tokens are not those of this database.") from error
    ids: dict[int, int] = {}
    for local, session in package.sessions.items():
        ids[local] = tables.insert(db, "sessions", _line(session, ids, now))
        _events(db, ids[local], session, package)
    return list(ids.values())


def _line(session: ReadSession, ids: dict[int, int], now: str) -> dict[str, object]:
    line, started = session.line, session.bodies[0]
    forced = started.get("forced", ())
    return new_line(started) | {
        "parent_id": ids.get(line["parent"]),
        "relation": line["relation"],
        "branch_at": len(forced) - 1 if forced else None,
        "imported": now,
        "created": line["created"],
        "title": as_text(line["title"]),
        "note": as_text(line["note"]),
        "tags": json.dumps(line["tags"], ensure_ascii=False),
        "starred": int(line["starred"]),
    }


def _events(db: Database, session_id: int, session: ReadSession, package: Package) -> None:
    for seq, (body, event) in enumerate(zip(session.bodies, session.events, strict=True)):
        rows = tuple(package.stored[ref] for ref in sorted(row_hashes(body)))
        text = json.dumps(body, separators=(",", ":"))
        tables.put_event(db, session_id, seq, Encoded(event.type, text, rows))
        if seq:
            advance(db, session_id, event)
    if session.events[-1].type != "finished":
        db.execute(
            "UPDATE sessions SET status = 'interrupted', reason = ? WHERE id = ?", [WRITER_GONE, session_id]
        )
