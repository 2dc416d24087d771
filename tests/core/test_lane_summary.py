"""A lane in numbers, against the slow and plain way to each of them, and what is called best."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import rules
from engine.core import lane_summary, paired, position_law, rows
from engine.core.events import StageTimes
from engine.core.lane_summary import COLUMNS, best, best_in, cell, ratio_cell, summary
from tests import stored


def played(rule: str, params: dict | None = None, **changes) -> list:
    return list(stored.rounds_of(stored.plan(rule, params=params or {}, **changes)))


@pytest.fixture(scope="module")
def lenient() -> list:
    rounds = played("lenient", {"leniency": 0.4}, max_tokens=40)
    return [replace(done, times=StageTimes(3.0, 5.0, 1.0, 9.0)) for done in rounds]


def test_every_number_is_the_plain_fold(lenient):
    rule = rules.get("lenient", leniency=0.4)
    found = summary(lenient, rule)
    cells = {name: one["value"] for name, one in found["cells"].items()}
    emitted = sum(len(done.emitted) for done in lenient)
    tested = [(done, i) for done in lenient for i in range(done.n_tested)]
    laws = [position_law.position_law(rule, d.block.p[i], d.block.q[i]) for d, i in tested]
    tv = [position_law.tv_to(law, d.block.p[i]) for law, (d, i) in zip(laws, tested, strict=True)]
    accepted = [(d, i) for d in lenient for i in range(d.verdict.n_accepted)]
    want = {
        "tokens_per_target_pass": emitted / len(lenient),
        "per_position_acceptance": len(accepted) / len(tested),
        "expected_acceptance": np.mean([law.acceptance for law in laws]),
        "sum_min": np.mean([rows.overlap(d.block.p[i], d.block.q[i]) for d, i in tested]),
        "rescued": sum(d.own[i] != d.block.tokens[i] for d, i in accepted) / len(accepted),
        "law_tv": np.mean(tv),
        "law_tv_max": max(tv),
        "log_likelihood": np.mean(
            [math.log(d.block.p[i].prob(x)) for d in lenient for i, x in enumerate(d.emitted)]
        ),
        "ms_per_token": 9 * len(lenient) / emitted,
        "draft_ms": 3 * len(lenient) / emitted,
        "target_ms": 5 * len(lenient) / emitted,
        "judge_ms": len(lenient) / emitted,
    }
    assert cells == pytest.approx(want, abs=1e-12)
    assert list(found["cells"]) == [column.id for column in COLUMNS] == list(want)
    worst = tested[int(np.argmax(tv))]
    assert found["worst"] == {"round": worst[0].index, "pos": worst[1]}
    assert sum(found["lengths"]) == len(lenient)
    assert sum(i * n for i, n in enumerate(found["lengths"])) == len(accepted)


def test_an_interval_holds_its_value_and_stays_where_the_number_can_be(lenient):
    found = summary(lenient, rules.get("lenient", leniency=0.4))["cells"]
    with_interval = {name for name, one in found.items() if one["low"] is not None}
    assert with_interval == {
        "tokens_per_target_pass",
        "per_position_acceptance",
        "rescued",
        "law_tv",
        "log_likelihood",
        "ms_per_token",
    }
    for name in with_interval:
        one = found[name]
        assert one["low"] <= one["value"] <= one["high"] and one["n"] > 1 and one["why"] == ""
        assert name == "log_likelihood" or one["low"] >= 0


def test_a_lossless_law_is_0_and_has_no_worst_place():
    found = summary(played("stochastic"), rules.get("stochastic"))
    assert (found["cells"]["law_tv"]["value"], found["cells"]["law_tv_max"]["value"]) == (0.0, 0.0)
    assert found["worst"] is None


@pytest.mark.parametrize(
    ("rule", "word"), [("block", "whole blocks"), (None, "not loaded")], ids=["block", "unknown"]
)
def test_a_law_that_is_not_there_has_a_reason(rule, word):
    found = summary(played("block"), rule and rules.get(rule))["cells"]
    for name in ("expected_acceptance", "law_tv", "law_tv_max"):
        assert found[name]["value"] is None and word in found[name]["why"]


def test_cut_rows_keep_the_law_that_the_session_took_and_lose_any_other():
    cut = [
        replace(
            done,
            block=replace(
                done.block,
                p=tuple(rows.cut(row, 2, (*done.emitted, *done.own)) for row in done.block.p),
                q=tuple(rows.cut(row, 2, done.block.tokens) for row in done.block.q),
            ),
        )
        for done in played("lenient", {"leniency": 0.4})
    ]
    own, other = rules.get("lenient", leniency=0.4), rules.get("lenient", leniency=0.9)
    assert summary(cut, own)["cells"]["law_tv"]["value"] > 0
    assert "cut" in summary(cut, other)["cells"]["law_tv"]["why"]


def test_no_rounds_and_no_work_have_reasons_not_numbers():
    empty = summary([], rules.get("stochastic"))
    assert {one["value"] for one in empty["cells"].values()} == {None}
    assert all(one["why"] for one in empty["cells"].values())
    judged = [replace(done, times=StageTimes()) for done in played("stochastic")]
    assert "no model ran" in summary(judged, rules.get("stochastic"))["cells"]["ms_per_token"]["why"]


def test_a_token_without_mass_has_no_likelihood():
    done = played("stochastic")
    cut = next(token for token in range(stored.VOCAB) if done[0].block.p[0].prob(token) == 0)
    found = summary([replace(done[0], emitted=(cut,)), *done[1:]], rules.get("stochastic"))
    assert "no mass" in found["cells"]["log_likelihood"]["why"]


numbers = st.lists(st.tuples(st.floats(0.1, 50), st.integers(1, 9)), min_size=2, max_size=12)


@given(numbers)
def test_a_ratio_of_equal_denominators_is_a_mean(pairs):
    above, below = [a for a, _ in pairs], [3] * len(pairs)
    found, plain = ratio_cell(above, below), paired.mean([a / 3 for a in above])
    assert found["value"] == pytest.approx(plain.mean)
    assert found["high"] == pytest.approx(plain.high)
    assert found["low"] == pytest.approx(max(0.0, plain.low), abs=1e-9)


cells = st.builds(
    lambda value, half: cell(value, *((None, None) if half is None else (value - half, value + half))),
    st.integers(0, 6).map(float),
    st.one_of(st.none(), st.floats(0, 2)),
)
missing = st.just(cell(None, why="-"))


@given(st.lists(st.one_of(missing, cells), max_size=8))
def test_the_best_is_at_the_end_and_apart_from_all_others(lanes):
    found = best_in(lanes, "high")
    there = [one for one in lanes if one["value"] is not None]
    for i in found["lanes"]:
        for one in there:
            assert one["value"] == lanes[i]["value"] or not lane_summary.overlap(one, lanes[i])
            assert one["value"] <= lanes[i]["value"]
    if not found["lanes"] and len(there) > 1:
        assert found["why"]
    mirrored = [
        one | {"value": -one["value"], "low": None, "high": None}
        if one["low"] is None and one["value"] is not None
        else one | {"value": -one["value"], "low": -one["high"], "high": -one["low"]}
        if one["value"] is not None
        else one
        for one in lanes
    ]
    assert best_in(mirrored, "low") == found


def test_only_columns_with_a_better_end_have_a_best(lenient):
    lines = [summary(lenient, rules.get("lenient", leniency=0.4))] * 2
    assert set(best(lines)) == {column.id for column in COLUMNS if column.better}
    assert "log_likelihood" not in best(lines)
