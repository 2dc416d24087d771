"""docs/storage.md shows the schema that is, and queries that run."""

import io
import re
import sqlite3
from contextlib import closing, redirect_stdout
from pathlib import Path

import pytest
from cogapp import Cog

from storage import Store
from storage.queries import QUERIES as ASKED
from storage.store import ROW_CAP
from tests import stored
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


@pytest.fixture
def family(tmp_path):
    """A session, two re-runs, a branch and the branch's re-run."""
    with Store.open(tmp_path / "family.sqlite") as store:
        stored.family(store)
        yield store


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


def test_the_page_shows_the_ten_queries_and_the_one_that_repairs():
    assert len(ASKED) == 10
    shown = {title: sql.strip().removesuffix(";") for title, sql in QUERIES.items()}
    assert shown.pop("Rebuild the counters from the events").startswith("UPDATE")
    assert shown == ASKED


@pytest.mark.parametrize("title", ASKED)
def test_every_query_is_answered_read_only(title, family):
    answer = family.query(ASKED[title])
    assert answer["rows"] and not answer["truncated"]
    assert len(answer["columns"]) == len(set(answer["columns"]))


def test_reruns_beside_their_parents(family):
    found = family.query(
        ASKED["Rules side by side on the same prompt and seed, the second against its parent's"]
    )
    assert [row[:4] for row in found["rows"]] == [
        [1, 2, "stochastic", "block"],
        [1, 3, "stochastic", "argmax"],
        [4, 5, "stochastic", "block"],
    ]
    for _, child, _, _, _, passes in found["rows"]:
        assert passes == round(family.session(child).counters.tokens_per_target_pass, 3)


def all_rounds(store: Store) -> list:
    return [r for info in store.sessions() for r in store.rounds(info.id, 0, 999)]


def test_acceptance_by_depth(family):
    found = family.query(ASKED["Acceptance by depth, the i-th draft of a round among those that were tested"])
    rounds = all_rounds(family)
    for depth, tested, accepted in found["rows"]:
        assert tested == sum(r.n_tested >= depth for r in rounds)
        assert accepted == sum(r.verdict.n_accepted >= depth for r in rounds)
    assert [row[0] for row in found["rows"]] == [1, 2, 3]


def test_the_histogram_of_accepted_lengths(family):
    found = family.query(ASKED["How many drafts a round accepted, session by session"])["rows"]
    for session_id, accepted, n in found:
        assert n == sum(r.verdict.n_accepted == accepted for r in family.rounds(session_id, 0, 999))
    assert sum(n for *_, n in found) == len(all_rounds(family))


def test_times_by_stage(family):
    found = family.query(ASKED["Where the time went, in milliseconds"])["rows"]
    for session_id, *stages in found:
        times = [r.times for r in family.rounds(session_id, 0, 999)]
        summed = [sum(getattr(t, stage) for t in times) for stage in ("draft", "target", "judge")]
        assert stages == pytest.approx(summed, abs=0.06)


def test_near_misses(family):
    found = family.query(ASKED["Near misses, coins that fell within .02 of what decided them"])["rows"]
    checks = [check for r in all_rounds(family) for check in r.verdict.checks]
    near = [c for c in checks if c.u is not None and abs(c.u - c.accept_prob) < 0.02]
    assert sorted(row[3] for row in found) == sorted(c.u for c in near)


def test_the_tree(family):
    found = family.query(ASKED["The tree of sessions, children under their parents"])["rows"]
    assert [(row[0], row[1], row[2]) for row in found] == [
        ("1", "run", None),
        ("  2", "rerun", None),
        ("  3", "rerun", None),
        ("  4", "branch", 4),
        ("    5", "rerun", 4),
    ]


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
