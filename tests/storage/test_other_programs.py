"""The file as other programs open it: the sqlite-utils command reads every table and answers every query."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from sqlite_utils.cli import cli

from storage import Store
from storage.queries import QUERIES
from tests import stored


@pytest.fixture(scope="module")
def open_store(tmp_path_factory):
    """A store that stays open, as while Draftscope runs."""
    with Store.open(tmp_path_factory.mktemp("other") / "sessions.sqlite") as store:
        stored.family(store)
        yield store


def sqlite_utils(*line: object) -> list[dict]:
    done = CliRunner().invoke(cli, list(map(str, line)))
    assert done.exit_code == 0, done.output
    return json.loads(done.output)


def test_it_counts_what_the_store_has(open_store):
    counted = {one["table"]: one["count"] for one in sqlite_utils("tables", open_store.path, "--counts")}
    assert counted["sessions"] == open_store.number_of_sessions() == 5
    assert counted["events"] == sum(open_store.count(i) for i in range(1, 6))
    assert {"rows", "row_uses", "pieces"} <= set(counted)


@pytest.mark.parametrize("title", QUERIES)
def test_each_query_gives_what_the_panel_gives(open_store, title):
    ours = open_store.query(QUERIES[title])
    theirs = sqlite_utils("query", open_store.path, QUERIES[title])
    assert [list(line.values()) for line in theirs] == ours["rows"]
    assert all(list(line) == ours["columns"] for line in theirs)


def test_every_table_can_be_read_whole(open_store):
    for table in ("sessions", "events", "rows", "row_uses", "pieces"):
        assert sqlite_utils("rows", open_store.path, table)
