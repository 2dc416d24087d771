"""Sessions out of the database as the lines of storage.export_format: all of them, bit for bit."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from sqlite_utils import Database

from storage import tables
from storage.errors import StoreError
from storage.export_format import FORMAT, MAX_BYTES, PIECES_A_LINE, VERSION, dump
from storage.info import SessionInfo

_EVENTS = "SELECT seq, body FROM events WHERE session_id = ? ORDER BY seq"
_USED = "hash IN (SELECT hash FROM row_uses WHERE session_id IN (SELECT value FROM json_each(?)))"


def whole_file(db: Database, sessions: Sequence[SessionInfo]) -> bytes:
    """The sessions, in this order. Raises StoreError for one that still runs, and beyond MAX_BYTES."""
    running = [info.id for info in sessions if info.unfinished]
    if running:
        raise StoreError(f"Session {running[0]} is still running.", "Stop it, or wait for its end.")
    out = bytearray()
    for line in _lines(db, sessions):
        out += line
        if len(out) > MAX_BYTES:
            raise StoreError(
                f"{len(sessions)} sessions take more than {MAX_BYTES} bytes.", "Export fewer of them at once."
            )
    out += dump({"line": "end", "sha256": hashlib.sha256(out).hexdigest()})
    return bytes(out)


def _lines(db: Database, sessions: Sequence[SessionInfo]) -> Iterator[bytes]:
    ids = json.dumps([info.id for info in sessions])
    pieces = list(_pieces(db, sorted({info.tokenizer for info in sessions} - {""})))
    in_sessions = "session_id IN (SELECT value FROM json_each(?))"
    yield dump(
        {
            "line": "header",
            "format": FORMAT,
            "version": VERSION,
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "sessions": len(sessions),
            "rows": db.execute(f"SELECT count(*) FROM rows WHERE {_USED}", [ids]).fetchone()[0],
            "pieces": len(pieces),
            "events": db.execute(f"SELECT count(*) FROM events WHERE {in_sessions}", [ids]).fetchone()[0],
        }
    )
    yield from pieces
    columns = "hash, ids, probs, vocab, tail"
    for line in db.execute(f"SELECT {columns} FROM rows WHERE {_USED} ORDER BY hash", [ids]):
        yield _row(*line)
    local = {info.id: i for i, info in enumerate(sessions, 1)}
    for info in sessions:
        yield _session(info, local)
        for seq, body in db.execute(_EVENTS, [info.id]):
            yield dump({"line": "event", "session": local[info.id], "seq": seq, "body": json.loads(body)})


def _pieces(db: Database, tokenizers: Sequence[str]) -> Iterator[bytes]:
    for tokenizer in tokenizers:
        known = tables.get_pieces(db, tokenizer)
        for first in range(0, max(known, default=-1) + 1, PIECES_A_LINE):
            last = min(first + PIECES_A_LINE, max(known) + 1)
            found = [_text(known[i]) if i in known else None for i in range(first, last)]
            yield dump({"line": "pieces", "tokenizer": tokenizer, "first": first, "bytes": found})


def _row(name: str, ids: bytes | None, probs: bytes, vocab: int, tail: float) -> bytes:
    arrays = {"ids": None if ids is None else _text(ids), "probs": _text(probs)}
    return dump({"line": "row", "hash": name, "vocab": vocab, "tail": tail} | arrays)


def _session(info: SessionInfo, local: dict[int, int]) -> bytes:
    return dump(
        {
            "line": "session",
            "id": local[info.id],
            "parent": local.get(info.parent_id),
            "relation": info.relation,
            "created": info.created,
            "title": info.title,
            "note": info.note,
            "tags": list(info.tags),
            "starred": info.starred,
        }
    )


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
