"""What the command line prints: live text, sessions, rounds with every field at every fate, tables."""

from __future__ import annotations

import json
import random

import pytest

from engine import session
from engine.core import rows
from engine.core.types import Sampling
from engine.errors import BadSetting
from engine.session import Request
from inspector import report
from inspector.commands import live
from inspector.commands.live import TextStream
from tests.playing import play, rounds_of, tokens_of

#: The fields that issue 2 names for a position, and the ones a reader needs beside them.
FIELDS = {
    "position",
    "attempt",
    "fate",
    "x",
    "text",
    "q",
    "p",
    "logprob",
    "u",
    "accept_prob",
    "own_draw",
    "own_text",
    "rescued",
    "residual_mass",
    "residual_draw",
    "degenerate",
    "top_residual",
    "tv",
    "entropy_p",
    "entropy_q",
    "top_p",
    "top_q",
}

PIECES = {0: b"a", 1: b"b", 2: b"abc", 3: "é".encode()[:1], 4: "é".encode()[1:], 5: b"\xff", 6: b"<|end|>"}


def pieces(ids) -> dict[int, bytes]:
    return {i: PIECES[i] for i in ids}


def stream(*stop: str) -> TextStream:
    return TextStream(pieces, {6}, stop)


@pytest.mark.parametrize(
    ("rounds", "shown", "rest"),
    [
        ([(0, 1), (2,)], ["ab", "abc"], ""),
        ([(3,), (4,)], ["", "é"], ""),  # half a character waits for the other half
        ([(3,), (0,)], ["", "\ufffda"], ""),
        ([(3,)], [""], "\ufffd"),
        ([(0, 6)], ["a"], ""),  # a control token at the end is no text
        ([(6,), (0,)], ["", "<|end|>a"], ""),  # one inside is
        ([(5, 0)], ["\ufffda"], ""),
    ],
)
def test_text_is_shown_as_soon_as_it_is_certain(rounds, shown, rest):
    text = stream()
    assert [text.feed(tokens) for tokens in rounds] == shown
    assert text.end() == rest


def test_a_stop_string_is_never_shown_nor_its_beginning_before_it_is_another_thing():
    text = stream("cab", "x")
    assert [text.feed((2,)), text.feed((0, 0))] == ["a", "bca"[:1] + "ca"[:1]]
    assert text.end() == "aa"
    text = stream("cab")
    assert [text.feed((2,)), text.feed((2,))] == ["a", "b"]
    assert text.end() == ""


def test_the_pieces_add_up_to_the_finished_text(controller, tiny_folder):
    """However the tokens fall into rounds, and with stop strings that come up by chance."""
    dice = random.Random(1)
    session_id = play(controller, Request("hello", target=tiny_folder, max_tokens=60, drafter="none"))
    tokens = tokens_of(controller, session_id)
    _, prompt = controller.beginning(session_id)
    stored = controller.store.pieces(prompt.tokenizer)
    for stop in ((), ("a",), ("th", "q"), ("\ufffd",), ("zz",)):
        text = TextStream(lambda ids: stored, prompt.special, stop)
        shown, rest = "", tuple(tokens)
        while rest:
            n = dice.randint(1, 5)
            shown, rest = shown + text.feed(rest[:n]), rest[n:]
        assert shown + text.end() == controller.text_of(tokens, prompt, stop)


@pytest.fixture(scope="module")
def played(controller, tiny_folder) -> int:
    """A session with every fate."""
    sampling = Sampling(temperature=1.0, top_k=30)
    for seed in range(20):
        request = Request("hello", target=tiny_folder, drafter="self:4bit", sampling=sampling, seed=seed, k=3)
        session_id = play(controller, request)
        body = report.show_object(controller, session_id, None)
        if fates(body) == {"accepted", "rejected", "untested", "corrected", "bonus"}:
            return session_id
    raise AssertionError("no session met every fate")


def positions(body: dict) -> list[dict]:
    return [place for one in body["rounds"] for place in one["positions"]]


def fates(body: dict) -> set[str]:
    return {place["fate"] for place in positions(body)}


def test_a_session_object_has_the_public_keys(controller, played):
    body = report.session_object(controller, played)
    assert {
        "session",
        "text",
        "tokens",
        "rule",
        "status",
        "counters",
        "closed_form_sum_min",
        "closed_form_sum_prod",
        "timings",
    } <= body.keys()
    assert {
        "rounds",
        "proposed",
        "positions_tested",
        "accepted",
        "emitted",
        "rescued",
        "per_position_acceptance",
        "acceptance_rate",
        "mean_accepted_len",
    } <= body["counters"].keys()
    assert {
        "cache_n",
        "prompt_n",
        "prompt_ms",
        "prompt_per_token_ms",
        "prompt_per_second",
        "predicted_n",
        "predicted_ms",
        "predicted_per_token_ms",
        "predicted_per_second",
        "draft_n",
        "draft_n_accepted",
        "draft_rounds",
        "draft_kind",
    } == body["timings"].keys()
    assert body["tokens"] == tokens_of(controller, played)
    assert body["timings"]["predicted_n"] == len(body["tokens"]) == body["counters"]["emitted"]
    assert body["closed_form_sum_min"] >= body["closed_form_sum_prod"] > 0


def test_every_fate_has_every_field(controller, played):
    body = report.show_object(controller, played, None)
    assert {frozenset(place) for place in positions(body)} == {frozenset(FIELDS)}
    assert json.loads(json.dumps(body, allow_nan=False)) == body


def test_the_fields_say_what_decided(controller, played):
    body = report.show_object(controller, played, None)
    for one, done in zip(body["rounds"], rounds_of(controller, played), strict=True):
        block, verdict = done.block, done.verdict
        for i, place in enumerate(one["positions"]):
            assert place["own_draw"] == done.own[min(i, block.k) if i < block.k else verdict.n_accepted]
            if i == block.k:
                break
            assert (place["x"], place["fate"]) == (block.tokens[i], done.fate(i))
            assert (place["p"], place["q"]) == (block.p_of(i), block.q_of(i))
            assert place["tv"] == pytest.approx(rows.tv(block.p[i], block.q[i]), abs=1e-12)
            assert place["entropy_q"] == pytest.approx(rows.entropy(block.q[i]))
            assert place["top_p"][0]["id"] == rows.argmax(block.p[i])
            tested = place["fate"] != "untested"
            assert (place["u"] is not None) == (place["accept_prob"] is not None) == tested
            if tested:
                assert (place["u"] * place["q"] < place["p"]) == (place["fate"] == "accepted")
            if place["fate"] == "rejected":
                assert (place["residual_mass"], place["residual_draw"]) == (verdict.mass, verdict.next_token)
                assert place["residual_mass"] == pytest.approx(place["tv"], abs=1e-12)
            else:
                assert place["residual_mass"] is place["residual_draw"] is place["top_residual"] is None
        if verdict.next_token is not None:
            last = one["positions"][-1]
            assert (last["x"], last["fate"]) == (verdict.next_token, verdict.next_source)
            assert (last["q"] is None) == (last["tv"] is None) == (last["fate"] == "bonus")
            assert 0 <= last["u"] < 1
            purpose = "target" if last["fate"] == "bonus" else "residual"
            coin = next(c for c in done.coins if c.at == block.at(purpose, verdict.n_accepted))
            assert (last["u"], last["x"]) == (coin.u, coin.outcome)


def test_one_round_alone_and_a_round_that_is_not_there(controller, played):
    n, _ = controller.count(played)
    assert [one["round"] for one in report.show_object(controller, played, n - 1)["rounds"]] == [n - 1]
    for index in (-1, n):
        with pytest.raises(BadSetting, match=f"round is {index}; session {played} has {n}") as caught:
            report.show_object(controller, played, index)
        assert str(n - 1) in caught.value.hint


def test_text_for_people_has_a_line_for_every_position(controller, played):
    body = report.show_object(controller, played, None)
    lines = report.show_text(body).splitlines()
    assert len(lines) == 1 + len(body["rounds"]) + len(positions(body))
    assert sum(" rejected " in line and "against" in line for line in lines) > 0


def lane(**changes) -> dict:
    base = {
        "lane": "block",
        "rule": "block",
        "asked": "block",
        "rule_reason": "",
        "watermark": "",
        "mode": "rerun",
        "session": 7,
        "status": "finished",
        "reason": "64 tokens",
        "text": "so",
        "counters": {"per_position_acceptance": 0.5, "tokens_per_target_pass": None},
        "first_divergence": 3,
    }
    return base | changes


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "parts at 3"),
        ({"first_divergence": None}, "parts never"),
        ({"first_divergence": 0}, "parts at 0"),
        ({"reproduced": True, "difference": ""}, "  reproduced"),
        (
            {"reproduced": False, "difference": "round 2"},
            "NOT reproduced (round 2)",
        ),
        ({"reproduced": None, "difference": ""}, "the same as far as it goes"),
        ({"status": "stopped", "reason": "stopped by hand"}, "stopped: stopped by hand"),
        ({"asked": "fly", "rule_reason": "it is Monday"}, "instead of fly, it is Monday"),
        ({"mode": "rejudge", "exact": False, "missing_mass": 0.0125}, "approximate (rows lack up to 1.25%)"),
        ({"mode": "rejudge", "exact": False, "missing_mass": 1e-9}, "approximate (rows lack up to <0.01%)"),
    ],
)
def test_a_lane_says_in_words_what_came_of_it(changes, said):
    text = report.lanes_text({"session": 1, "mode": "rerun", "lanes": [lane(**changes)]})
    assert said in text.splitlines()[1]
    assert text.endswith("block (session 7)\nso")


def test_following_a_session_writes_its_text_and_tells_of_another_rule(controller, tiny_folder, capsys):
    started = session.plan(
        Request("hello", target=tiny_folder, rule="block", sampling=Sampling(temperature=0))
    )
    session_id = live.follow(controller, started, to_stderr=False)
    out, err = capsys.readouterr()
    assert out == controller.text(session_id) + "\n"
    assert err.startswith("block runs as greedy-argmax: temperature is 0")
