"""Export, import and SQL on the command line: files out and in, and refusals in a sentence."""

from __future__ import annotations

import io
import json
import sqlite3
import sys
from contextlib import closing

import pytest

from storage import Store
from tests import stored


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "source.sqlite"
    with Store.open(path) as store:
        stored.family(store)
    return path


def test_a_family_goes_through_a_file(call, source, tmp_path):
    file, other = tmp_path / "family.jsonl", tmp_path / "other.sqlite"
    out = call("export", 1, "--with-children", "-o", file, "--db", source)
    assert (out.code, out.out) == (0, "") and f"{file.stat().st_size:,} bytes" in out.err
    back = call("import", file, "--db", other, "--json")
    assert json.loads(back.out) == {"sessions": [1, 2, 3, 4, 5]}
    with Store.open(source) as a, Store.open(other) as b:
        assert all(a.events(i) == b.events(i) for i in range(1, 6))
    assert "imported 5 sessions: 6, 7, 8, 9, 10" in call("import", file, "--db", other).out


def test_one_session_goes_to_standard_output_and_in_from_standard_input(
    source, tmp_path, capfdbinary, monkeypatch
):
    from inspector import cli

    with pytest.raises(SystemExit):
        cli.main(["export", "2", "--db", str(source)])
    data = capfdbinary.readouterr().out
    assert data.count(b'"line":"session"') == 1
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    with pytest.raises(SystemExit) as ended:
        cli.main(["import", "-", "--db", str(tmp_path / "in.sqlite")])
    assert ended.value.code == 0 and b"imported 1 session: 1" in capfdbinary.readouterr().out


def test_a_page_is_written(call, source, tmp_path):
    alone, family = tmp_path / "alone.html", tmp_path / "family.html"
    assert call("export", 1, "--html", "-o", alone, "--db", source).code == 0
    assert call("export", 1, "--html", "--with-children", "-o", family, "--db", source).code == 0
    assert alone.read_text("utf-8").startswith("<!doctype html>")
    assert family.stat().st_size > alone.stat().st_size
    rules = "block,lenient:leniency=0.4"
    assert call("export", 1, "--html", "--rejudge", rules, "-o", family, "--db", source).code == 0
    assert '"lanes":[1,"1~block","1~lenient:leniency=0.4"]' in family.read_text("utf-8")


@pytest.mark.parametrize("content", [b"", b"hello\n", b'{"line":"header"}\n', b"\x00" * 100])
def test_a_file_that_is_no_export_changes_nothing(call, source, tmp_path, content):
    file = tmp_path / "bad.jsonl"
    file.write_bytes(content)
    with closing(sqlite3.connect(source)) as conn:
        before = list(conn.iterdump())
    printed = call("import", file, "--db", source)
    assert printed.code == 2 and printed.err.startswith("Error: ") and printed.err.count("\n") == 1
    with closing(sqlite3.connect(source)) as conn:
        assert list(conn.iterdump()) == before


@pytest.mark.parametrize(
    ("line", "named"),
    [
        (("import", "/no/such/file"), "cannot be read"),
        (("import", "/"), "cannot be read"),
        (("export", 99), "no session 99"),
        (("export", 99, "--html"), "no session 99"),
        (("export", 1, "--rejudge", "block"), "without --html"),
        (("export", 1, "--html", "--rejudge", "no-such-rule"), "no-such-rule"),
        (("export", 1, "-o", "/no/such/folder/x"), "cannot be written"),
        (("sql", "DELETE FROM sessions"), "something else than read"),
        (("sql", "SELECT * FROM nowhere"), "no such table"),
    ],
)
def test_wrong_input_ends_with_a_sentence(call, source, line, named):
    printed = call(*line, "--db", source)
    assert printed.code == 2 and named in printed.err and printed.out == "" and printed.err.count("\n") == 1


def test_a_question_is_answered_as_a_table_or_as_json(call, source):
    query = "SELECT id, rule, title, parent_id FROM sessions ORDER BY id LIMIT 2"
    assert json.loads(call("sql", query, "--db", source, "--json").out) == {
        "columns": ["id", "rule", "title", "parent_id"],
        "rows": [[1, "stochastic", "The first <b>one</b>", None], [2, "block", "", 1]],
        "truncated": False,
    }
    assert call("sql", query, "--db", source).out.splitlines() == [
        "id  rule        title                 parent_id",
        "--  ----------  --------------------  ---------",
        "1   stochastic  The first <b>one</b>",
        "2   block                             1",
    ]


def test_control_characters_do_not_reach_the_terminal(call, source):
    assert r"\x1b[31m" in call("sql", "SELECT char(27) || '[31m'", "--db", source).out
