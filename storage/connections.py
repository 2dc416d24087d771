"""One SQLite connection per thread, and the two doors through which all SQL goes: reading and writing.

A connection belongs to the thread that made it. The database is in WAL mode, so readers see the last
commit and never wait for the writer. A write takes the lock at once (BEGIN IMMEDIATE): one that began as
a read and was overtaken could not be retried by SQLite's busy handler.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlite_utils import Database

from storage.errors import StoreError, explained

#: Seconds a write waits for another program's write to end.
BUSY_SECONDS = 10.0


class Connections:
    """The connections of one Store to one file. `close` closes them all, from any thread."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._by_thread: dict[threading.Thread, Database] = {}
        self._lock = threading.Lock()
        self._closed = False

    @contextmanager
    def reading(self) -> Iterator[Database]:
        """The calling thread's connection inside one snapshot: all reads see the same commit."""
        with self._transaction("BEGIN") as db:
            yield db

    @contextmanager
    def writing(self) -> Iterator[Database]:
        """The calling thread's connection inside one write transaction; rolled back if the body raises."""
        with self._transaction("BEGIN IMMEDIATE") as db:
            yield db

    def use_wal(self) -> None:
        """Switch the file to write-ahead logging, which it then keeps. Raises StoreError where it cannot."""
        with explained(self.path):
            mode = self._retry_while_locked("PRAGMA journal_mode = wal")
        if mode != "wal":
            raise StoreError(
                f"{self.path} lies where no write-ahead log can be kept (journal mode {mode!r}).",
                "Choose a file on a local disk with --db.",
            )

    def close(self) -> None:
        with self._lock:
            self._closed = True
            for db in self._by_thread.values():
                db.close()
            self._by_thread.clear()

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[Database]:
        with explained(self.path):
            db = self._here()
            db.execute(begin)
            try:
                yield db
                db.commit()
            finally:
                db.rollback()  # does nothing after the commit

    def _retry_while_locked(self, pragma: str) -> str:
        # SQLite does not call its busy handler for a change of journal mode.
        end = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                return self._here().execute(pragma).fetchone()[0]
            except sqlite3.OperationalError as error:
                if not (error.sqlite_errorname or "").startswith("SQLITE_BUSY") or time.monotonic() > end:
                    raise
                time.sleep(0.01)

    def _here(self) -> Database:
        thread = threading.current_thread()
        with self._lock:
            if self._closed:
                raise StoreError(f"The store of {self.path} is closed.", "Open it again.")
            if thread not in self._by_thread:
                self._drop_finished_threads()
                self._by_thread[thread] = connect(self.path)
            return self._by_thread[thread]

    def _drop_finished_threads(self) -> None:
        for thread in [t for t in self._by_thread if not t.is_alive()]:
            self._by_thread.pop(thread).close()


def connect(path: Path) -> Database:
    """A connection with Draftscope's settings, in autocommit, so that only `_transaction` opens transactions.

    `check_same_thread` is off because the thread that closes the store closes every connection.
    """
    conn = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    conn.create_function("casefold", 1, str.casefold, deterministic=True)
    db = Database(conn, execute_plugins=False)
    db.execute("PRAGMA foreign_keys = on")
    # In WAL mode "normal" survives a crash of the program; only a power cut can lose the last commits.
    db.execute("PRAGMA synchronous = normal")
    return db
