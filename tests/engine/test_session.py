"""Every setting is checked before any model is touched, and the rule that really runs is named."""

from __future__ import annotations

import math

import pytest

from engine import rules, session
from engine.core.types import Sampling
from engine.errors import BadSetting, EngineError, ModelError
from engine.session import Request


def refused(**changes) -> EngineError:
    with pytest.raises(EngineError) as caught:
        session.plan(Request(**{"prompt": "Hello"} | changes))
    assert caught.value.hint, "an error names the next step"
    return caught.value


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"rule": "coin-toss"}, "'coin-toss'"),
        ({"params": {"bravery": 1.0}}, "'bravery'"),
        ({"k": -1}, "k is -1"),
        ({"k": session.MAX_K + 1}, f"k is {session.MAX_K + 1}"),
        ({"max_tokens": 0}, "max_tokens is 0"),
        ({"max_tokens": -1}, "max_tokens is -1"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": 2**63}, f"seed is {2**63}"),
        ({"drafter": "self:7bit"}, "'self:7bit'"),
        ({"drafter": "oracle"}, "'oracle'"),
        ({"target": "no such model"}, "'no such model'"),
        ({"target": "/no/such/folder"}, "/no/such/folder"),
        ({"drafter": "model:/no/such/folder"}, "/no/such/folder"),
        ({"prompt": ""}, "prompt is empty"),
        ({"prompt": " \n"}, "prompt is empty"),
        ({"prompt": "a\ud83d"}, "index 1"),
        ({"stop": ("\udc80",)}, "index 0"),
        ({"rule": "greedy-argmax"}, "greedy-argmax"),
    ],
)
def test_a_bad_setting_is_named_with_its_value(changes, named):
    assert named in str(refused(**changes))


NUMBERS = [name for name in Sampling.__dataclass_fields__ if name not in ("logit_bias", "order")]


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("value", [math.nan, math.inf, -1e9])
def test_sampling_refuses_what_is_no_number_in_its_limits(name, value):
    with pytest.raises(BadSetting, match=name):
        Sampling(**{name: value})


@pytest.mark.parametrize("rule_id", [rule.id for rule in rules.RULES.values() if rule.lossless])
@pytest.mark.parametrize("greedy", [Sampling(temperature=0.0), Sampling(top_k=1)])
def test_every_lossless_rule_of_a_greedy_target_is_named_for_what_it_is(rule_id, greedy):
    started = session.plan(Request(prompt="Hello", rule=rule_id, sampling=greedy))
    assert (started.asked, started.rule) == (rule_id, "greedy-argmax")
    assert bool(started.reason) == (rule_id != "greedy-argmax")


def test_a_rule_that_runs_as_asked_gives_no_reason():
    started = session.plan(Request(prompt="Hello"))
    assert (started.asked, started.rule, started.reason) == ("stochastic", "stochastic", "")


def test_an_empty_prompt_may_be_sent_as_it_is():
    assert session.plan(Request(prompt="", raw=True)).prompt == ""


def test_a_folder_is_kept_in_full_so_that_it_is_found_from_elsewhere(tmp_path, monkeypatch):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    started = session.plan(Request(prompt="Hello", target="model", drafter="model:./model"))
    assert started.target == str(tmp_path / "model")
    assert started.drafter == f"model:{tmp_path / 'model'}"


def test_names_that_are_no_folder_stay_as_they_are():
    started = session.plan(Request(prompt="Hello", target="owner/name", drafter="model:bundled"))
    assert (started.target, started.drafter) == ("owner/name", "model:bundled")


def test_a_file_and_a_folder_without_config_are_no_model(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ModelError, match="is a file"):
        session.settled(str(tmp_path / "file"))
    with pytest.raises(ModelError, match=r"has no config\.json"):
        session.settled(str(tmp_path))


def test_under_another_rule_everything_else_stays():
    started = session.plan(Request(prompt="Hello", seed=9, k=2, stop=("x", ""), raw=True))
    other = session.under(started, "block")
    assert other.rule == other.asked == "block"
    for name in ("prompt", "raw", "target", "drafter", "sampling", "seed", "k", "max_tokens", "stop"):
        assert getattr(other, name) == getattr(started, name)
    assert other.stop == ("x",)
