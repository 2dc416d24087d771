"""docs/storage.md shows the schema that is, and queries that run."""

import io
import re
import sqlite3
from contextlib import closing, redirect_stdout
from pathlib import Path

import pytest
from cogapp import Cog

from storage import Store
from storage.store import ROW_CAP
from tests.storage.factories import fill, finished, rejecting_round, row, started

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "storage.md"
QUERIES = dict(re.findall(r"^(\w[^\n]*):\n\n```sql\n(.*?)```", PAGE.read_text(), re.S | re.M))


@pytest.fixture
def path(tmp_path):
    """Two sessions of one rule and one of another, with the bytes of their tokens."""
    path = tmp_path / "sessions.sqlite"
    with Store.open(path) as store:
        for rule, rounds in (("stochastic", 2), ("stochastic", 2), ("block", 1)):
            session_id = store.create(started(rule=rule))
            fill(store, session_id, rounds)
        one = rejecting_round(1, (row(1, 9), row(1, 1)), (row(9, 1),))
        store.append(session_id, one)
        store.append(session_id, finished())
        store.add_pieces("toy", {i: bytes([65 + i]) for i in range(6)})
    return path


def answers(path: Path, title: str) -> list[tuple]:
    with closing(sqlite3.connect(path)) as conn:
        found = conn.execute(QUERIES[title]).fetchall()
        conn.commit()
    return found


def counters(path: Path) -> list[tuple]:
    with closing(sqlite3.connect(path)) as conn:
        sql = (
            "SELECT rounds, proposed, positions_tested, accepted, emitted, rescued,"
            " round(sum_min, 9), round(sum_prod, 9) FROM sessions ORDER BY id"
        )
        return conn.execute(sql).fetchall()


def test_the_page_is_up_to_date():
    said = io.StringIO()
    with redirect_stdout(said):
        status = Cog().main(["cog", "--check", "-I", str(ROOT), str(PAGE)])
    assert status == 0, f"run: python -m cogapp -I . -r docs/storage.md ({said.getvalue()})"


def test_the_page_names_the_cap_that_is_the_default():
    assert f"more than {ROW_CAP:,} tokens".replace(",", " ") in PAGE.read_text()


def test_there_are_five_queries():
    assert len(QUERIES) == 5


def test_acceptance_by_rule(path):
    assert answers(path, "How often each rule accepted what it tested") == [
        ("stochastic", 2, 4, 8, 0.5),
        ("block", 1, 1, 3, 0.333),
    ]


def test_rounds_without_an_acceptance(path):
    assert answers(path, "Rounds in which nothing was accepted") == [(3, 1, "[0]")]


def test_what_was_emitted(path):
    with Store.open(path) as store:
        expected = [
            (i, b"".join(bytes([65 + t]) for r in store.rounds(i, 0, 9) for t in r.emitted).hex().upper())
            for i in (1, 2, 3)
        ]
    assert answers(path, "What each session emitted, as bytes in hexadecimal") == expected


def test_rows_by_size_and_sharing(path):
    found = answers(path, "The rows that cost most, and how many sessions share each")
    assert found[0][1] == 6 and {sessions for *_, sessions in found} == {2, 3}


def test_counters_are_rebuilt_from_events(path):
    with Store.open(path) as store:
        fill(store, store.create(started()), 4)
    before = counters(path)
    assert before[3][:6] == (4, 12, 8, 4, 8, 1) and all(before[3][6:])
    with closing(sqlite3.connect(path)) as conn:
        conn.execute(
            "UPDATE sessions SET rounds = 9, proposed = 9, positions_tested = 9, accepted = 9, emitted = 9,"
            " rescued = 9, sum_min = 9, sum_prod = 9"
        )
        conn.commit()
    assert counters(path) != before
    answers(path, "Rebuild the counters from the events")
    assert counters(path) == before
