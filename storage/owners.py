"""Who is writing a session, told by a lock that the operating system drops when the writer dies.

Each Store that creates a session holds a lock file beside the database, named after a random owner id
that is stored with the session. An unfinished session whose owner's lock can be taken has lost its
writer. Process ids are not asked: they are reused, and mean nothing to another container.
"""

from __future__ import annotations

import uuid
from glob import escape
from pathlib import Path

from filelock import FileLock, Timeout

from storage.errors import StoreError

#: Two programs that look at a dead owner at the same moment must not take each other for the owner.
_PATIENCE_SECONDS = 0.02


class Owners:
    """The lock files of one database, of which at most one is ours."""

    def __init__(self, database: Path) -> None:
        self._database = database
        self._mine: tuple[str, FileLock] | None = None

    def mine(self) -> str:
        """Our owner id; takes the lock at the first call. Call it inside a write transaction, which keeps
        a `sweep` of another program from taking the file between its creation and its locking."""
        if self._mine is None:
            owner = uuid.uuid4().hex
            lock = FileLock(self._file(owner), thread_local=False)
            try:
                lock.acquire(timeout=0)
            except OSError as error:
                raise StoreError(
                    f"{self._database.parent} cannot hold a lock file: {error.strerror}.",
                    "Check the permissions of the folder, or choose another file with --db.",
                ) from error
            self._mine = owner, lock
        return self._mine[0]

    def is_mine(self, owner: str | None) -> bool:
        return self._mine is not None and owner == self._mine[0]

    def alive(self, owner: str | None) -> bool:
        """True while the owner's lock is held."""
        if self.is_mine(owner):
            return True
        return owner is not None and self._file(owner).exists() and not self._can_take(owner)

    def sweep(self) -> None:
        """Remove the lock files of owners that are gone. Call it inside a write transaction."""
        prefix = self._file("").name
        for file in self._database.parent.glob(escape(prefix) + "*"):
            if not self.alive(file.name.removeprefix(prefix)):
                file.unlink(missing_ok=True)

    def close(self) -> None:
        """Give our lock back; unfinished sessions of ours are interrupted from now on."""
        if self._mine is not None:
            owner, lock = self._mine
            self._mine = None
            lock.release()
            self._file(owner).unlink(missing_ok=True)

    def _file(self, owner: str) -> Path:
        return self._database.with_name(f"{self._database.name}-owner-{owner}")

    def _can_take(self, owner: str) -> bool:
        lock = FileLock(self._file(owner), thread_local=False)
        try:
            lock.acquire(timeout=_PATIENCE_SECONDS, poll_interval=_PATIENCE_SECONDS / 4)
        except Timeout:
            return False
        except OSError as error:
            raise StoreError(
                f"The lock file {self._file(owner)} cannot be read: {error.strerror}.",
                "Check the permissions of its folder.",
            ) from error
        lock.release()
        return True
