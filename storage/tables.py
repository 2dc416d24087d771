"""The SQL behind Store, one function per question; each runs inside the caller's transaction."""

from __future__ import annotations

import json
from collections.abc import Iterable

import numpy as np
from sqlite_utils import Database

from engine.core.events import Event, Round, from_dict
from engine.core.types import Row
from storage.codec import Encoded, StoredRow, decode, row_hashes, unpack_row
from storage.errors import StoreError

#: SQLite's own limit on placeholders and a row's width never matter: lists travel as one JSON parameter.
_IN_LIST = "IN (SELECT value FROM json_each(?))"

#: What stands for a row that was not read: it has no token, and all mass is in its tail.
NO_ROW = Row(np.array([], np.uint32), np.array([], np.float64), vocab=0, tail=1.0)


def insert(db: Database, table: str, values: dict[str, object]) -> int:
    """Insert one line; return its row id."""
    columns, marks = ", ".join(values), ", ".join(f":{name}" for name in values)
    return db.execute(f"INSERT INTO {table} ({columns}) VALUES ({marks})", values).lastrowid


def put_event(db: Database, session_id: int, seq: int, event: Encoded) -> None:
    """Store the event with the rows it names; a row that is there already is only pointed to."""
    db.conn.executemany(
        "INSERT INTO rows (hash, ids, probs, vocab, tail) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        [(row.hash, row.ids, row.probs, row.vocab, row.tail) for row in event.rows],
    )
    db.conn.executemany(
        "INSERT INTO row_uses (session_id, hash) VALUES (?, ?) ON CONFLICT DO NOTHING",
        [(session_id, row.hash) for row in event.rows],
    )
    line = {"session_id": session_id, "seq": seq, "type": event.type, "body": event.body}
    insert(db, "events", line)


def count_events(db: Database, session_id: int) -> int:
    """How many events a session has, from the end of its key."""
    return db.execute("SELECT max(seq) + 1 FROM events WHERE session_id = ?", [session_id]).fetchone()[0]


def first_round(db: Database, session_id: int) -> int | None:
    """The number of the event that is round 0; None before there is one."""
    found = db.execute(
        "SELECT seq FROM events WHERE session_id = ? AND type = 'round' ORDER BY seq LIMIT 1", [session_id]
    ).fetchone()
    return None if found is None else found[0]


def get_events(db: Database, session_id: int, first: int, last: int | None) -> list[tuple[int, Event]]:
    """The events numbered first to last (None: to the end), with their rows."""
    upto = "" if last is None else " AND seq <= ?"
    found = db.execute(
        f"SELECT seq, body FROM events WHERE session_id = ? AND seq >= ?{upto} ORDER BY seq",
        [session_id, first] if last is None else [session_id, first, last],
    )
    bodies = [(seq, json.loads(body)) for seq, body in found]
    rows = get_rows(db, {ref for _, body in bodies for ref in row_hashes(body)})
    return [(seq, decode(body, rows)) for seq, body in bodies]


def get_outlines(db: Database, session_id: int, first: int, last: int) -> list[Round]:
    """The rounds among the events numbered first to last, every row in them NO_ROW."""
    found = db.execute(
        "SELECT body FROM events WHERE type = 'round' AND session_id = ?"
        " AND seq BETWEEN ? AND ? ORDER BY seq",
        [session_id, first, last],
    )
    return [from_dict(json.loads(body), lambda ref: NO_ROW) for (body,) in found]


def get_rows(db: Database, hashes: Iterable[str]) -> dict[str, Row]:
    """The rows behind the hashes. Raises StoreError when one is missing or was changed."""
    wanted = sorted(hashes)
    found = {
        line[0]: unpack_row(StoredRow(*line))
        for line in db.execute(
            f"SELECT hash, ids, probs, vocab, tail FROM rows WHERE hash {_IN_LIST}", [json.dumps(wanted)]
        )
    }
    missing = [ref for ref in wanted if ref not in found]
    if missing:
        raise StoreError(
            f"{len(missing)} rows are missing, the first is {missing[0][:12]}….",
            "Restore a copy of the database.",
        )
    return found


def delete_session(db: Database, session_id: int) -> None:
    """Delete a session with its events, and the rows that no other session uses. Children stay."""
    orphans = [
        ref
        for (ref,) in db.execute(
            "SELECT hash FROM row_uses mine WHERE session_id = ? AND NOT EXISTS"
            " (SELECT 1 FROM row_uses other WHERE other.hash = mine.hash AND other.session_id <> ?)",
            [session_id, session_id],
        )
    ]
    db.execute("DELETE FROM sessions WHERE id = ?", [session_id])
    db.execute(f"DELETE FROM rows WHERE hash {_IN_LIST}", [json.dumps(orphans)])


def put_pieces(db: Database, tokenizer: str, pieces: dict[int, bytes]) -> None:
    """Add token bytes. Raises StoreError where the same id already stands for other bytes."""
    known = get_pieces(db, tokenizer, pieces)
    for token, old in known.items():
        if old != pieces[token]:
            raise StoreError(
                f"Token {token} of {tokenizer!r} is {old!r} in the database and {pieces[token]!r} now.",
                "Name the tokenizer by its content, so that two of them never share a name.",
            )
    db.conn.executemany(
        "INSERT INTO pieces (tokenizer, id, bytes) VALUES (?, ?, ?)",
        [(tokenizer, int(token), piece) for token, piece in pieces.items() if token not in known],
    )


def replace_pieces(db: Database, tokenizer: str, pieces: dict[int, bytes]) -> None:
    """Add token bytes, over others that may stand there."""
    db.conn.executemany(
        "INSERT INTO pieces (tokenizer, id, bytes) VALUES (?, ?, ?)"
        " ON CONFLICT DO UPDATE SET bytes = excluded.bytes WHERE bytes <> excluded.bytes",
        [(tokenizer, int(token), piece) for token, piece in pieces.items()],
    )


def get_pieces(db: Database, tokenizer: str, ids: Iterable[int] | None = None) -> dict[int, bytes]:
    """Token bytes by id: those asked for that are known, or all of the tokenizer's."""
    sql, params = "SELECT id, bytes FROM pieces WHERE tokenizer = ?", [tokenizer]
    if ids is not None:
        sql, params = f"{sql} AND id {_IN_LIST}", [*params, json.dumps([int(i) for i in ids])]
    return dict(db.execute(f"{sql} ORDER BY id", params).fetchall())
