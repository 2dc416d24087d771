"""Wrong input ends with status 2 and one sentence, and leaves every file as it was."""

from __future__ import annotations

import pytest

from engine import rules
from tests.calling import assert_refused, contents, run_args

WRONG_RUNS = [
    (["--rule", "coin-toss"], "coin-toss"),
    (["--target", "/no/such/model"], "/no/such/model"),
    (["--drafter", "model:/no/such/model"], "/no/such/model"),
    (["--drafter", "self:7bit"], "self:7bit"),
    (["--drafter", "oracle"], "oracle"),
    (["--k", "-1"], "k is -1"),
    (["--k", "abc"], "abc"),
    (["--k", "65"], "k is 65"),
    (["--max-tokens", "0"], "max_tokens is 0"),
    (["--max-tokens", "5000"], "2048"),
    (["--seed", "-1"], "seed is -1"),
    (["--temperature", "nan"], "temperature is nan"),
    (["--temperature", "-1"], "temperature is -1"),
    (["--top-p", "2"], "top_p is 2"),
    (["--top-p", "0"], "top_p is 0"),
    (["--top-k", "-1"], "top_k is -1"),
    (["--min-p", "1.5"], "min_p is 1.5"),
    (["--order", "backwards"], "backwards"),
    (["--prompt", ""], "prompt is empty"),
    (["--prompt", "\udcff"], "index 0"),
    (["--param", "alpha"], "'alpha' sets no number"),
    (["--param", "alpha=1"], "'alpha'"),
    (["--rule", "lenient", "--param", "leniency=nan"], "nan"),
    (["--logit-bias", "x=1"], "'x' is no token id"),
    (["--logit-bias", "3"], "'3' sets no number"),
    (["--logit-bias", "3=nan"], "nan"),
    (["--logit-bias", "999=1"], "999"),
    (["--no-such-option"], "--no-such-option"),
]


@pytest.mark.parametrize("as_json", [["--json"], []])
@pytest.mark.parametrize(("wrong", "named"), WRONG_RUNS)
def test_a_wrong_run_ends_with_one_sentence_and_stores_nothing(call, db, tiny_folder, wrong, named, as_json):
    before = contents(db)
    assert_refused(call(*run_args(tiny_folder, db, *wrong, *as_json)), named)
    assert contents(db) == before


@pytest.mark.parametrize(
    ("command", "named"),
    [
        (["replay", "1", "--rules", ""], "0 lanes were named"),
        (["replay", "1", "--rules", ","], "0 lanes were named"),
        (["replay", "1", "--rules", ",".join([*rules.RULES][:9])], "9 lanes were named"),
        (["replay", "1", "--rules", "block,nope"], "'nope'"),
        (["replay", "1", "--rules", "block,greedy-argmax"], "greedy-argmax"),
        (["replay", "1", "--rules", "block", "--mode", "magic"], "magic"),
        (["replay", "99", "--rules", "block"], "no session 99"),
        (["show", "99"], "no session 99"),
        (["show", "one"], "one"),
        (["show", "1", "--round", "999"], "round is 999"),
        (["show", "1", "--round", "-1"], "round is -1"),
        (["show"], "SESSION"),
        (["frobnicate"], "frobnicate"),
    ],
)
def test_another_wrong_command_ends_with_one_sentence_and_stores_nothing(call, db, command, named):
    before = contents(db)
    place = [] if command[0] == "frobnicate" else ["--json", "--db", db]
    assert_refused(call(*command, *place), named)
    assert contents(db) == before


@pytest.mark.parametrize("command", [["show", "1"], ["doctor"], ["replay", "1", "--rules", "block"], ["run"]])
def test_a_file_that_is_no_database_is_refused_and_left_alone(call, tmp_path, tiny_folder, command):
    path = tmp_path / "notes.txt"
    path.write_text("Dear diary, " * 100)
    args = run_args(tiny_folder, path) if command == ["run"] else [*command, "--db", path]
    assert_refused(call(*args), "notes.txt")
    assert path.read_text() == "Dear diary, " * 100
    assert [child.name for child in tmp_path.iterdir()] == ["notes.txt"]


def test_a_folder_and_a_missing_folder_are_no_database(call, tmp_path, tiny_folder):
    assert_refused(call(*run_args(tiny_folder, tmp_path)), "is a folder")
    assert_refused(call("doctor", "--db", tmp_path), "is a folder")
    assert_refused(call("show", 1, "--db", tmp_path / "no" / "such.sqlite"), "does not exist")
