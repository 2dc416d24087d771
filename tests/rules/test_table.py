"""The table of rules: every word filled in, every parameter checked, and what a greedy target runs."""

import re
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from engine import rules
from engine.core.types import Param, Sampling
from engine.errors import BadSetting
from engine.rules import RULES
from engine.rules.stochastic import Stochastic

ALL = list(RULES.values())
SAMPLING, GREEDY = Sampling(temperature=1.0), Sampling(temperature=0.0)


def ids(value):
    return value.id if hasattr(value, "id") else None


@pytest.mark.parametrize("rule", ALL, ids=ids)
def test_a_rule_says_what_it_is(rule):
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", rule.id)
    for name in ("title", "meaning", "formula", "source", "closed_form"):
        assert getattr(rule, name).strip(), f"{rule.id} has no {name}"
    assert rule.meaning.endswith(".") and "." not in rule.meaning[:-1].replace("...", "")
    assert not (rule.lossless and rule.faulty)
    assert rule.id.startswith("fault-") == rule.faulty
    assert rule.lossless or not rule.greedy_only


def test_ids_and_titles_are_not_used_twice():
    assert list(RULES) == [rule.id for rule in ALL]
    assert len({rule.title for rule in ALL}) == len(ALL)


@pytest.mark.parametrize("rule", ALL, ids=ids)
def test_a_rule_has_a_file_of_its_own_name(rule):
    folder = Path(rules.__file__).parent
    assert type(rule).__module__ == f"engine.rules.{rule.id.replace('-', '_')}"
    assert (folder / f"{rule.id.replace('-', '_')}.py").exists()


def test_the_rules_of_the_field_are_there():
    assert {
        "greedy-argmax",
        "sampler-match",
        "stochastic",
        "one-hot",
        "block",
        "argmax",
        "fault-residual-from-p",
        "fault-one-token-residual",
    } <= set(RULES)


def test_what_each_rule_claims():
    assert {rule.id for rule in ALL if rule.lossless} == {
        "stochastic", "sampler-match", "one-hot", "block", "gumbel", "greedy-argmax",
    }  # fmt: skip
    assert {rule.id for rule in ALL if rule.looks_ahead} == {"block", "fly"}


def test_an_unknown_rule_is_named_beside_those_there_are():
    with pytest.raises(BadSetting, match=r"no rule 'bloc'.*stochastic.*block"):
        rules.get("bloc")


@pytest.mark.parametrize("rule", ALL, ids=ids)
def test_get_gives_the_rule_at_its_defaults(rule):
    assert rules.get(rule.id) == rule
    assert rule.params == {param.name: param.default for param in rule.parameters}
    for param in rule.parameters:
        assert param.low <= param.default <= param.high and param.meaning and param.origin


@pytest.mark.parametrize("rule", ALL, ids=ids)
def test_an_unknown_parameter_is_refused(rule):
    with pytest.raises(BadSetting, match=f"{rule.id} has no parameter 'colour'"):
        rules.get(rule.id, colour=1.0)


@pytest.mark.parametrize("rule", ALL, ids=ids)
def test_parameters_keep_their_limits(rule):
    for param in rule.parameters:
        for value in (param.low, param.high):
            assert rules.get(rule.id, **{param.name: value}).params[param.name] == value
        for value in (param.low - 1, param.high + 1, float("nan")):
            with pytest.raises(BadSetting, match=param.name):
                rules.get(rule.id, **{param.name: value})


@dataclass(frozen=True)
class Dialled(Stochastic):
    dial: float = 0.5

    id = "dialled"
    parameters = (Param("dial", 0.5, 0.0, 1.0, "Turns.", "ours"),)


def test_changing_a_parameter_leaves_the_rule_as_it_was():
    rule = Dialled()
    changed = rule.with_params({"dial": 0.25})
    assert (rule.params, changed.params) == ({"dial": 0.5}, {"dial": 0.25})
    assert changed != rule and replace(changed, dial=0.5) == rule


@pytest.mark.parametrize("rule", [r for r in ALL if r.lossless and not r.greedy_only], ids=ids)
@pytest.mark.parametrize(
    ("sampling", "why"), [(GREEDY, "temperature is 0"), (Sampling(temperature=0.7, top_k=1), "top-k is 1")]
)
def test_a_lossless_rule_becomes_the_greedy_one_and_says_why(rule, sampling, why):
    ran, reason = rules.effective(rule, sampling)
    assert ran.id == "greedy-argmax"
    assert reason.startswith(why)


@pytest.mark.parametrize("rule", [r for r in ALL if not r.greedy_only], ids=ids)
def test_every_other_rule_runs_as_asked(rule):
    assert rules.effective(rule, SAMPLING) == (rule, "")
    if not rule.lossless:
        assert rules.effective(rule, GREEDY) == (rule, "")


def test_the_greedy_rule_runs_where_the_target_is_greedy_and_is_refused_elsewhere():
    greedy = RULES["greedy-argmax"]
    assert rules.effective(greedy, GREEDY) == (greedy, "")
    with pytest.raises(
        BadSetting, match=r"greedy-argmax needs temperature 0 or top-k 1, got temperature 1\."
    ):
        rules.effective(greedy, SAMPLING)
