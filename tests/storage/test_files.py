"""Which files are opened, which are refused and left exactly as they were, and how old ones come along."""

import os
import sqlite3
import tempfile
from pathlib import Path

import pytest
from sqlite_utils import Database

from storage import Store, StoreError
from storage.codec import encode
from storage.migrations import APPLICATION_ID, create_tables, draftscope, known, migrate, schema
from storage.session_line import new_line
from storage.tables import insert
from tests.storage.factories import fill, finished, round_at, started


@pytest.fixture
def path(tmp_path):
    return tmp_path / "sessions.sqlite"


def draftscope_file(path: Path) -> None:
    with Store.open(path) as store:
        session_id = store.create(started())
        fill(store, session_id, 3)
        store.append(session_id, finished())


def run_sql(path: Path, *statements: str) -> None:
    conn = sqlite3.connect(path)
    for statement in statements:
        conn.execute(statement)
    conn.commit()
    conn.close()


def refused(path: Path, words: str) -> None:
    """`path` is refused with these words; neither it nor its folder changes by a byte or a name."""
    before = {file: file.read_bytes() for file in path.parent.iterdir() if file.is_file()}
    with pytest.raises(StoreError, match=words) as caught:
        Store.open(path)
    assert caught.value.hint and str(path) in caught.value.message
    assert "\n" not in str(caught.value)
    assert {file: file.read_bytes() for file in path.parent.iterdir() if file.is_file()} == before


@pytest.mark.parametrize(
    "content", [b"x", b"just notes\n" * 200, b"\0" * 5000, b"SQLite format 3\0 not really"]
)
def test_a_file_that_is_no_database_is_refused(path, content):
    path.write_bytes(content)
    refused(path, "is not a SQLite database|is damaged|of another program")


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_a_database_of_another_program_is_refused(path, mode):
    run_sql(path, f"PRAGMA journal_mode = {mode}", "CREATE TABLE sessions (id)")
    refused(path, "SQLite database of another program")


def test_a_database_with_many_more_steps_is_refused_from_its_header(path):
    draftscope_file(path)
    run_sql(path, f"PRAGMA user_version = {len(known()) + 1}")
    refused(
        path, f"newer Draftscope: it has taken {len(known()) + 1} migrations, this one knows {len(known())}"
    )


def test_a_database_with_an_unknown_step_is_refused_by_name(path):
    draftscope_file(path)
    run_sql(path, "INSERT INTO _sqlite_migrations VALUES (99, 'draftscope', 'fold_space', '2031-01-01')")
    refused(path, "newer Draftscope: it has migration 'fold_space'")


def test_steps_of_another_set_in_the_same_file_are_no_concern(path):
    draftscope_file(path)
    run_sql(path, "INSERT INTO _sqlite_migrations VALUES (99, 'someone-else', 'fold_space', '2031-01-01')")
    with Store.open(path) as store:
        assert len(store.sessions()) == 1


def test_a_damaged_database_is_refused(path):
    draftscope_file(path)
    content = path.read_bytes()
    damaged = content[:100] + b"\xff" * (len(content) - 100)
    path.write_bytes(damaged)
    with pytest.raises(StoreError, match="is damaged"):
        Store.open(path)
    assert path.read_bytes() == damaged


def test_damage_met_later_is_an_error_a_person_can_read(path):
    draftscope_file(path)
    content = bytearray(path.read_bytes())
    conn = sqlite3.connect(path)
    (page,) = conn.execute("SELECT rootpage FROM sqlite_master WHERE name = 'events'").fetchone()
    (size,) = conn.execute("PRAGMA page_size").fetchone()
    conn.close()
    content[(page - 1) * size : page * size] = b"\xff" * size
    path.write_bytes(content)
    with Store.open(path) as store, pytest.raises(StoreError, match="is damaged"):
        store.events(1)


def test_a_folder_and_a_device_are_refused(tmp_path):
    with pytest.raises(StoreError, match="is a folder, not a database file"):
        Store.open(tmp_path)
    with pytest.raises(StoreError, match="is not an ordinary file"):
        Store.open("/dev/null")


def test_a_missing_folder_is_named_and_not_made(tmp_path):
    with pytest.raises(StoreError, match=r"folder .*gone does not exist"):
        Store.open(tmp_path / "gone" / "sessions.sqlite")
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match=r"folder .*file does not exist"):
        Store.open(tmp_path / "file" / "sessions.sqlite")
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_a_name_no_file_system_takes_is_refused(tmp_path):
    with pytest.raises(StoreError, match="File name too long"):
        Store.open(tmp_path / ("x" * 5000))


@pytest.fixture
def locked_folder():
    """A folder that can be read and not written, with a database in it. Root may write anywhere, so as
    root the test becomes nobody, who cannot enter pytest's own folders: hence a folder under the system's."""
    folder = Path(tempfile.mkdtemp())
    draftscope_file(folder / "sessions.sqlite")
    (folder / "sessions.sqlite").chmod(0o444)
    folder.chmod(0o555)
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    yield folder
    if root:
        os.seteuid(0)
    folder.chmod(0o755)
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()


def test_a_path_that_cannot_be_written_is_refused(locked_folder):
    refused(locked_folder / "sessions.sqlite", "cannot be written")
    refused(locked_folder / "new.sqlite", "cannot be written")


def test_an_empty_file_becomes_a_database(path):
    path.touch()
    with Store.open(path) as store:
        assert store.create(started()) == 1
    assert path.read_bytes()[68:72] == APPLICATION_ID.to_bytes(4, "big") == b"DrSc"


def test_a_name_with_signs_of_a_uri_is_only_a_name(tmp_path):
    odd = tmp_path / "a b?mode=memory#%20[x].sqlite"
    for _ in range(2):
        with Store.open(odd) as store:
            store.create(started())
    assert [file.name for file in tmp_path.iterdir()] == [odd.name]


def first_schema_file(path: Path) -> None:
    """A database as the first migration alone leaves it, with two sessions that share their rows."""
    db = Database(path)
    draftscope.apply(db, stop_before=known()[1])
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    db.execute("PRAGMA user_version = 1")
    events = [started(), round_at(0), round_at(1)]
    for events_of_session in (events, events[:2]):
        line = new_line(started().to_dict()) | {"status": "finished", "rounds": len(events_of_session) - 1}
        del line["fault"]  # came with a later step
        session_id = insert(db, "sessions", line)
        for seq, event in enumerate(events_of_session):
            encoded = encode(event, 1024)
            for row in encoded.rows:
                db.execute(
                    "INSERT OR IGNORE INTO rows VALUES (?, ?, ?, ?, ?)",
                    [row.hash, row.ids, row.probs, row.vocab, row.tail],
                )
            db.execute(
                "INSERT INTO events VALUES (?, ?, ?, ?)", [session_id, seq, encoded.type, encoded.body]
            )
    db.close()


def test_an_old_database_is_taken_forward_with_its_data(path):
    first_schema_file(path)
    with Store.open(path) as store:
        assert store.events(1) == [(0, started()), (1, round_at(0)), (2, round_at(1))]
        store.delete(1)
        assert store.events(2) == [(0, started()), (1, round_at(0))]
        store.delete(2)
        assert store.sessions() == []
    db = Database(path)
    assert [step.name for step in draftscope.applied(db)] == known()
    assert db.execute("PRAGMA user_version").fetchone() == (len(known()),)
    assert db["rows"].count == db["row_uses"].count == 0
    db.close()


def test_a_step_that_fails_leaves_the_old_database_as_it_was(path, monkeypatch):
    first_schema_file(path)
    before = path.read_bytes()

    def broken(db):
        create_tables(db)

    monkeypatch.setattr(draftscope._migrations[1], "fn", broken)
    with pytest.raises(StoreError, match="already exists"):
        Store.open(path)
    assert path.read_bytes() == before


def test_released_steps_are_never_renamed_or_reordered():
    assert known()[:2] == ["create_tables", "track_row_uses"], "add a new migration at the end instead"


def test_an_old_and_a_new_database_have_the_same_schema(path):
    first_schema_file(path)
    with Store.open(path):
        pass
    conn = sqlite3.connect(path)
    found = [sql for (sql,) in conn.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")]
    conn.close()
    assert all(statement in found for statement in schema().rstrip(";").split(";\n\n"))


def test_migrating_twice_changes_nothing(path):
    db = Database(path)
    migrate(db, path)
    before = list(db["_sqlite_migrations"].rows)
    migrate(db, path)
    assert list(db["_sqlite_migrations"].rows) == before
    db.close()
