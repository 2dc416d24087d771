"""Branches through the controller and the command line, on the tiny models."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from engine.core import replay
from engine.errors import BadSetting, EngineError
from inspector.sharing import choices_for, fewest, one_token
from tests.playing import NO_EOS, SHORT_ROWS, asked, play

SAMPLING = replace(SHORT_ROWS, logit_bias=NO_EOS)


@pytest.fixture(scope="module")
def parent(controller, tiny_folder) -> int:
    return play(
        controller, asked(tiny_folder, sampling=SAMPLING, rule="block", max_tokens=24, drafter="self:4bit")
    )


def branched(controller, *args, **more) -> int:
    child = controller.branch(*args, **more)
    controller.wait(child)
    assert controller.store.session(child).status == "finished", controller.store.session(child).reason
    return child


def test_a_branch_goes_on_behind_its_forced_token(controller, parent):
    whole = controller.output(parent)
    child = branched(controller, parent, 7, "#65")
    info, started = controller.store.session(child), controller.store.started(child)
    assert (info.parent_id, info.relation, info.branch_at) == (parent, "branch", 7)
    assert started.forced == (*whole[:7], 65)
    assert controller.all_rounds(child)[0].block.start == 8
    assert len(controller.output(child)) == 24
    assert controller.output(child)[:8] == [*whole[:7], 65]


def test_a_branch_can_be_told_from_its_view(controller, parent):
    child = branched(controller, parent, 3, "#65")
    head = controller.head(child)
    assert (head["branch_at"], head["relation"], head["parent_id"]) == (3, "branch", parent)
    assert head["forced"] == controller.output(child)[:4]
    assert set(head["forced_pieces"]) == {str(token) for token in head["forced"]}
    text = controller.text(child)
    pieces = controller.store.pieces(controller.beginning(child)[1].tokenizer, head["forced"])
    assert text.startswith(b"".join(pieces[token] for token in head["forced"]).decode("utf-8", "replace")[:2])


def test_a_branch_is_reproduced_by_its_own_re_run(controller, parent):
    child = branched(controller, parent, 5, "#70")
    again, other = controller.rerun(child, ["block", "stochastic"])
    for session_id in (again, other):
        controller.wait(session_id)
    lane, second = controller.lanes(child, [again, other])
    assert lane["reproduced"] is True, lane["difference"]
    assert controller.output(again) == controller.output(child)
    assert "reproduced" not in second
    assert controller.output(other)[:6] == controller.output(child)[:6]
    assert second["first_divergence"] is None or second["first_divergence"] > 5


def test_a_branch_is_judged_again_from_its_own_beginning(controller, parent):
    child = branched(controller, parent, 5, "#70")
    own, other = controller.rejudge(child, ["block", "stochastic"])
    assert own["reproduced"] is True and own["status"] == "finished"
    assert own["text"] == controller.text(child)
    assert other["first_divergence"] is None or other["first_divergence"] > 5


def test_a_lane_that_is_a_branch_parts_where_it_was_forced(controller, parent):
    token = 65 if controller.output(parent)[4] != 65 else 66
    child = branched(controller, parent, 4, f"#{token}")
    (lane,) = controller.lanes(parent, [child])
    assert (lane["mode"], lane["first_divergence"]) == ("branch", 4)
    assert "reproduced" not in lane


def test_forcing_the_own_token_under_sampler_match_changes_nothing(controller, tiny_folder):
    request = asked(tiny_folder, sampling=SAMPLING, rule="sampler-match", max_tokens=16)
    first = play(controller, request)
    whole = controller.output(first)
    child = branched(controller, first, 6, f"#{whole[6]}")
    assert controller.output(child) == whole
    assert replay.first_divergence(controller.output(child), whole) is None


@pytest.mark.parametrize("drafter", ["lookup", "none", "self:4bit"])
def test_a_long_branch_starts_with_every_drafter(controller, tiny_folder, drafter):
    first = play(controller, asked(tiny_folder, sampling=SAMPLING, max_tokens=40, drafter=drafter))
    child = branched(controller, first, 30, "#65")
    assert controller.all_rounds(child)[0].block.start == 31
    again = controller.rerun(child, ["stochastic"])[0]
    controller.wait(again)
    assert controller.lanes(child, [again])[0]["reproduced"] is True


def test_a_budget_of_its_own(controller, parent):
    assert len(controller.output(branched(controller, parent, 23, "#65", max_tokens=30))) == 30
    with pytest.raises(BadSetting, match="starts with 24 tokens"):
        controller.branch(parent, 23, "#65")


def test_a_forced_end_of_text_ends_the_branch(controller, parent):
    child = branched(controller, parent, 3, "#260")
    assert (controller.store.session(child).rounds, controller.store.session(child).reason) == (
        0,
        "end of text",
    )
    assert controller.output(child) == [*controller.output(parent)[:3], 260]


@pytest.mark.parametrize(
    ("position", "token", "named"),
    [
        (-1, "#65", "position -1"),
        (24, "#65", "24 tokens"),
        (3, "", "empty"),
        (3, "#9999", "#9999"),
        (3, "zz zz", "no single token"),
    ],
)
def test_a_branch_that_cannot_be_leaves_nothing(controller, parent, position, token, named):
    before = controller.store.number_of_sessions()
    with pytest.raises(BadSetting) as caught:
        controller.branch(parent, position, token)
    assert named in caught.value.message and caught.value.hint
    assert controller.store.number_of_sessions() == before


def test_a_session_that_read_no_prompt_has_no_branch(controller, tiny_folder):
    from engine import session

    nothing = controller.store.create(session.plan(asked(tiny_folder)))
    controller.store.fail(nothing, "no")
    with pytest.raises(EngineError, match="never read its prompt"):
        controller.branch(nothing, 0, "#65")


PIECES = {
    0: b"the",
    1: b"th",
    2: b"e",
    3: b" sky",
    4: b"blue",
    5: b"",
    6: b"x",
    7: b"x",
    8: "é".encode(),
    9: b"out",
}


def test_a_token_is_named_by_its_text_or_its_id():
    assert one_token("the", PIECES, 9) == 0
    assert one_token(" sky", PIECES, 9) == 3
    assert one_token("é", PIECES, 9) == 8
    assert one_token("#7", PIECES, 9) == 7


@pytest.mark.parametrize(
    ("asked_for", "named"),
    [
        ("the sky", "it takes 2, such as 'the' (#0) and ' sky' (#3)"),
        ("blue sky", "it takes 2"),
        ("the?", "no tokens of this tokenizer add up to it"),
        ("x", "2 tokens: #6, #7"),
        ("", "empty"),
        ("#5", "no token #5"),
        ("#9", "no token #9"),
        ("out", "no single token"),
        ("#x", "add up to it"),
        ("\ud800", "add up to it"),
    ],
)
def test_what_is_no_single_token_says_what_it_is(asked_for, named):
    with pytest.raises(BadSetting) as caught:
        one_token(asked_for, PIECES, 9)
    assert named in caught.value.message and caught.value.hint


def test_the_command_prints_the_branch(call, db):
    printed = call("branch", 1, "--at", 2, "--token", "#65", "--db", db, "--json")
    assert printed.code == 0
    body = json.loads(printed.out)
    assert (body["parent"], body["position"], body["tokens"][2]) == (1, 2, 65)
    assert len(body["tokens"]) == 64 or body["reason"] == "end of text"
    human = call("branch", 1, "--at", 2, "--token", "#65", "--db", db)
    assert "a branch of 1 at 2: finished" in human.out


@pytest.mark.parametrize(
    ("line", "named"),
    [
        (("branch", 1, "--at", 999, "--token", "#65"), "position 999"),
        (("branch", 99, "--at", 0, "--token", "#65"), "no session 99"),
        (("branch", 1, "--at", 0, "--token", "qq qq"), "no single token"),
        (("branch", 1, "--token", "#65"), "--at"),
    ],
)
def test_wrong_input_ends_with_a_sentence(call, db, line, named):
    printed = call(*line, "--db", db)
    assert printed.code == 2 and named in printed.err and printed.out == ""


def test_a_typed_text_may_mean_the_token_with_or_without_a_space_in_front():
    pieces = {1: b"cat", 2: b" cat", 3: b"s", 4: b" ", 5: b"cat"}
    assert choices_for("cat", pieces, 9) == [1, 5, 2]
    assert choices_for(" cat", pieces, 9) == [2, 1, 5]
    assert choices_for(" cat", pieces, 2) == [1]
    assert choices_for(" ", pieces, 9) == [4]
    assert choices_for("#3", pieces, 9) == [3]
    assert choices_for("#7", pieces, 9) == choices_for("", pieces, 9) == choices_for("cats", pieces, 9) == []
    assert fewest(b"cats", pieces) == [1, 3]
    assert fewest(b"dog", pieces) is None


def test_what_a_text_is_in_tokens_comes_with_their_pieces(controller, parent):
    one = controller.tokens(parent, "e")
    assert one["choices"] and one["message"] == "" and set(one["pieces"]) == set(map(str, one["choices"]))
    two = controller.tokens(parent, "\u00e9\u00e8")
    assert two["choices"] == [] and len(two["made_of"]) == two["n"] > 1
    assert "it takes" in two["message"] and set(two["pieces"]) == set(map(str, two["made_of"]))
    with pytest.raises(BadSetting, match="401 characters"):
        controller.tokens(parent, "x" * 401)
