"""Faults of other screens, on the data that ours draws: which token is which, what was not tested, what a
number was after a stop, and what cannot be seen."""

from __future__ import annotations

import json
import math
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from engine import session
from engine.core import rows
from engine.core.events import PromptRead, Round, SessionFinished
from engine.core.types import Sampling
from engine.rules import RULES
from inspector import report
from inspector.commands.live import TextStream
from inspector.controller import Controller
from inspector.view_model import piece_view, round_view
from storage import Store
from tests import stored
from tests.core.toys import TextDrafter, ToyScorer, certain_of, plan, play

V = 8
NEWLINES, END = 6, 7
PIECES = {0: b"a", 1: b" a", 2: b"b", 3: b" b", 4: b"c", 5: b"\xff", NEWLINES: b"\n\n", END: b"<|end|>"}


def greedy_rounds(drafted, text, k=4):
    """A greedy target that says `text`, beside drafts from `drafted`."""
    asked = plan(RULES["greedy-argmax"], k=k, max_tokens=len(text), temperature=0.0)
    return play(asked, TextDrafter(drafted, V), ToyScorer(certain_of(text, V)))


@pytest.fixture
def controller(tmp_path):
    with Store.open(tmp_path / "a.sqlite") as store, closing(Controller(store)) as opened:
        yield opened


def keep(store: Store, done: list[Round], finished: SessionFinished | None = None) -> int:
    """Rounds as a session of the store; its id."""
    begun = session.plan(session.Request("Say it", raw=True, drafter="lookup", sampling=Sampling(1.0)))
    store.learn("letters", lambda: PIECES)
    session_id = store.create(begun)
    store.append(session_id, PromptRead((0, 1), 1.0, V, "letters", (END,)))
    for one in done:
        store.append(session_id, one)
    if finished is not None:
        store.append(session_id, finished)
    return session_id


# Rejected, corrected, untested: each kept


def test_a_rejected_draft_is_kept_with_its_correction_beside_it_and_the_rest_untested(controller):
    """Reject at 2 of 4: one accepted, one rejected, two untested, and one corrected at the same position."""
    done = greedy_rounds((2, 3, 4, 1), (2, 0, 4, 1))[:1]
    view = round_view(done[0])
    assert [(p["x"], p["fate"]) for p in view["positions"]] == [
        (2, "accepted"),
        (3, "rejected"),
        (4, "untested"),
        (1, "untested"),
    ]
    assert (view["next"]["token"], view["next"]["source"]) == (0, "corrected")
    assert view["next"]["at"] == view["positions"][1]["at"] == 1
    assert (view["tested"], view["accepted"], view["emitted"]) == (2, 1, 2)
    for untested in view["positions"][2:]:
        assert (untested["u"], untested["accept_prob"], untested["passed"]) == (None, None, None)
        assert untested["p"] is not None and untested["q"] == 1.0
    session_id = keep(controller.store, done)
    (one,) = report.show_object(controller, session_id, None)["rounds"]
    assert [p["fate"] for p in one["positions"]] == [
        "accepted", "rejected", "untested", "untested", "corrected",
    ]  # fmt: skip
    assert [p["position"] for p in one["positions"]] == [0, 1, 2, 3, 1]


@pytest.mark.parametrize("rule_id", [rule.id for rule in RULES.values() if not rule.greedy_only])
def test_under_every_rule_a_round_shows_every_draft_once_and_what_was_emitted(rule_id):
    for done in stored.rounds_of(stored.plan(rule_id, max_tokens=30)):
        view = round_view(done)
        assert [p["x"] for p in view["positions"]] == list(done.block.tokens)
        fates = [p["fate"] for p in view["positions"]]
        n = done.verdict.n_accepted
        assert fates == ["accepted"] * n + ["rejected"] * (n < done.block.k) + ["untested"] * (
            done.block.k - n - 1
        )
        shown = [p["x"] for p in view["positions"] if p["fate"] == "accepted"]
        shown += [view["next"]["token"]] if view["next"] else []
        assert tuple(shown) == done.emitted


# Tokens by index, not by their text


def test_equal_tokens_are_told_apart_by_their_place(controller):
    """Four times " a", and the third is rejected although the same text stands before and behind it."""
    done = greedy_rounds((1, 1, 1, 1, 1, 1, 1, 1), (1, 1, 2, 1, 1, 1, 1, 1))
    first, second = round_view(done[0]), round_view(done[1])
    assert [(p["at"], p["fate"]) for p in first["positions"]] == [
        (0, "accepted"), (1, "accepted"), (2, "rejected"), (3, "untested"),
    ]  # fmt: skip
    assert first["next"]["at"] == 2
    assert [p["at"] for p in second["positions"]] == [3, 4, 5, 6]
    session_id = keep(controller.store, done, SessionFinished("finished", "8 tokens", 1.0))
    assert controller.output(session_id) == [1, 1, 2, 1, 1, 1, 1, 1]
    assert controller.text(session_id) == " a ab a a a a a"
    body = report.show_object(controller, session_id, 0)["rounds"][0]
    assert [p["fate"] for p in body["positions"] if p["x"] == 1] == [
        "accepted", "accepted", "rejected", "untested",
    ]  # fmt: skip
    stream = TextStream(lambda ids: {i: PIECES[i] for i in ids}, (), ())
    assert [stream.feed(one.emitted) for one in done] == [" a ab", " a a a a a"]


# ln p of what was emitted


@pytest.mark.parametrize("rule_id", [rule.id for rule in RULES.values() if not rule.greedy_only])
def test_every_emitted_token_has_ln_p_of_the_targets_effective_row(controller, rule_id):
    """Of drafted tokens too, where other servers say 0; and none of a draft that was not emitted."""
    session_id = stored.put(controller.store, stored.plan(rule_id, max_tokens=16))
    body = report.show_object(controller, session_id, None)
    seen = set()
    for one, done in zip(body["rounds"], controller.all_rounds(session_id), strict=True):
        view = round_view(done)
        said = [p["logprob"] for p in view["positions"]] + ([view["next"]["logprob"]] if view["next"] else [])
        assert said == [place["logprob"] for place in one["positions"]]
        for i, place in enumerate(one["positions"]):
            row = done.block.p[min(i, done.verdict.n_accepted) if i == done.block.k else i]
            seen.add(place["fate"])
            if place["fate"] in ("rejected", "untested"):
                assert place["logprob"] is None
            else:
                assert place["logprob"] == math.log(rows.dense(row)[place["x"]]) == math.log(place["p"])
    assert "accepted" in seen


def test_ln_p_of_a_token_that_storage_may_have_cut_is_unknown():
    wide = rows.from_dense(np.r_[[0.5, 0.3], np.full(200, 0.001)])
    assert rows.log_prob(wide, 150) == pytest.approx(math.log(0.001))
    assert rows.log_prob(rows.cut(wide, 2), 150) is None
    assert rows.log_prob(rows.one_hot(3, 5), 3) == 0.0
    assert rows.log_prob(rows.one_hot(3, 5), 2) is None, "minus infinity is no JSON"


# Probabilities after a stop


@pytest.mark.parametrize("status", ["stopped", "failed", None], ids=["stopped", "failed", "cut off"])
def test_a_session_that_did_not_finish_keeps_every_number_of_its_rounds(tmp_path, status):
    """Stop in the middle, close the file, open it again: the same rows, coins and tests."""
    begun = stored.plan("stochastic", max_tokens=40)
    done = list(stored.rounds_of(begun))[:3]
    path = tmp_path / "a.sqlite"
    with Store.open(path) as store:
        store.learn(stored.TOKENIZER, lambda: stored.PIECES)
        session_id = store.create(begun)
        store.append(session_id, PromptRead((0, 1), 1.5, stored.VOCAB, stored.TOKENIZER, (11,)))
        for one in done:
            store.append(session_id, one)
        if status:
            store.append(session_id, SessionFinished(status, "by hand", 1.0))
    with Store.open(path) as store, closing(Controller(store)) as again:
        assert again.head(session_id)["status"] == (status or "interrupted")
        assert again.all_rounds(session_id) == done
        assert [view["positions"] for view in again.rounds(session_id, 0, 9)["rounds"]] == [
            round_view(one)["positions"] for one in done
        ]
        for place in (
            p for one in report.show_object(again, session_id, None)["rounds"] for p in one["positions"]
        ):
            assert place["p"] is not None and place["top_p"]


def test_a_probability_near_zero_is_never_written_as_nothing():
    assert report.shown(1e-7) == report.shown(9.9e-5) == "<0.0001"
    assert report.shown(0.0) == "0.0000" and report.shown(1e-4) == "0.0001"
    assert report.percent(1e-9) == "<0.01%" and report.percent(0.0) == "0.00%"
    p = rows.from_dense(np.array([1 - 1e-7, 1e-7]))
    done = greedy_rounds((0, 0), (0, 0), k=1)[0]
    shown = replace(done, block=replace(done.block, tokens=(1,), p=(p, p), q=(p,)))
    place = report.draft_object(shown, 0, lambda token: "x")
    assert "p <0.0001 q <0.0001" in report.position_line(place)


# What cannot be seen


def test_newlines_and_end_of_text_are_visible_and_named_by_their_ids(controller):
    text = (2, NEWLINES, 5, END)
    done = greedy_rounds(text, text)
    session_id = keep(controller.store, done, SessionFinished("finished", "end of text", 1.0))
    pieces = controller.rounds(session_id, 0, len(done))["pieces"]
    assert (pieces[str(NEWLINES)], pieces[str(END)]) == ("\n\n", {"special": "<|end|>"})
    assert pieces["5"] == {"hex": "ff"} == piece_view(b"\xff")
    lines = report.show_text(report.show_object(controller, session_id, None)).splitlines()
    for token, glyph in ((NEWLINES, r"'\n\n'"), (END, "'<|end|>'"), (5, r"'\\xff'")):
        assert sum(f" {token} {glyph}" in line for line in lines) == 1, lines
    places = [
        p for one in report.show_object(controller, session_id, None)["rounds"] for p in one["positions"]
    ]
    assert [p["x"] for p in places] == list(text)
    assert json.dumps(places)


# Rates with their denominators


def test_drafts_behind_a_rejection_lower_one_rate_and_not_the_other(controller):
    """Reject at 2 of 4, and never 100 % for drafts that were thrown away."""
    done = greedy_rounds((2, 3, 4, 1), (2, 0, 4, 1))[:1]
    session_id = keep(controller.store, done)
    counted = controller.head(session_id)["counters"]
    assert (counted["accepted"], counted["positions_tested"], counted["proposed"]) == (1, 2, 4)
    assert (counted["per_position_acceptance"], counted["acceptance_rate"]) == (1 / 2, 1 / 4)
    (line,) = controller.sessions()
    assert (line["accepted"], line["positions_tested"]) == (1, 2)
    timings = report.session_object(controller, session_id)["timings"]
    assert (timings["draft_n"], timings["draft_n_accepted"]) == (4, 1)
