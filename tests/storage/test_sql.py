"""The read-only question: it reads everything and changes nothing, whatever is asked."""

from __future__ import annotations

import json
import time

import pytest

from storage import Store, StoreError, sql
from storage.sql import query
from tests import stored


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    with Store.open(tmp_path_factory.mktemp("sql") / "s.sqlite") as store:
        stored.put(store, stored.plan(), title="One")
        stored.put(store, stored.plan("block"))
        yield store


def test_a_question_is_answered_in_plain_values(store):
    answer = store.query("SELECT id, title, ms, parent_id FROM sessions ORDER BY id")
    assert answer == {
        "columns": ["id", "title", "ms", "parent_id"],
        "rows": [[1, "One", 20.5, None], [2, "", 20.5, None]],
        "truncated": False,
    }


def test_every_table_and_sqlites_json_can_be_read(store):
    tables = [row[0] for row in store.query("SELECT name FROM sqlite_master WHERE type = 'table'")["rows"]]
    assert {"sessions", "events", "rows", "pieces", "row_uses"} <= set(tables)
    for table in tables:
        assert store.query(f'SELECT count(*) FROM "{table}"')["rows"][0][0] >= 0
    emitted = store.query(
        "SELECT count(*) FROM events, json_each(body, '$.emitted')"
        " WHERE events.type = 'round' AND session_id = 1"
    )
    assert emitted["rows"] == [[20]]
    numbers = "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n LIMIT 5) SELECT sum(i) FROM n"
    assert store.query(numbers)["rows"] == [[15]]


def test_what_json_lacks_comes_as_text(store):
    answer = store.query(
        "SELECT bytes, x'00ff' AS b, 9e999, -9e999, CAST(x'ff41' AS TEXT), zeroblob(100)"
        " FROM pieces WHERE id = 6"
    )
    assert answer["rows"] == [
        [
            "x'f09f' (2 bytes)",
            "x'00ff' (2 bytes)",
            "infinity",
            "-infinity",
            "\ufffdA",
            f"x'{'00' * 32}…' (100 bytes)",
        ]
    ]
    json.dumps(answer, allow_nan=False)


def test_a_long_answer_is_cut_and_says_so(store):
    many = "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n LIMIT 5000) SELECT i FROM n"
    answer = store.query(many)
    assert (len(answer["rows"]), answer["truncated"]) == (sql.MAX_ROWS, True)
    exact = query(store.path, many.replace("5000", "7"), rows=7)
    assert (len(exact["rows"]), exact["truncated"]) == (7, False)


def test_a_wide_answer_is_cut_too(store):
    wide = (
        "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n LIMIT 1000)"
        f" SELECT {', '.join(['printf(' + repr('%.*c') + ', 9999, 65)'] * 20)} FROM n"
    )
    answer = store.query(wide)
    assert answer["truncated"] and len(answer["rows"]) < 60


@pytest.mark.parametrize(
    "text",
    [
        "DELETE FROM sessions",
        "UPDATE sessions SET title = 'x'",
        "INSERT INTO sessions DEFAULT VALUES",
        "DROP TABLE events",
        "CREATE TABLE t (a)",
        "CREATE TEMP TABLE t (a)",
        "CREATE TEMP VIEW v AS SELECT 1",
        "ALTER TABLE sessions ADD COLUMN x",
        "ATTACH 'other.sqlite' AS other",
        "ATTACH ':memory:' AS other",
        "DETACH main",
        "VACUUM",
        "VACUUM INTO 'copy.sqlite'",
        "REINDEX",
        "ANALYZE",
        "BEGIN IMMEDIATE",
        "COMMIT",
        "SAVEPOINT a",
        "PRAGMA query_only = off",
        "PRAGMA journal_mode = delete",
        "PRAGMA writable_schema = on",
        "PRAGMA table_info(sessions)",
        "SELECT * FROM pragma_user_version",
        "SELECT load_extension('evil.so')",
        "SELECT LOAD_EXTENSION('evil.so')",
        "WITH x AS (SELECT 1) DELETE FROM sessions",
        "DELETE FROM sessions RETURNING id",
        "CREATE VIRTUAL TABLE t USING fts5(a)",
        "SELECT writefile('x', 'y')",
        "SELECT readfile('/etc/passwd')",
        "SELECT 1; SELECT 2",
        "SELECT 1; DELETE FROM sessions",
        "",
        "-- nothing",
        "hello",
        "SELECT",
        "SELECT \0 1",
        "SELECT '\ud800'",
        "SELECT ?",
        "SELECT * FROM nowhere",
        "SELECT zeroblob(999999999)",
        "SELECT " + "(" * 2000 + "1" + ")" * 2000,
        "SELECT 1" + " " * 200_000,
        "\n\nSELEC 1",
    ],
    ids=lambda text: text[:40],
)
def test_all_but_one_reading_statement_is_refused_in_a_sentence(text, store, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = store.path.read_bytes()
    with pytest.raises(StoreError) as caught:
        store.query(text)
    assert caught.value.hint and "\n" not in str(caught.value) and len(str(caught.value)) < 400
    assert store.path.read_bytes() == before
    assert list(tmp_path.iterdir()) == []
    assert store.number_of_sessions() == 2


@pytest.mark.parametrize(
    "text",
    [
        "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n",
        "SELECT count(*) FROM rows a, rows b, rows c, rows d, rows e",
    ],
)
def test_a_question_without_end_is_ended(text, store):
    begun = time.monotonic()
    with pytest.raises(StoreError, match=r"more than 0\.2 seconds"):
        query(store.path, text, seconds=0.2)
    assert time.monotonic() - begun < 5


@pytest.mark.parametrize("allowed", [("query_only",), ("authorizer",), ("read_only",)])
def test_each_lock_alone_keeps_the_database_as_it_is(allowed, store, monkeypatch):
    """The other locks are taken off; a write must fail all the same."""
    import sqlite3

    def connect(path, end):
        mode = "ro" if "read_only" in allowed else "rw"
        conn = sqlite3.connect(f"{path.as_uri()}?mode={mode}", uri=True, isolation_level=None)
        if "query_only" in allowed:
            conn.execute("PRAGMA query_only = on")
        if "authorizer" in allowed:
            conn.set_authorizer(sql._may)
        return conn

    monkeypatch.setattr(sql, "_connect", connect)
    with pytest.raises(StoreError):
        store.query("DELETE FROM sessions")
    assert store.number_of_sessions() == 2


def test_it_reads_while_another_thread_writes(store):
    running = store.create(stored.plan())
    assert store.query(f"SELECT status FROM sessions WHERE id = {running}")["rows"] == [["queued"]]
    store.fail(running, "test")
    store.delete(running)
