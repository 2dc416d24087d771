"""Comparisons in the background: they go on by themselves, say how far they are, and can be stopped."""

from __future__ import annotations

import json

import pytest

from engine.errors import BadSetting
from inspector.form import form_of
from tests.playing import SHORT_ROWS, asked

RULES = [("stochastic", {}), ("lenient", {"leniency": 0.6})]


@pytest.fixture
def form(tiny_folder) -> dict:
    return form_of(asked(tiny_folder, drafter="self:4bit", sampling=SHORT_ROWS, max_tokens=8, raw=True))


def test_a_comparison_goes_on_when_nobody_looks(controller, form):
    number = controller.comparisons.start(form, RULES, [70, 71], ["then", "the theme"])
    controller.comparisons.wait(number)
    status = json.loads(json.dumps(controller.comparisons.status(number), allow_nan=False))
    assert (status["running"], status["step"], status["error"]) == (False, None, None)
    assert (status["done"], status["runs"], status["complete"]) == (8, 8, True)
    assert [line["rule"] for line in status["rules"]] == ["stochastic", "lenient:leniency=0.6"]


def test_the_same_again_runs_nothing(controller, form):
    comparisons = controller.comparisons
    comparisons.wait(comparisons.start(form, RULES, [80], ["then"]))
    before = controller.store.number_of_sessions()
    again = comparisons.start(form, RULES, [80], ["then"])
    comparisons.wait(again)
    assert comparisons.status(again)["found"] == 2
    assert controller.store.number_of_sessions() == before


def test_a_stopped_comparison_keeps_what_is_finished(controller, form):
    comparisons = controller.comparisons
    number = comparisons.start(form, RULES, list(range(500, 600)), ["then"])
    while comparisons.status(number)["done"] < 2:
        pass
    comparisons.stop(number)
    comparisons.wait(number)
    status = comparisons.status(number)
    assert 2 <= status["done"] < status["runs"] and not status["running"]


def test_what_fails_is_said(controller, form):
    number = controller.comparisons.start(form | {"max_tokens": 5000}, RULES, [1], ["then"])
    controller.comparisons.wait(number)
    status = controller.comparisons.status(number)
    assert "2048" in status["error"]["message"] and status["done"] == 0


@pytest.mark.parametrize(
    ("rules", "seeds", "prompts", "named"),
    [
        ([], [1], ["x"], "0 rules"),
        ([("nope", {})], [1], ["x"], "'nope'"),
        (RULES, [], ["x"], "0 seeds"),
        (RULES, [-1], ["x"], "seed is -1"),
        (RULES, [1], [], "0 prompts"),
    ],
)
def test_what_cannot_be_compared_is_refused_at_once(controller, form, rules, seeds, prompts, named):
    with pytest.raises(BadSetting, match=named):
        controller.comparisons.start(form, rules, seeds, prompts)


def test_an_unknown_comparison_is_none(controller):
    for ask in (controller.comparisons.status, controller.comparisons.stop):
        with pytest.raises(BadSetting, match="no comparison 999"):
            ask(999)
