"""The stats tab's answer: counted once, honest about its rule, and figures that agree with their tables."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from engine import rules
from inspector.figures import LOOK
from inspector.screen.tail import encode
from inspector.stats_view import Statistics, own, with_store
from storage import Store
from tests.browser.toy import open_toy, run
from tests.storage.factories import started


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    with open_toy(tmp_path_factory.mktemp("toy") / "toy.sqlite") as controller:
        yield controller


@pytest.fixture(scope="module")
def stats(toy) -> dict:
    return toy.statistics.of(run(toy, max_tokens=160, rule="stochastic"))


def test_the_counts_are_the_sessions(toy, stats):
    info = toy.store.session(stats["session"])
    assert (stats["rounds"], stats["emitted"], stats["proposed"]) == (
        info.rounds,
        info.emitted,
        info.proposed,
    )
    assert (stats["measured"]["part"], stats["measured"]["whole"]) == (info.accepted, info.positions_tested)
    assert stats["closed_forms"][1]["expected"] == pytest.approx(info.sum_min / info.positions_tested)


def test_the_own_rules_law_comes_first_and_is_the_ceiling_for_rejection_sampling(stats):
    own_form, ceiling, _ = stats["closed_forms"]
    assert own_form["name"] == "stochastic"
    assert own_form["expected"] == pytest.approx(ceiling["expected"], abs=1e-9)
    assert (stats["closed_form"], stats["why"]) == ("sum min(p, q)", "")


def test_a_session_is_counted_once_while_it_stays_the_same(toy, stats, monkeypatch):
    monkeypatch.setattr(toy.statistics, "_count", lambda info: pytest.fail("counted again"))
    assert toy.statistics.of(stats["session"]) is stats


def test_a_rule_that_looks_ahead_says_why_it_has_no_law(toy):
    found = toy.statistics.of(run(toy, rule="block"))
    assert [one["name"] for one in found["closed_forms"]] == ["sum min(p, q)", "sum p q"]
    assert "block as a whole" in found["why"]


def test_changed_parameters_are_not_held_against_default_laws(tmp_path):
    with Store.open(tmp_path / "x.sqlite") as store:
        changed = store.session(
            store.create(started(rule="lenient", asked="lenient", params={"leniency": 0.7}))
        )
        default = store.session(
            store.create(started(rule="lenient", asked="lenient", params={"leniency": 0.5}))
        )
        unknown = store.session(store.create(started(rule="mine", asked="mine")))
    assert own(changed)[0] is None and "default parameters" in own(changed)[1]["why"]
    assert own(default) == ("lenient", {"closed_form": "sum min(p/l, q)", "why": ""})
    assert own(unknown)[0] is None and "file" in own(unknown)[1]["why"]


def test_changed_parameters_are_held_against_their_own_law(toy):
    """The session's rule stands in the matrix as it ran, so its law is there to be counted."""
    session_id = run(toy, rule="lenient", params={"leniency": 0.8}, temperature=1.0)
    found = toy.statistics.of(session_id)
    rule = rules.get("lenient", leniency=0.8)
    want = [
        rule.position_law(done.block.p[i], done.block.q[i]).acceptance
        for done in toy.all_rounds(session_id)
        for i in range(done.n_tested)
    ]
    own_form = found["closed_forms"][0]
    assert (own_form["name"], found["why"]) == ("lenient", "")
    assert own_form["expected"] == pytest.approx(sum(want) / len(want))
    judged = [{line.rule: line for line in done.matrix}["lenient"] for done in toy.all_rounds(session_id)]
    for done, line in zip(toy.all_rounds(session_id), judged, strict=True):
        assert line.params == {"leniency": 0.8}
        assert (line.n_accepted, line.next_token) == (done.verdict.n_accepted, done.verdict.next_token)


def test_an_empty_session_has_statistics_without_figures(tmp_path):
    with Store.open(tmp_path / "x.sqlite") as store:
        session_id = store.create(started())
        found = Statistics(store).of(session_id)
    assert found["figures"] == {}
    assert found["measured"] == {"part": 0, "whole": 0, "rate": None, "low": None, "high": None}


def traces(stats: dict, name: str) -> list[dict]:
    return stats["figures"][name]["data"]


def test_figures_draw_the_numbers_of_their_tables(stats):
    depth = traces(stats, "depth")[0]
    assert list(depth["y"]) == [one["rate"] for one in stats["by_depth"]]
    assert list(depth["text"]) == [f"{one['part']} of {one['whole']}" for one in stats["by_depth"]]
    assert list(traces(stats, "lengths")[0]["y"]) == [one["part"] for one in stats["lengths"]]
    ceiling, rates = traces(stats, "entropy")
    assert list(rates["y"]) == [one["rate"] for one in stats["by_entropy"]]
    assert list(ceiling["y"]) == [one["sum_min"] for one in stats["by_entropy"]]
    expected, measured = traces(stats, "closed")
    assert list(expected["x"]) == [one["expected"] for one in stats["closed_forms"]]
    assert list(measured["x"]) == [stats["measured"]["rate"]]
    stretch, mean = traces(stats, "passes")
    assert list(stretch["y"]) == [one["per_pass"] for one in stats["pace"]]
    assert mean["y"][-1] == pytest.approx(stats["emitted"] / stats["rounds"])
    stages = {bar["name"]: bar["x"][0] for bar in traces(stats, "stages")}
    assert stages == {one["stage"]: pytest.approx(one["ms"] / stats["rounds"]) for one in stats["stages"]}
    assert list(traces(stats, "speed")[0]["y"]) == [one["per_second"] for one in stats["pace"]]


def test_error_bars_reach_the_interval(stats):
    bars = traces(stats, "depth")[0]
    for one, up, down in zip(
        stats["by_depth"], bars["error_y"]["array"], bars["error_y"]["arrayminus"], strict=True
    ):
        assert (one["rate"] + up, one["rate"] - down) == pytest.approx((one["high"], one["low"]))


def test_every_colour_is_a_name_that_follows_the_theme(stats):
    """A literal colour would be right in one theme only."""

    def colours(value: object, key: str = "") -> list[str]:
        if isinstance(value, dict):
            return [found for name, item in value.items() for found in colours(item, name)]
        if isinstance(value, list | tuple):
            return [found for item in value for found in colours(item, key)]
        return [value] if "color" in key and isinstance(value, str) else []

    found = colours(stats["figures"])
    assert len(found) > 10
    assert all(colour.startswith("var(--") for colour in found), set(found)


def test_the_time_of_storing_is_what_a_sessions_time_has_besides_its_stages():
    measured = [{"stage": name, "ms": 10.0, "share": 0.25, "median": 1.0} for name in ("draft", "target")]
    found = with_store(measured, 25.0)
    assert [(one["stage"], one["ms"], one["share"]) for one in found] == [
        ("draft", 10.0, 0.4),
        ("target", 10.0, 0.4),
        ("store", 5.0, 0.2),
    ]
    assert with_store(measured, None) == measured and with_store(measured, 19.0) == measured


def test_a_session_of_our_own_shows_the_time_of_storing(stats):
    assert [one["stage"] for one in stats["stages"]] == ["draft", "target", "judge", "matrix", "store"]
    assert sum(one["share"] for one in stats["stages"]) == pytest.approx(1.0)


def test_stages_differ_by_more_than_colour():
    assert len({pattern for _, pattern in LOOK.values()}) == len(LOOK)


def test_the_answer_is_json_without_nan(stats):
    assert json.loads(encode(stats))["session"] == stats["session"]


def test_every_card_of_the_tab_is_in_the_docs():
    root = Path(__file__).resolve().parents[2]
    cards = (root / "assets" / "stats" / "stats_view.js").read_text()
    titles = re.findall(r'^    title: "(.+)",$', cards, re.M)
    page = (root / "docs" / "sessions.md").read_text()
    assert len(titles) == 7
    assert [title for title in titles if f"| {title} |" not in page] == []
