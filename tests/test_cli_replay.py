"""`replay` over parameters, drafters and k, and its table for programs and for people."""

from __future__ import annotations

import csv
import io
import shutil

import pytest

from inspector.lane_lines import COLUMNS
from storage import Store
from tests.calling import assert_refused, contents


def test_lanes_are_every_rule_with_every_drafter_and_every_k(call, db, tmp_path):
    path = shutil.copy(db, tmp_path)
    lanes = "lenient:leniency=0.4,block"
    done = call("replay", 1, "--rules", lanes, "--k", "1,3", "--drafters", "none", "--json", "--db", path)
    assert done.code == 0
    found = [(lane["rule"], lane["params"], lane["drafter"], lane["k"]) for lane in done.object["lanes"]]
    assert found == [
        ("lenient", {"leniency": 0.4}, "none", 1),
        ("lenient", {"leniency": 0.4}, "none", 3),
        ("block", {}, "none", 1),
        ("block", {}, "none", 3),
    ]
    with Store.open(path) as store:
        assert [child.k for child in store.children(1)][-4:] == [1, 3, 1, 3]
    people = call("replay", 1, "--k", "2", "--db", path).out
    assert "  stochastic, k 2  " in people


def test_without_a_rule_the_session_repeats_itself(call, db, tmp_path):
    path = shutil.copy(db, tmp_path)
    (lane,) = call("replay", 1, "--json", "--db", path).object["lanes"]
    assert (lane["reproduced"], lane["row"]) == (True, None)


def test_the_table_is_all_there_is_on_stdout(call, db):
    before = contents(db)
    judged = ("replay", 1, "--rules", "stochastic,lenient:leniency=0.4", "--mode", "rejudge", "--db", db)
    rows = list(csv.DictReader(io.StringIO(call(*judged, "--csv").out)))
    assert [(row["mode"], row["rule"], row["params"]) for row in rows] == [
        ("run", "stochastic", ""),
        ("rejudge", "stochastic", ""),
        ("rejudge", "lenient", "leniency=0.4"),
    ]
    for name in ("tokens_per_target_pass", "per_position_acceptance", "law_tv"):
        assert rows[0][name] == rows[1][name] != ""
    people = call(*judged, "--markdown").out.splitlines()
    assert people[0] == "|  | stochastic (#1) | stochastic (re-judged) | lenient 0.4 (re-judged) |"
    assert [line.split(" | ")[0][2:] for line in people[2 : 2 + len(COLUMNS)]] == [
        column["title"] for column in COLUMNS
    ]
    assert contents(db) == before


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--k", "two"], "k is 'two'"),
        (["--k", "99"], "k"),
        (["--drafters", "wish"], "wish"),
        (["--rules", "lenient:leniency=9"], "leniency"),
        (["--rules", "block", "--k", "2", "--mode", "rejudge"], "keeps the drafts"),
        (["--csv", "--json"], "both given"),
        (["--k", "1,2,3,4,5,6,7,8,9"], "9 lanes"),
    ],
)
def test_what_cannot_be_a_lane_is_refused_and_stores_nothing(call, db, more, says):
    before = contents(db)
    done = call("replay", 1, *more, "--db", db)
    assert_refused(done, says)
    assert contents(db) == before
