"""Sessions in one file: written event by event while they run, read back at any time by anyone.

Every event is its own transaction, so a crash loses at most the round that was being written. A session
belongs to the Store that created it until it ends; everyone else may read it meanwhile. Statistics are
folds over events; the few counters on a session's line are a cache of that fold for the session list.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import platformdirs
from sqlite_utils import Database

from engine.core.coins import MAX_SEED
from engine.core.events import Event, PromptRead, Round, SessionFinished, SessionStarted
from storage import exporting, importing, reading, sql, tables
from storage.codec import encode
from storage.connections import Connections
from storage.errors import StoreError
from storage.file_check import check_file
from storage.info import COLUMNS, UNFINISHED, WRITER_GONE, SessionInfo, from_line, interrupted
from storage.listing import Listing, facets
from storage.migrations import migrate
from storage.owners import Owners
from storage.session_line import advance, as_text, check_order, new_line

#: Tokens kept of a wide row (docs/storage.md has the measurement behind it).
ROW_CAP = 1024

_SELECT = f"SELECT {', '.join(COLUMNS)}, owner FROM sessions"


def default_path() -> Path:
    """The database in the user's data folder, which is created when missing."""
    folder = Path(platformdirs.user_data_dir("draftscope", appauthor=False))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"The data folder {folder} cannot be created: {error.strerror}.", "Name a file with --db."
        ) from error
    return folder / "sessions.sqlite"


class Store:
    """One database file, for any thread. `Store.open` makes one; `with` or `close` ends it."""

    def __init__(self, path: Path, row_cap: int) -> None:
        self.path = path
        self.row_cap = row_cap
        self._connections = Connections(path)
        self._owners = Owners(path)
        self._learned: set[str] = set()

    @classmethod
    def open(cls, path: str | Path | None = None, row_cap: int = ROW_CAP) -> Store:
        """Open or create the database (None: `default_path()`), bring its schema up to date, and mark the
        sessions whose writer is gone as interrupted.

        Raises StoreError for a path that is no Draftscope database or that a newer Draftscope wrote; such
        a file is left as it was.
        """
        if row_cap < 1:
            raise StoreError(f"row_cap is {row_cap}.", "Give a number of tokens from 1 up.")
        path = default_path() if path is None else Path(path).expanduser().absolute()
        check_file(path)
        store = cls(path, row_cap)
        try:
            with store._connections.writing() as db:
                migrate(db, path)
                store._settle(db)
            store._connections.use_wal()
        except BaseException:
            store.close()
            raise
        return store

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Close every thread's connection. A session of ours that has not ended is interrupted by this."""
        self._connections.close()
        self._owners.close()

    # Writing

    def create(
        self,
        started: SessionStarted,
        parent_id: int | None = None,
        relation: str | None = None,
        title: str = "",
        tags: Iterable[str] = (),
    ) -> int:
        """A new session, `queued`, whose event 0 is `started`; returns its id.

        `relation` says what it is to its parent: "rerun" or "branch".
        """
        if (parent_id is None) != (relation is None) or relation not in (None, "rerun", "branch"):
            raise StoreError(
                f"relation is {relation!r} with parent {parent_id!r}.", "Give both, with 'rerun' or 'branch'."
            )
        if not 0 <= started.seed <= MAX_SEED:
            raise StoreError(f"seed is {started.seed}.", f"Give a whole number from 0 to {MAX_SEED}.")
        event = encode(started, self.row_cap)
        line = new_line(json.loads(event.body)) | {
            "parent_id": parent_id,
            "relation": relation,
            "title": as_text(title),
            "tags": json.dumps([as_text(tag) for tag in tags], ensure_ascii=False),
            "branch_at": len(started.forced) - 1 if started.forced else None,
        }
        with self._connections.writing() as db:
            if parent_id is not None:
                self._line(db, parent_id)
            session_id = tables.insert(db, "sessions", line | {"owner": self._owners.mine()})
            tables.put_event(db, session_id, 0, event)
        return session_id

    def append(self, session_id: int, event: PromptRead | Round | SessionFinished) -> int:
        """Store the next event of a session of ours; returns its number.

        Raises StoreError after the end, for a session another Store writes, and for an event out of order.
        """
        encoded = encode(event, self.row_cap)
        with self._connections.writing() as db:
            line = self._line(db, session_id)
            info = self._info(line)
            self._check_may_write(info, line[-1])
            seq = tables.count_events(db, session_id)
            check_order(info, seq, event)
            tables.put_event(db, session_id, seq, encoded)
            advance(db, session_id, event)
        return seq

    def fail(self, session_id: int, reason: str, ms: float = 0.0) -> int:
        """End a session as failed; `ms` counts from the start of the prompt, 0 when it was never read."""
        return self.append(session_id, SessionFinished("failed", reason, ms))

    def update(
        self,
        session_id: int,
        *,
        title: str | None = None,
        note: str | None = None,
        tags: Iterable[str] | None = None,
        starred: bool | None = None,
    ) -> SessionInfo:
        """Change what a person may change; None leaves a field alone. Tags are stripped and made unique."""
        changes: dict[str, object] = {}
        if title is not None:
            changes["title"] = as_text(title)
        if note is not None:
            changes["note"] = as_text(note)
        if tags is not None:
            unique = dict.fromkeys(as_text(tag).strip() for tag in tags)
            changes["tags"] = json.dumps([tag for tag in unique if tag], ensure_ascii=False)
        if starred is not None:
            changes["starred"] = int(starred)
        with self._connections.writing() as db:
            self._line(db, session_id)
            if changes:
                sets = ", ".join(f"{name} = :{name}" for name in changes)
                db.execute(f"UPDATE sessions SET {sets} WHERE id = :id", changes | {"id": session_id})
            return self._info(self._line(db, session_id))

    def delete(self, session_id: int) -> None:
        """Delete a session, its events, and the rows no other session uses.

        Its children stay, without a parent: a re-run is a session of its own. Raises StoreError while it
        runs.
        """
        with self._connections.writing() as db:
            if self._info(self._line(db, session_id)).unfinished:
                raise StoreError(f"Session {session_id} is still running.", "Stop it first.")
            tables.delete_session(db, session_id)

    # Reading

    def session(self, session_id: int) -> SessionInfo:
        """Raises StoreError for an unknown id, as every method that takes one does."""
        return self._select("WHERE id = ?", [session_id], ids=(session_id,))[0]

    def sessions(
        self, search: str = "", limit: int = 100, offset: int = 0, starred: bool | None = None
    ) -> list[SessionInfo]:
        """Sessions, newest first; each word of `search` must occur somewhere (see Listing)."""
        return self.listed(Listing(search, starred=starred), limit, offset)

    def listed(self, wanted: Listing, limit: int = 100, offset: int = 0) -> list[SessionInfo]:
        """The sessions of a listing, a page at a time."""
        clause, params = wanted.where()
        return self._select(f"{clause} {wanted.order_by()} LIMIT ? OFFSET ?", [*params, limit, offset])

    def number_listed(self, wanted: Listing) -> int:
        """How many sessions a listing has on all its pages."""
        clause, params = wanted.where()
        with self._connections.reading() as db:
            return db.execute(f"SELECT count(*) FROM sessions {clause}", params).fetchone()[0]

    def facets(self) -> dict[str, dict[str, int]]:
        """What a list can be narrowed by: for "rule", "drafter", "target", "status" and "tag" the values
        there are, with the number of sessions that have each."""
        with self._connections.reading() as db:
            return facets(db)

    def number_of_sessions(self) -> int:
        """How many sessions there are."""
        with self._connections.reading() as db:
            return db.execute("SELECT count(*) FROM sessions").fetchone()[0]

    def tagged(self, tag: str) -> list[SessionInfo]:
        """The sessions that carry a tag, oldest first."""
        clause = "WHERE EXISTS (SELECT 1 FROM json_each(tags) WHERE value = ?) ORDER BY id"
        return self._select(clause, [as_text(tag)])

    def children(self, session_id: int) -> list[SessionInfo]:
        """The sessions made from this one, oldest first."""
        return self._select("WHERE parent_id = ? ORDER BY id", [session_id], ids=(session_id,))

    def started(self, session_id: int) -> SessionStarted:
        """The session's first event: all that decides it."""
        return self.events(session_id, limit=1)[0][1]

    def events(self, session_id: int, after: int = -1, limit: int | None = None) -> list[tuple[int, Event]]:
        """Events numbered above `after`, in order, at most `limit`: (number, event)."""
        last = None if limit is None else after + limit
        with self._connections.reading() as db:
            self._line(db, session_id)
            return tables.get_events(db, session_id, after + 1, last)

    def rounds(self, session_id: int, lo: int, hi: int) -> list[Round]:
        """The rounds with lo <= index < hi that exist."""
        lo = max(lo, 0)
        with self._connections.reading() as db:
            self._line(db, session_id)
            first = tables.first_round(db, session_id)
            if first is None:
                return []
            # Rounds stand one after another, so an index is a distance from the first one.
            found = tables.get_events(db, session_id, first + lo, first + hi - 1)
        return [event for _, event in found if isinstance(event, Round)]

    def outlines(self, session_id: int, lo: int, hi: int) -> list[Round]:
        """The same rounds, quickly: tokens, fates, coins, measures and times, but every row is NO_ROW."""
        with self._connections.reading() as db:
            self._line(db, session_id)
            first = tables.first_round(db, session_id)
            if first is None:
                return []
            return tables.get_outlines(db, session_id, first + max(lo, 0), first + hi - 1)

    def count(self, session_id: int) -> int:
        """How many events the session has: the number the next one will get. Costs one look at an index."""
        with self._connections.reading() as db:
            self._line(db, session_id)
            return tables.count_events(db, session_id)

    def add_pieces(self, tokenizer: str, pieces: dict[int, bytes]) -> None:
        """Remember the bytes behind token ids, so that a session opens without its model.

        Raises StoreError where an id already stands for other bytes under this tokenizer's name.
        """
        with self._connections.writing() as db:
            tables.put_pieces(db, tokenizer, pieces)

    def learn(self, tokenizer: str, pieces: Callable[[], dict[int, bytes]]) -> None:
        """Take a loaded tokenizer's own bytes as the truth, the first time this Store meets it: they also
        correct what an imported file may have said under its name."""
        if tokenizer not in self._learned:
            found = pieces()
            with self._connections.writing() as db:
                tables.replace_pieces(db, tokenizer, found)
            self._learned.add(tokenizer)

    def pieces(self, tokenizer: str, ids: Iterable[int] | None = None) -> dict[int, bytes]:
        """The bytes behind the ids that are known, or behind all of the tokenizer's."""
        with self._connections.reading() as db:
            return tables.get_pieces(db, tokenizer, ids)

    def query(self, text: str) -> dict:
        """Answer one SQL question without any way to change the file (see storage.sql): columns, rows,
        truncated. Raises StoreError for everything but reading."""
        return sql.query(self.path, text)

    def size_bytes(self) -> int:
        """What the database takes on disk, with its write-ahead log."""
        files = (self.path, self.path.with_name(self.path.name + "-wal"))
        return sum(file.stat().st_size for file in files if file.exists())

    # Sharing

    def export(self, session_ids: Sequence[int]) -> bytes:
        """These sessions as one file (docs/export.md), parents before their children.

        Raises StoreError for an unknown session, for one that has not ended, and for more than a file holds.
        """
        infos = [self.session(i) for i in session_ids]
        with self._connections.reading() as db:
            return exporting.whole_file(db, infos)

    def import_sessions(self, data: bytes) -> list[int]:
        """Store the sessions of an exported file, in one transaction; their new ids in the file's order.

        Raises StoreError, and stores nothing, for a file that is not sound to the last number, or where a
        token id already stands for other bytes.
        """
        package = reading.read(data)
        with self._connections.writing() as db:
            return importing.write(db, package)

    # Inside a transaction

    def _settle(self, db: Database) -> None:
        rows = db.execute(f"SELECT DISTINCT owner FROM sessions WHERE status IN {UNFINISHED}").fetchall()
        for (owner,) in rows:
            if not self._owners.alive(owner):
                db.execute(
                    "UPDATE sessions SET status = 'interrupted', reason = ?, owner = NULL"
                    f" WHERE owner IS ? AND status IN {UNFINISHED}",
                    [WRITER_GONE, owner],
                )
        self._owners.sweep()

    def _line(self, db: Database, session_id: int) -> tuple:
        line = db.execute(f"{_SELECT} WHERE id = ?", [session_id]).fetchone()
        if line is None:
            newest = [str(i) for (i,) in db.execute("SELECT id FROM sessions ORDER BY id DESC LIMIT 5")]
            hint = f"The newest are {', '.join(newest)}." if newest else "It holds no sessions yet."
            raise StoreError(f"There is no session {session_id} in {self.path}.", hint)
        return line

    def _info(self, line: tuple) -> SessionInfo:
        """The session of a line read under the write lock, where no owner can still be committing."""
        info = from_line(line[:-1])
        return info if not info.unfinished or self._owners.alive(line[-1]) else interrupted(info)

    def _select(self, clause: str, params: list[object], ids: tuple[int, ...] = ()) -> list[SessionInfo]:
        """The sessions a clause selects; raises StoreError unless every session of `ids` exists."""
        found = self._read(clause, params, ids)
        owners = {owner for info, owner in found if info.unfinished}
        gone = {owner for owner in owners if not self._owners.alive(owner)}
        if gone:
            # An owner may have ended its session between our snapshot and its leaving: look again.
            found = self._read(clause, params, ids)
        return [interrupted(info) if info.unfinished and owner in gone else info for info, owner in found]

    def _read(self, clause: str, params: list[object], ids: tuple[int, ...]) -> list[tuple[SessionInfo, str]]:
        with self._connections.reading() as db:
            for session_id in ids:
                self._line(db, session_id)
            lines = db.execute(f"{_SELECT} {clause}", params).fetchall()
        return [(from_line(line[:-1]), line[-1]) for line in lines]

    def _check_may_write(self, info: SessionInfo, owner: str | None) -> None:
        if not info.unfinished:
            raise StoreError(f"Session {info.id} has ended ({info.status}).", "Start a new one.")
        if not self._owners.is_mine(owner):
            raise StoreError(f"Session {info.id} is being written by another Draftscope.", "Start a new one.")
