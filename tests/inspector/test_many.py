"""Rules over prompts and seeds: each run once, stopped and resumed, in pairs."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace

import pytest
from scipy import stats as scipy_stats

from engine import rules
from engine.core.scores import SCORES, scores
from engine.errors import BadSetting, EngineError
from engine.worker import Worker
from inspector.commands.compare import prompts_in, rules_in, seeds_in
from inspector.many import Comparison, Many, label
from storage import Store
from tests.playing import SHORT_ROWS, asked

RULES = (("stochastic", {}), ("block", {}), ("lenient", {"leniency": 0.6}))


@pytest.fixture(scope="module")
def settings(tiny_folder):
    return asked(tiny_folder, drafter="self:4bit", sampling=SHORT_ROWS, max_tokens=10, raw=True)


@pytest.fixture(scope="module")
def worker():
    with closing(Worker()) as shared:
        yield shared


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "many.sqlite") as store:
        yield store


def comparison(settings, rules=RULES, prompts=("the theme", "then"), seeds=(0, 1)) -> Comparison:
    return Comparison(settings, rules, prompts, seeds)


def test_every_rule_runs_once_for_every_prompt_and_seed(settings, worker, store):
    asked_for = comparison(settings)
    many = Many(store, worker, asked_for)
    steps = []
    assert many.run(steps.append)
    assert len(store.sessions()) == asked_for.runs == 12
    assert [step.number for step in steps] == list(range(1, 13))
    seen = {(i.prompt, i.seed, i.rule, i.params.get("leniency")) for i in store.sessions()}
    assert len(seen) == 12
    assert {i.params.get("leniency") for i in store.sessions() if i.rule == "lenient"} == {0.6}
    assert all(i.tags == (asked_for.tag,) for i in store.sessions())


def test_the_others_are_re_runs_of_the_first(settings, worker, store):
    Many(store, worker, comparison(settings)).run()
    for info in store.sessions():
        if info.rule == "stochastic":
            assert (info.parent_id, [c.rule for c in store.children(info.id)]) == (None, ["block", "lenient"])
            assert all((c.prompt, c.seed) == (info.prompt, info.seed) for c in store.children(info.id))


def test_a_second_call_runs_nothing_again(settings, worker, store):
    first = Many(store, worker, comparison(settings))
    first.run()
    again = Many(store, worker, comparison(settings))
    steps = []
    assert again.run(steps.append) and steps == []
    table = again.table()
    assert (table["found"], table["done"]) == (12, 12)
    assert [r["scores"] for r in table["rules"]] == [r["scores"] for r in first.table()["rules"]]
    assert len(store.sessions()) == 12


def test_fresh_runs_all_again(settings, worker, store):
    small = comparison(settings, seeds=(0,), prompts=("then",))
    Many(store, worker, small).run()
    assert Many(store, worker, small, resume=False).run()
    assert len(store.sessions()) == 6


def test_a_wider_comparison_finds_the_runs_of_a_narrower_one(settings, worker, store):
    Many(store, worker, comparison(settings, RULES[:2], ("then",), (3,))).run()
    wider = Many(store, worker, comparison(settings, RULES, ("the theme", "then"), (3, 4)))
    steps = []
    wider.run(steps.append)
    assert len(steps) == 10 and wider.table()["found"] == 2


def test_other_settings_find_nothing(settings, worker, store):
    one = comparison(settings, RULES[:1], ("then",), (3,))
    Many(store, worker, one).run()
    for change in ({"k": 2}, {"max_tokens": 9}, {"drafter": "lookup"}, {"stop": ("zz",)}):
        other = replace(one, settings=replace(settings, **change))
        assert other.tag != one.tag
        assert Many(store, worker, other).stored == {}


def test_a_stopped_comparison_goes_on_where_it_stopped(settings, worker, store):
    many = Many(store, worker, comparison(settings))

    def stop_at_the_sixth(step) -> None:
        if step.number == 6:
            many.stop()

    assert not many.run(stop_at_the_sixth)
    table = many.table()
    assert (table["done"], table["complete"]) == (5, False)
    assert [info.status for info in store.sessions()] == ["finished"] * 5
    again = Many(store, worker, comparison(settings))
    assert again.run()
    assert (again.table()["found"], again.table()["complete"]) == (5, True)


def test_ctrl_c_in_a_run_ends_that_run(settings, worker, store, monkeypatch):
    many = Many(store, worker, comparison(settings))
    submit = worker.submit

    def interrupted(run) -> None:
        submit(run)
        if len(many.done) == 2:
            wait = run.done.wait

            def once(timeout=None):
                run.done.wait = wait
                raise KeyboardInterrupt

            run.done.wait = once

    monkeypatch.setattr(worker, "submit", interrupted)
    assert not many.run()
    assert len(many.done) == 2
    assert {info.status for info in store.sessions()} <= {"finished", "stopped"}


def texts(store) -> dict[tuple, list[tuple[int, ...]]]:
    """What every run emitted, round by round."""
    return {
        (info.prompt, info.seed, info.rule): [done.emitted for done in store.rounds(info.id, 0, info.rounds)]
        for info in store.sessions()
    }


def test_a_batch_gives_what_single_runs_give(settings, worker, store, tmp_path):
    asked_for = comparison(settings)
    batched = Many(store, worker, asked_for, batch=4)
    steps = []
    assert batched.run(steps.append)
    assert [step.number for step in steps] == list(range(1, 13))
    with Store.open(tmp_path / "single.sqlite") as other:
        single = Many(other, worker, asked_for)
        assert single.run()
        assert texts(store) == texts(other)
        ours, theirs = batched.table(), single.table()
    for line, wanted in zip(ours["rules"], theirs["rules"], strict=True):
        for name in SCORES:
            ours_mean, wanted_mean = (one["scores"][name]["mean"]["mean"] for one in (line, wanted))
            assert ours_mean == pytest.approx(wanted_mean, abs=1e-5)
    assert (ours["batch"], ours["unbatched"], ours["differing_versions"]) == (4, "", [])


def test_a_batch_starts_no_re_run_before_its_parent_has_finished(settings, worker, store):
    steps = []
    Many(store, worker, comparison(settings), batch=5).run(steps.append)
    assert [step.rule for step in steps[:4]] == ["stochastic"] * 4
    sizes = [info.versions.get("batch") for info in reversed(store.sessions())]
    assert sizes == ["4 lanes"] * 4 + ["5 lanes"] * 8
    for info in store.sessions():
        if info.rule != "stochastic":
            parent = store.session(info.parent_id)
            assert (parent.rule, parent.prompt, parent.seed) == ("stochastic", info.prompt, info.seed)


def test_a_stopped_batch_keeps_what_had_finished(settings, worker, store):
    many = Many(store, worker, comparison(settings), batch=4)
    assert not many.run(lambda step: many.stop() if step.number == 5 else None)
    assert many.table()["done"] == 4
    assert [info.status for info in store.sessions()] == ["finished"] * 4
    again = Many(store, worker, comparison(settings), batch=4)
    assert again.run() and again.table()["found"] == 4


def test_a_run_that_fails_in_a_batch_leaves_the_others(settings, worker, store):
    long = comparison(settings, RULES[:1], ("then", "then " * 900), (0, 1))
    with pytest.raises(EngineError, match="prompt 2, seed 0, stochastic"):
        Many(store, worker, long, batch=4).run()
    assert [(info.prompt, info.status) for info in store.sessions()] == [("then", "finished")] * 2


def test_what_was_left_unfinished_runs_again(settings, worker, store):
    one = comparison(settings, RULES[:1], ("then",), (3,))
    (_, _, lanes) = one.groups[0]
    store.fail(store.create(lanes[0], tags=[one.tag]), "crash")
    many = Many(store, worker, one)
    assert many.run() and many.table()["found"] == 0


def test_an_imported_run_is_not_ones_own(settings, worker, store, tmp_path):
    one = comparison(settings, RULES[:1], ("then",), (3,))
    Many(store, worker, one).run()
    with Store.open(tmp_path / "elsewhere.sqlite") as other:
        other.import_sessions(store.export([1]))
        assert Many(other, worker, one).stored == {}


def test_the_table_is_what_the_sessions_say(settings, worker, store):
    many = Many(store, worker, comparison(settings))
    many.run()
    table = json.loads(json.dumps(many.table(), allow_nan=False))
    assert [line["rule"] for line in table["rules"]] == ["stochastic", "block", "lenient:leniency=0.6"]
    by_rule = {name: [] for name in ("stochastic", "lenient")}
    for one in table["sessions"]:
        rule = one["rule"].split(":")[0]
        if rule in by_rule:
            info = store.session(one["session"])
            ran = rules.get(info.rule, **info.params)
            by_rule[rule].append(scores(store.rounds(info.id, 0, 99), ran))
    name = "tokens_per_target_pass"
    first, other = ([run[name] for run in by_rule[rule]] for rule in by_rule)
    test = scipy_stats.ttest_rel(other, first).confidence_interval(0.95)
    found = table["rules"][2]["scores"][name]["difference"]
    assert (found["low"], found["high"]) == (pytest.approx(test.low), pytest.approx(test.high))
    assert found["n"] == 4
    assert "difference" not in table["rules"][0]["scores"][name]
    assert table["scores"] == SCORES
    assert table["rules"][0]["scores"]["law_tv"]["mean"]["mean"] == pytest.approx(0, abs=1e-9)
    assert table["rules"][1]["scores"]["law_tv"]["mean"]["mean"] is None
    assert table["rules"][2]["scores"]["law_tv"]["mean"]["mean"] > 0
    assert table["differing_versions"] == []


def test_runs_of_other_versions_are_named(settings, worker, store):
    many = Many(store, worker, comparison(settings, RULES[:2], ("then",), (3,)))
    many.run()
    with store._connections.writing() as db:
        db.execute("UPDATE sessions SET versions = json_set(versions, '$.mlx', '0.0') WHERE id = 1")
    assert many.table()["differing_versions"] == ["mlx"]


def test_a_run_that_cannot_begin_says_why_and_leaves_nothing(settings, worker, store):
    many = Many(store, worker, comparison(replace(settings, max_tokens=5000), RULES[:1], ("then",), (0,)))
    with pytest.raises(EngineError, match="2048"):
        many.run()
    assert store.sessions() == []


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"rules": ()}, "0 rules"),
        ({"rules": (("stochastic", {}),) * 2}, "stands twice"),
        ({"seeds": ()}, "0 seeds"),
        ({"seeds": (1, 1)}, "stands twice"),
        ({"prompts": ()}, "0 prompts"),
        ({"seeds": tuple(range(60_000))}, "360000 runs"),
    ],
)
def test_a_comparison_of_nothing_or_too_much_is_refused(settings, changes, named):
    with pytest.raises(BadSetting) as caught:
        comparison(settings, **changes)
    assert named in caught.value.message and caught.value.hint


@pytest.mark.parametrize(
    ("rule", "named"),
    [(("nope", {}), "'nope'"), (("lenient", {"x": 1}), "'x'"), (("lenient", {"leniency": 9}), "9")],
)
def test_a_rule_that_is_none_is_refused_before_anything_runs(settings, worker, store, rule, named):
    with pytest.raises(BadSetting, match=named):
        Many(store, worker, comparison(settings, (RULES[0], rule)))
    assert store.sessions() == []


def test_what_is_typed_is_read():
    assert rules_in(" stochastic, lenient:leniency=0.5 ,") == (
        ("stochastic", {}),
        ("lenient", {"leniency": 0.5}),
    )
    assert [label(one) for one in rules_in("block,typical:epsilon=.2:delta=.1")] == [
        "block",
        "typical:epsilon=0.2:delta=0.1",
    ]
    assert seeds_in("0:3") == (0, 1, 2) and seeds_in("7") == (7,) and seeds_in("4,2") == (4, 2)
    assert seeds_in("3:3") == ()


@pytest.mark.parametrize("text", ["a", "1:b", "1:2:3", "1.5"])
def test_seeds_that_are_none_are_refused(text):
    with pytest.raises(BadSetting, match="seeds is"):
        seeds_in(text)


def test_prompts_come_from_a_file(tmp_path):
    file = tmp_path / "prompts.txt"
    file.write_text("Why is the sky blue?\n\n  Tell me a joke.  \r\nWhy is the sky blue?\n")
    assert prompts_in(file) == ("Why is the sky blue?", "Tell me a joke.")
    file.write_bytes(b"\xff\xfe")
    for bad in (file, tmp_path / "none.txt", tmp_path):
        with pytest.raises(BadSetting, match="cannot be read"):
            prompts_in(bad)


def test_the_command_prints_a_table_and_resumes(call, tiny_folder, tmp_path):
    db = tmp_path / "cli.sqlite"
    line = (
        "compare",
        "--rules",
        "stochastic,block",
        "--seeds",
        "0:2",
        "--prompt",
        "then",
        "--raw",
        "--target",
    )
    line += (tiny_folder, "--drafter", "self:4bit", "--max-tokens", "8", "--db", db)
    first = call(*line, "--json")
    assert first.code == 0
    body = json.loads(first.out)
    assert (body["runs"], body["found"]) == (4, 0)
    assert "4 of 4: prompt 1, seed 1, block" in first.err
    assert (body["batch"], body["unbatched"]) == (6, "")
    second = call(*line)
    assert second.code == 0 and "4 of 4 runs, 4 of them found" in second.out
    assert "against stochastic: " in second.out and second.err.count("\n") == 1


@pytest.mark.parametrize(
    ("more", "named"),
    [
        (("--rules", "stochastic"), "no prompt"),
        (("--rules", "nope", "--prompt", "x"), "'nope'"),
        (("--rules", "", "--prompt", "x"), "0 rules"),
        (("--rules", "block", "--prompt", "x", "--seeds", "x"), "seeds is 'x'"),
        (("--rules", "block", "--prompts", "/no/such/file"), "cannot be read"),
        (("--rules", "block", "--prompt", "x", "--k", "-1"), "k is -1"),
        (("--rules", "block", "--prompt", "x", "--batch", "0"), "batch is 0"),
    ],
)
def test_wrong_input_ends_with_a_sentence(call, more, named, tmp_path):
    printed = call("compare", *more, "--db", tmp_path / "none.sqlite")
    assert printed.code == 2 and named in printed.err and printed.err.count("\n") == 1
    assert not (tmp_path / "none.sqlite").exists()
