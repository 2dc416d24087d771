"""Is this path a database we may open? Answered without changing a byte of it.

The header is read through SQLite itself, opened as immutable: no lock, no journal, no side files. Reading
it with `open` would be wrong in a process that already has the database open, because closing any
descriptor of a file drops the POSIX locks that SQLite holds on it.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from storage.errors import StoreError, explained
from storage.migrations import APPLICATION_ID, known, newer


def check_file(path: Path) -> None:
    """Raise StoreError unless `path` is a Draftscope database, an empty file, or free for a new one."""
    try:
        fresh = _is_free(path)
    except OSError as error:
        raise StoreError(
            f"{path} cannot be used as a database: {error.strerror}.", "Choose another file with --db."
        ) from error
    if not fresh:
        _check_header(path)


def _is_free(path: Path) -> bool:
    if path.is_dir():
        raise StoreError(
            f"{path} is a folder, not a database file.", f"Name a file in it: {path / 'sessions.sqlite'}."
        )
    if not path.parent.is_dir():
        raise StoreError(f"The folder {path.parent} does not exist.", "Create it, or choose another file.")
    if not path.exists():
        return True
    if not path.is_file():
        raise StoreError(f"{path} is not an ordinary file.", "Choose another file with --db.")
    return path.stat().st_size == 0


def _check_header(path: Path) -> None:
    uri = path.as_uri() + "?mode=ro&immutable=1"
    with explained(path), closing(sqlite3.connect(uri, uri=True)) as conn:
        (application_id,) = conn.execute("PRAGMA application_id").fetchone()
        (steps,) = conn.execute("PRAGMA user_version").fetchone()
    if application_id != APPLICATION_ID:
        raise StoreError(
            f"{path} is a SQLite database of another program "
            f"(application id {application_id}, Draftscope's is {APPLICATION_ID}).",
            "Choose another file with --db.",
        )
    if steps > len(known()):
        raise newer(path, f"taken {steps} migrations")
