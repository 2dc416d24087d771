"""Lanes over rules with parameters, drafters and k: what runs, what is re-judged, what the table says."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import numpy as np
import pytest

from engine import rules
from engine.core import lane_summary
from engine.errors import BadSetting
from inspector import lane_lines, lane_tables
from inspector.lanes import MAX_LANES, lane_of
from inspector.standalone.static_page import record
from tests.browser.toy import open_toy, run


@pytest.fixture
def toy(tmp_path):
    with open_toy(tmp_path / "toy.sqlite") as controller:
        yield controller


def rerun(controller, session_id: int, *lanes) -> list[int]:
    children = controller.rerun(session_id, list(lanes))
    for child in children:
        controller.wait(child)
    return children


def test_a_lane_changes_what_it_names_and_nothing_else(toy):
    session_id = run(toy, rule="lenient", params={"leniency": 0.4}, drafter="lookup", max_tokens=12, seed=9)
    asked = [
        {"rule": "lenient"},
        {"rule": "lenient", "params": {"leniency": 0.8}},
        {"k": 2},
        {"drafter": "none", "rule": "block"},
        "typical",
    ]
    children = rerun(toy, session_id, *asked)
    found = [toy.store.started(child) for child in children]
    assert [(one.rule, one.params, one.drafter, one.k) for one in found] == [
        ("lenient", {"leniency": 0.4}, "lookup", 4),
        ("lenient", {"leniency": 0.8}, "lookup", 4),
        ("lenient", {"leniency": 0.4}, "lookup", 2),
        ("block", {}, "none", 4),
        ("typical", rules.get("typical").params, "lookup", 4),
    ]
    first = toy.store.started(session_id)
    for one in found:
        same = replace(one, rule=first.rule, asked=first.asked, params=first.params)
        assert replace(same, drafter=first.drafter, k=first.k) == first
    assert all(toy.store.session(child).relation == "rerun" for child in children)


def test_only_the_baselines_own_re_run_can_be_reproduced(toy):
    session_id = run(toy, rule="lenient", params={"leniency": 0.4}, drafter="lookup", max_tokens=12)
    children = rerun(toy, session_id, "lenient", {"params": {"leniency": 0.8}}, {"k": 2}, {"drafter": "none"})
    lines = toy.compared(children)["lines"]
    assert [line.get("reproduced") for line in lines] == [True, None, None, None]
    assert [lane.get("reproduced") for lane in toy.lanes(session_id, children)] == [True, None, None, None]
    branched = toy.branch(session_id, 3, " cat")
    toy.wait(branched)
    assert "reproduced" not in toy.compared([branched])["lines"][0]
    assert "reproduced" not in toy.compared([session_id])["lines"][0]


def test_a_repetition_that_fails_names_the_first_row_and_by_how_much(toy):
    session_id = run(toy, max_tokens=16)
    info, rounds = toy.store.session(session_id), toy.all_rounds(session_id)
    done = rounds[1]
    row = done.block.p[0]
    probs = row.probs.copy()
    top = int(np.argmax(probs))
    probs[top] -= 1e-5
    coins = (replace(done.coins[0], u=done.coins[0].u / 2), *done.coins[1:])
    other = replace(done, block=replace(done.block, p=(replace(row, probs=probs), *done.block.p[1:])))
    told = lane_lines.repetition(info, rounds, info, [rounds[0], replace(other, coins=coins), *rounds[2:]])
    assert told["reproduced"] is False and told["difference"].startswith("round 1: coins differ")
    found = told["row"]
    assert (found["round"], found["position"], found["side"]) == (1, done.block.start, "p")
    assert found["largest"] == pytest.approx(1e-5) and found["token"] == int(row.ids[top])
    assert lane_lines.repetition(info, rounds, info, rounds)["row"] is None


@pytest.mark.parametrize(
    ("lanes", "says"),
    [
        ([], "0 lanes"),
        ([{"k": n} for n in range(1, MAX_LANES + 2)], "9 lanes"),
        ([{"rule": "nope"}], "no rule 'nope'"),
        ([{"rule": "lenient", "params": {"x": 1}}], "no parameter 'x'"),
        ([{"rule": "lenient", "params": {"leniency": 7}}], "leniency"),
        ([{"rule": "lenient", "params": {"leniency": "much"}}], "leniency is 'much'"),
        ([{"k": 1.5}], "k is 1.5"),
        ([{"k": 65}], "k"),
        ([{"drafter": "wish"}], "wish"),
        ([{"seed": 3}], "no 'seed'"),
        (["block", {"drafter": 4}], "drafter is 4"),
    ],
)
def test_a_lane_that_cannot_be_is_said_and_nothing_is_stored(toy, lanes, says):
    session_id = run(toy, max_tokens=2)
    before = toy.store.number_of_sessions()
    with pytest.raises(BadSetting) as error:
        toy.rerun(session_id, lanes)
    assert says in str(error.value)
    assert toy.store.number_of_sessions() == before


def test_what_a_page_asks_for_is_a_lane_or_refused():
    assert lane_of("block") == {"rule": "block"}
    assert lane_of({"rule": "block", "k": None, "title": "x"}) == {"rule": "block"}
    with pytest.raises(BadSetting):
        lane_of(4)


def test_a_re_judged_lane_is_the_rerun_as_far_as_it_goes(toy):
    session_id = run(toy, drafter="lookup", max_tokens=40, seed=2)
    asked = [
        {"rule": "lenient", "params": {"leniency": 0.7}},
        {"rule": "sampler-match"},
        {"rule": "stochastic"},
    ]
    before = toy.store.number_of_sessions()
    found = toy.rejudged(session_id, asked)
    assert toy.store.number_of_sessions() == before
    for lane, child in zip(found["lanes"], rerun(toy, session_id, *asked), strict=True):
        live = toy.rounds(child, 0, 999)["rounds"][: len(lane["rounds"])]
        assert [timeless(view) for view in lane["rounds"]] == [timeless(view) for view in live]
        line = lane["line"]
        assert (line["mode"], line["session"], line["exact"]) == ("rejudge", session_id, True)
        assert line["rounds"] == len(lane["rounds"])
        named = {str(token) for view in lane["rounds"] for bar in view["positions"] for token in [bar["x"]]}
        assert named <= set(found["pieces"])
    assert found["lanes"][2]["line"]["reproduced"] is True
    assert found["lanes"][0]["line"]["status"] == "needs a run"
    for changed in ({"k": 2}, {"drafter": "none"}):
        with pytest.raises(BadSetting, match="keeps the drafts"):
            toy.rejudged(session_id, [{"rule": "block"} | changed])


def timeless(view: dict) -> dict:
    """A round as drawn, without what a re-judge cannot have: its time, and the matrix of another session."""
    return {name: value for name, value in view.items() if name not in ("times", "matrix")}


def test_a_line_is_folded_once_and_again_when_its_session_has_grown(toy):
    session_id = run(toy, max_tokens=8)
    line = toy.lines.of(session_id)
    assert toy.lines.of(session_id) is line
    assert line["cells"] == lane_summary.summary(toy.all_rounds(session_id), rules.get("stochastic"))["cells"]
    assert line["emitted"] == toy.store.session(session_id).emitted
    child = rerun(toy, session_id, "stochastic")[0]
    assert toy.lines.of(child)["reproduced"] is True
    toy.store.delete(session_id)
    assert "reproduced" not in toy.lines.of(child)


def test_a_recording_holds_the_table_of_its_lanes(toy):
    session_id = run(toy, max_tokens=8)
    children = rerun(toy, session_id, "stochastic", "block")
    held = record(toy, [session_id, *children])["compared"]
    assert held == toy.compared([session_id, *children])
    assert [line["session"] for line in held["lines"]] == [session_id, *children]
    json.dumps(held, allow_nan=False)


def test_the_table_as_csv_and_as_markdown(toy):
    session_id = run(toy, max_tokens=24, rule="lenient", params={"leniency": 0.3})
    children = rerun(toy, session_id, {"rule": "stochastic", "k": 2}, "lenient")
    lines = toy.compared([session_id, *children])["lines"]
    judged = toy.rejudged(session_id, ["argmax"])["lanes"][0]["line"]
    table = list(csv.DictReader(io.StringIO(lane_tables.as_csv([*lines, judged]))))
    assert [row["mode"] for row in table] == ["run", "run", "run", "rejudge"]
    assert table[0]["params"] == "leniency=0.3"
    for row, line in zip(table, [*lines, judged], strict=True):
        for column in lane_lines.COLUMNS:
            for name, part in ((column["id"], "value"), (f"{column['id']}_low", "low")):
                want = line["cells"][column["id"]][part]
                assert row[name] == "" if want is None else float(row[name]) == pytest.approx(want, rel=1e-11)
    text = lane_tables.as_markdown([*lines, judged])
    head, rule, *rows = text.splitlines()
    assert head == f"|  | lenient 0.3 (#{session_id}) | stochastic, k 2 (#{children[0]}) | " + (
        f"lenient 0.3 (#{children[1]}) | argmax (re-judged) |"
    )
    assert all(line.count("|") == 6 for line in (head, rule, *rows[: len(lane_lines.COLUMNS) + 1]))
    marks = lane_summary.best([*lines, judged])
    bold = [line for line in rows if "**" in line]
    assert len(bold) == sum(bool(mark["lanes"]) for mark in marks.values())


def test_a_formula_in_a_name_stays_a_text():
    assert lane_tables.plain('=cmd|"x"') == '\'=cmd|"x"'
    assert (lane_tables.plain("-0.5"), lane_tables.plain("block"), lane_tables.plain(4)) == (
        "-0.5",
        "block",
        4,
    )
