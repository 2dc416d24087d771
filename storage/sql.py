"""A person's own question to the database: one SELECT that can look at everything and touch nothing.

Four locks, each enough by itself: the file is opened read-only, the connection is query_only, an authorizer
denies every action but reading, and the limits end what takes too long, returns too much or builds too wide a
value.
"""

from __future__ import annotations

import math
import sqlite3
import time
from contextlib import closing
from pathlib import Path

from storage.errors import StoreError, explain

MAX_ROWS = 1000
MAX_SECONDS = 5.0
#: The longest value, in bytes, that an expression may build or a row may hold.
MAX_VALUE = 32 * 1024 * 1024
#: Characters of a text, and bytes of a blob, that an answer shows.
SHOWN_TEXT, SHOWN_BYTES = 10_000, 32
#: Bytes an answer may have in all, before it is cut like one of too many rows.
MAX_ANSWER = 8 * 1024 * 1024

_ALLOWED = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE}
_FORBIDDEN_FUNCTIONS = {"load_extension"}
_STEPS = 1000  # virtual machine steps between two looks at the clock

_HINT = "Ask one SELECT; docs/storage.md has the tables and ten examples."


def query(path: Path, sql: str, rows: int = MAX_ROWS, seconds: float = MAX_SECONDS) -> dict:
    """The answer: `columns`, `rows` (plain JSON values; blobs as x'..' with their length), `truncated`.

    Raises StoreError, in a sentence, for what is no single reading statement and for one that takes too long.
    """
    if "\0" in sql:
        raise StoreError("The query holds a NUL character.", _HINT)
    end = time.monotonic() + seconds
    with closing(_connect(path, end)) as conn:
        try:
            cursor = conn.execute(sql)
            if cursor.description is None:
                raise StoreError("The query asks for nothing.", _HINT)
            columns = [name for name, *_ in cursor.description]
            found, truncated = _taken(cursor, rows)
        except (sqlite3.Error, sqlite3.Warning, UnicodeEncodeError) as error:
            raise _sentence(error, path, end, seconds) from error
    return {"columns": columns, "rows": found, "truncated": truncated}


def _connect(path: Path, end: float) -> sqlite3.Connection:
    try:
        conn = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=1, isolation_level=None)
    except sqlite3.Error as error:
        raise explain(error, path) from error
    conn.execute("PRAGMA query_only = on")
    conn.execute("PRAGMA trusted_schema = off")
    # Virtual tables declare themselves at their first use, which the authorizer would deny.
    conn.execute("SELECT 1 FROM json_each('[]'), json_tree('[]')")
    conn.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE)
    conn.setlimit(sqlite3.SQLITE_LIMIT_SQL_LENGTH, 100_000)
    conn.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    conn.text_factory = lambda data: data.decode("utf-8", "replace")
    conn.set_progress_handler(lambda: time.monotonic() > end, _STEPS)
    conn.set_authorizer(_may)
    return conn


def _may(action: int, first: str | None, second: str | None, *_: object) -> int:
    reads = action in _ALLOWED or (
        action == sqlite3.SQLITE_FUNCTION and (second or "").lower() not in _FORBIDDEN_FUNCTIONS
    )
    return sqlite3.SQLITE_OK if reads else sqlite3.SQLITE_DENY


def _taken(cursor: sqlite3.Cursor, limit: int) -> tuple[list[list], bool]:
    found: list[list] = []
    size = 0
    for line in cursor:
        if len(found) == limit or size > MAX_ANSWER:
            return found, True
        found.append([_plain(value) for value in line])
        size += sum(len(value) if isinstance(value, str) else 8 for value in found[-1])
    return found, False


def _plain(value: object) -> object:
    """A cell as JSON holds it."""
    if isinstance(value, bytes):
        more = "…" if len(value) > SHOWN_BYTES else ""
        return f"x'{value[:SHOWN_BYTES].hex()}{more}' ({len(value)} bytes)"
    if isinstance(value, str) and len(value) > SHOWN_TEXT:
        return f"{value[:SHOWN_TEXT]}… ({len(value)} characters)"
    if isinstance(value, float) and not math.isfinite(value):
        return "infinity" if value > 0 else "-infinity"
    return value


def _sentence(error: Exception, path: Path, end: float, seconds: float) -> StoreError:
    """What went wrong, for a person who wrote SQL."""
    name = getattr(error, "sqlite_errorname", None) or ""
    if name == "SQLITE_INTERRUPT" or (name == "" and time.monotonic() > end):
        return StoreError(f"The query took more than {seconds:g} seconds.", "Ask for less, or add a LIMIT.")
    if name == "SQLITE_AUTH" or "not authorized" in str(error) or "prohibited" in str(error):
        return StoreError("The query does something else than read.", _HINT)
    if isinstance(error, sqlite3.Warning) or "one statement" in str(error):
        return StoreError("The query has more than one statement.", _HINT)
    if isinstance(error, UnicodeEncodeError):
        return StoreError("The query holds half a character (a lone surrogate).", _HINT)
    if name.startswith(("SQLITE_BUSY", "SQLITE_CORRUPT", "SQLITE_CANTOPEN", "SQLITE_NOTADB")):
        return explain(error, path)
    return StoreError(f"SQLite says: {' '.join(str(error).split())}.", _HINT)
