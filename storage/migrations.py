"""The schema, as named steps that each database file remembers having taken.

A step never changes once released: a new need is a new function at the end. `user_version` counts the
steps and `application_id` marks the file as ours; both sit in the file's header, so a foreign or newer
file is recognised without opening it for writing.
"""

from __future__ import annotations

from pathlib import Path

from sqlite_utils import Database, Migrations

from storage.errors import StoreError

#: "DrSc" as a big-endian number; shown by `file` and `PRAGMA application_id`.
APPLICATION_ID = 0x44725363

draftscope = Migrations("draftscope")


@draftscope()
def create_tables(db: Database) -> None:
    """Sessions, their events, the rows the events point to, and the bytes behind token ids."""
    for statement in (SESSIONS, EVENTS, ROWS, PIECES, "CREATE INDEX sessions_parent ON sessions(parent_id)"):
        db.execute(statement)


@draftscope()
def track_row_uses(db: Database) -> None:
    """Which session uses which row, so that deleting a session finds the rows nobody else needs."""
    db.execute(ROW_USES)
    db.execute("CREATE INDEX row_uses_hash ON row_uses(hash)")
    db.execute(
        "INSERT INTO row_uses (session_id, hash)"
        " SELECT DISTINCT e.session_id, ref.value FROM events e, json_tree(e.body) ref"
        " WHERE e.type = 'round' AND ref.type = 'text' AND ref.value IN (SELECT hash FROM rows)"
    )


@draftscope()
def note_branches_and_imports(db: Database) -> None:
    """Where a branch's forced token stands, and when a session came in from a file instead of being run."""
    db.execute("ALTER TABLE sessions ADD COLUMN branch_at INTEGER")
    db.execute("ALTER TABLE sessions ADD COLUMN imported TEXT")


@draftscope()
def note_faults(db: Database) -> None:
    """Which fault a session was run with on purpose; '' for a healthy one. No older session has any."""
    db.execute("ALTER TABLE sessions ADD COLUMN fault TEXT NOT NULL DEFAULT ''")


SESSIONS = """CREATE TABLE sessions (
   id INTEGER PRIMARY KEY AUTOINCREMENT,
   parent_id INTEGER REFERENCES sessions(id) ON DELETE SET NULL,
   relation TEXT CHECK (relation IN ('rerun', 'branch')),
   created TEXT NOT NULL,
   title TEXT NOT NULL DEFAULT '',
   note TEXT NOT NULL DEFAULT '',
   tags TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(tags)),
   starred INTEGER NOT NULL DEFAULT 0 CHECK (starred IN (0, 1)),
   prompt TEXT NOT NULL,
   raw INTEGER NOT NULL CHECK (raw IN (0, 1)),
   target TEXT NOT NULL,
   drafter TEXT NOT NULL,
   rule TEXT NOT NULL,
   asked TEXT NOT NULL,
   params TEXT NOT NULL CHECK (json_valid(params)),
   seed INTEGER NOT NULL,
   k INTEGER NOT NULL,
   max_tokens INTEGER NOT NULL,
   temperature REAL NOT NULL,
   vocab INTEGER NOT NULL DEFAULT 0,
   tokenizer TEXT NOT NULL DEFAULT '',
   versions TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(versions)),
   status TEXT NOT NULL CHECK (
      status IN ('queued', 'running', 'finished', 'stopped', 'failed', 'interrupted')
   ),
   reason TEXT NOT NULL DEFAULT '',
   ms REAL,
   owner TEXT,
   rounds INTEGER NOT NULL DEFAULT 0,
   proposed INTEGER NOT NULL DEFAULT 0,
   positions_tested INTEGER NOT NULL DEFAULT 0,
   accepted INTEGER NOT NULL DEFAULT 0,
   emitted INTEGER NOT NULL DEFAULT 0,
   rescued INTEGER NOT NULL DEFAULT 0,
   sum_min REAL NOT NULL DEFAULT 0,
   sum_prod REAL NOT NULL DEFAULT 0
) STRICT"""

EVENTS = """CREATE TABLE events (
   session_id INTEGER NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
   seq INTEGER NOT NULL,
   type TEXT NOT NULL,
   body TEXT NOT NULL CHECK (json_valid(body)),
   PRIMARY KEY (session_id, seq)
) STRICT, WITHOUT ROWID"""

ROWS = """CREATE TABLE rows (
   hash TEXT PRIMARY KEY,
   ids BLOB,
   probs BLOB NOT NULL,
   vocab INTEGER NOT NULL,
   tail REAL NOT NULL
) STRICT"""

ROW_USES = """CREATE TABLE row_uses (
   session_id INTEGER NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
   hash TEXT NOT NULL REFERENCES rows(hash),
   PRIMARY KEY (session_id, hash)
) STRICT, WITHOUT ROWID"""

PIECES = """CREATE TABLE pieces (
   tokenizer TEXT NOT NULL,
   id INTEGER NOT NULL,
   bytes BLOB NOT NULL,
   PRIMARY KEY (tokenizer, id)
) STRICT, WITHOUT ROWID"""


def known() -> list[str]:
    """The names of all steps this program can take, in order."""
    return [step.name for step in draftscope.pending(Database(memory=True, execute_plugins=False))]


def newer(path: Path, what: str) -> StoreError:
    """The refusal of a file that a newer program wrote; `what` is the thing this one does not know."""
    return StoreError(
        f"{path} was written by a newer Draftscope: it has {what}, this one knows {len(known())} migrations.",
        "Update Draftscope, or choose another file with --db.",
    )


def migrate(db: Database, path: Path) -> None:
    """Take the open database through the steps it lacks, inside the caller's transaction.

    Raises StoreError when it has taken a step that this program does not know.
    """
    names = known()
    taken = [step.name for step in draftscope.applied(db)]
    unknown = [name for name in taken if name not in names]
    if unknown:
        raise newer(path, f"migration {unknown[0]!r}")
    if taken != names:
        draftscope.apply(db)
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.execute(f"PRAGMA user_version = {len(names)}")


def schema() -> str:
    """The SQL of an up-to-date database, without SQLite's and sqlite-utils' own tables."""
    db = Database(memory=True, execute_plugins=False)
    draftscope.apply(db)
    return "\n\n".join(
        sql + ";"
        for name, sql in db.execute(
            "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid"
        )
        if not name.startswith(("sqlite_", "_sqlite_", "idx__sqlite_"))
    )
