"""What the Lab may ask of the engine, and what it answers to nonsense."""

from __future__ import annotations

import pytest

from engine.core import law
from engine.errors import EngineError
from engine.rules import RULES
from inspector import lab
from tests.core.tables import same_everywhere

P, Q = [0.3, 0.5, 0.2], [0.6, 0.3, 0.1]


def ask(**changes: object) -> dict:
    return lab.law_of({"p": P, "q": Q, "k": 2, "rule": "stochastic", "params": {}} | changes)


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.id)
def test_the_answer_is_the_emitted_law(rule):
    found = ask(rule=rule.id, params=rule.params)
    expected = law.emitted_law(rule, same_everywhere(*P), same_everywhere(*Q), 2, 2)
    assert found["why"] == ""
    assert {(a, b): found["pairs"][a][b] for a, b in expected} == expected
    assert sum(found["singles"]) == pytest.approx(1, abs=1e-12)


def test_two_drafts_say_all_of_two_tokens_unless_the_rule_looks_ahead():
    for rule_id in ("stochastic", "fault-shared-coin", "synthetic"):
        four = law.emitted_law(RULES[rule_id], same_everywhere(*P), same_everywhere(*Q), 4, 2)
        found = ask(rule=rule_id, k=4)["pairs"]
        assert all(found[a][b] == pytest.approx(prob, abs=1e-12) for (a, b), prob in four.items())


def test_parameters_count():
    assert ask(rule="lenient", params={"leniency": 1.0})["singles"] == pytest.approx(P, abs=1e-12)
    assert ask(rule="lenient")["singles"] != pytest.approx(P, abs=1e-3)


@pytest.mark.parametrize(
    ("rule", "tokens", "k"), [("block", 8, 4), ("gumbel", 5, 1), ("fault-string-match", 8, 1)]
)
def test_what_would_take_long_is_said_and_not_done(rule, tokens, k):
    row = [1 / tokens] * tokens
    found = ask(rule=rule, p=row, q=row, k=k)
    assert found["pairs"] is None and found["why"]
    assert (found["singles"] is None) == RULES[rule].looks_ahead


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"p": [0.5, 0.6, 0.2]}, "sums to 1.3"),
        ({"p": [1.5, -0.5, 0.0]}, "no distribution"),
        ({"p": [1.0]}, "2 to 8"),
        ({"p": "0.5"}, "no row"),
        ({"p": [0.5, None, 0.5]}, "no number"),
        ({"p": [float("nan"), 0.5, 0.5]}, "no number"),
        ({"q": [0.5, 0.5]}, "same number"),
        ({"k": 5}, "k is 5"),
        ({"k": None}, "k is None"),
        ({"rule": "nonsense"}, "no rule 'nonsense'"),
        ({"rule": "lenient", "params": {"leniency": 7.0}}, "leniency"),
        ({"rule": "stochastic", "params": {"x": 1}}, "no parameter"),
        ({"rule": "lenient", "params": {"leniency": "x"}}, "params is"),
    ],
)
def test_nonsense_is_refused_with_a_sentence(changes, said):
    with pytest.raises(EngineError) as caught:
        ask(**changes)
    assert said in str(caught.value)


def test_the_measured_curves_have_the_shape_that_the_lab_tells_of():
    body = lab.temperatures()
    assert body["positions"] >= 200
    low, high = body["temperatures"].index(0.5), body["temperatures"].index(1.5)
    for curves in body["drafters"].values():
        assert len(curves["sum_min"]) == len(curves["sum_prod"]) == len(body["temperatures"])
        assert all(prod < low for prod, low in zip(curves["sum_prod"], curves["sum_min"], strict=True))
        assert curves["sum_prod"][high] < curves["sum_prod"][low] / 3, "sum p q no longer collapses"
        assert curves["sum_min"][high] > 0.9 * curves["sum_min"][low], "the ceiling no longer stays"
