"""The one error of storage, and how SQLite's own errors become it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engine.errors import EngineError


class StoreError(EngineError):
    """A database that cannot be opened, read or written, or a request it must refuse."""


#: SQLite's error names by their beginning, with what a person should read instead.
_MEANINGS = (
    (("SQLITE_BUSY", "SQLITE_LOCKED"), "is locked by another program", "Close that program, or wait for it."),
    (("SQLITE_FULL",), "cannot grow: the disk is full", "Free some space, then try again."),
    (
        ("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM"),
        "cannot be written",
        "Check the permissions of the file and its folder, or choose another file with --db.",
    ),
    (("SQLITE_NOTADB",), "is not a SQLite database", "Choose another file with --db."),
    (
        ("SQLITE_CORRUPT",),
        "is damaged",
        "Restore a copy of the file, or choose another one with --db.",
    ),
)


def explain(error: sqlite3.Error, path: Path) -> StoreError:
    """The StoreError that says what SQLite's error means for the file at `path`."""
    name = getattr(error, "sqlite_errorname", None) or ""
    for beginnings, meaning, hint in _MEANINGS:
        if name.startswith(beginnings):
            return StoreError(f"{path} {meaning}.", hint)
    return StoreError(f"SQLite refused to go on with {path}: {error}.", "Choose another file with --db.")


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn every sqlite3.Error raised inside into a StoreError about `path`."""
    try:
        yield
    except sqlite3.Error as error:
        raise explain(error, path) from error
