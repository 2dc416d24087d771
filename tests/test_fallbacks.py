"""No rule is replaced in silence: event, acceptance line, command line, lanes and head name both, and why."""

from __future__ import annotations

import pytest

from engine import rules, session
from engine.core.types import Sampling
from engine.session import Request
from inspector.form import form_of
from tests.calling import run_args
from tests.playing import asked, play

#: Every rule that a greedy target turns into another one.
TURNED = [rule.id for rule in rules.RULES.values() if rule.lossless and not rule.greedy_only]
#: What makes a target greedy, on the command line and as settings, and the reason that is given.
GREEDY = [
    (["--temperature", 0], Sampling(temperature=0.0), "temperature is 0"),
    (["--temperature", 0.9, "--top-k", 1], Sampling(temperature=0.9, top_k=1), "top-k is 1"),
]
#: The rules that keep their name under a greedy target.
KEPT = [rule.id for rule in rules.RULES.values() if rule.id not in TURNED]

turned = pytest.mark.parametrize("rule_id", TURNED)
greedy = pytest.mark.parametrize(("options", "sampling", "why"), GREEDY, ids=["temperature 0", "top-k 1"])


def test_the_lossless_rules_are_meant():
    assert TURNED == ["stochastic", "sampler-match", "one-hot", "block", "gumbel"]


@turned
@greedy
def test_the_event_and_the_screens_head_name_both_rules_and_why(
    controller, tiny_folder, rule_id, options, sampling, why
):
    session_id = controller.start(form_of(asked(tiny_folder, rule=rule_id, sampling=sampling, max_tokens=3)))
    controller.wait(session_id)
    started, head = controller.store.started(session_id), controller.head(session_id)
    for told in (started.to_dict(), head):
        assert (told["asked"], told["rule"]) == (rule_id, "greedy-argmax")
        assert told["reason"].startswith(f"{why}: ")
    line = controller.sessions()[0]
    assert (line["asked"], line["rule"]) == (rule_id, "greedy-argmax")


@turned
@greedy
def test_the_command_line_says_it_before_the_text_and_counts_under_the_rule_that_ran(
    call, tiny_folder, tmp_path, rule_id, options, sampling, why
):
    args = run_args(tiny_folder, tmp_path / "a.sqlite", "--rule", rule_id, "--max-tokens", 2, *options)
    people = call(*args)
    assert people.code == 0
    assert f"{rule_id} runs as greedy-argmax: {why}" in people.err.splitlines()[0]
    assert people.out.splitlines()[-1].startswith("[Speculative acceptance] rule=greedy-argmax rounds=")
    shown = call("show", 1, "--db", tmp_path / "a.sqlite").out.splitlines()
    assert shown[1].startswith(f"{rule_id} runs as greedy-argmax: {why}")


@turned
@greedy
def test_the_objects_for_programs_name_both_rules_and_why(
    call, tiny_folder, tmp_path, rule_id, options, sampling, why
):
    path = tmp_path / "a.sqlite"
    args = run_args(tiny_folder, path, "--rule", rule_id, "--max-tokens", 2, "--drafter", "lookup", *options)
    done = call(*args, "--json")
    rerun = call("replay", 1, "--rules", rule_id, "--json", "--db", path)
    rejudge = call("replay", 1, "--rules", rule_id, "--mode", "rejudge", "--json", "--db", path)
    for told in (done.object, *rerun.object["lanes"], *rejudge.object["lanes"]):
        assert (told["asked"], told["rule"]) == (rule_id, "greedy-argmax")
        assert told["rule_reason"].startswith(f"{why}: ")
    for printed in (done, rerun):
        assert f"{rule_id} runs as greedy-argmax: {why}" in printed.err
    people = call("replay", 1, "--rules", rule_id, "--mode", "rejudge", "--db", path).out
    assert f"instead of {rule_id}, {why}" in people


@pytest.mark.parametrize("rule_id", KEPT)
def test_every_other_rule_runs_under_its_own_name_and_says_nothing(rule_id):
    for _, sampling, _ in GREEDY:
        started = session.plan(Request(prompt="Hello", rule=rule_id, sampling=sampling))
        assert (started.asked, started.rule, started.reason) == (rule_id, rule_id, "")


def test_a_comparison_of_rules_that_all_become_one_says_so(call, tiny_folder, tmp_path):
    options = ["--target", tiny_folder, "--drafter", "lookup", "--temperature", 0, "--max-tokens", 2]
    args = ["compare", "--prompt", "Hello", "--rules", "stochastic,block", "--seeds", "0:1", *options]
    people = call(*args, "--db", tmp_path / "a.sqlite")
    assert people.code == 0, people.err
    for rule_id in ("stochastic", "block"):
        assert f"{rule_id} runs as greedy-argmax: temperature is 0" in people.out
    told = call(*args, "--json", "--db", tmp_path / "a.sqlite").object["rules"]
    assert [(one["rule"], one["ran"]) for one in told] == [
        ("stochastic", "greedy-argmax"),
        ("block", "greedy-argmax"),
    ]
    assert all(one["rule_reason"].startswith("temperature is 0") for one in told)


def test_a_branch_of_a_greedy_session_says_it_too(call, tiny_folder, tmp_path):
    path = tmp_path / "a.sqlite"
    args = run_args(tiny_folder, path, "--rule", "block", "--drafter", "lookup", "--temperature", 0)
    assert call(*args, "--logit-bias", "260=-100").code == 0
    done = call("branch", 1, "--at", 1, "--token", "#65", "--json", "--db", path)
    assert (done.object["asked"], done.object["rule"]) == ("block", "greedy-argmax"), done.err
    assert done.object["rule_reason"].startswith("temperature is 0")
    assert "block runs as greedy-argmax: temperature is 0" in done.err


def test_a_drafter_that_is_certain_brings_its_own_q_and_no_other_rule(controller, tiny_folder):
    """Prompt lookup has no probabilities; its q is one-hot, so the rule asked for is the rule that runs."""
    session_id = play(controller, asked(tiny_folder, drafter="lookup", prompt="ab ab ab ab ab"))
    rounds, info = controller.all_rounds(session_id), controller.store.session(session_id)
    drafted = [(x, q) for done in rounds for x, q in zip(done.block.tokens, done.block.q, strict=True)]
    assert drafted and all((q.ids.tolist(), q.prob(x)) == ([x], 1.0) for x, q in drafted)
    assert info.rule == info.asked == "stochastic"
