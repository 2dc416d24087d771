"""The controller on tiny models: form in, session out; replays that repeat; plain types for the screen."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest

from engine import rules, session
from engine.core.events import Round, SessionFinished
from engine.core.types import Sampling
from engine.drafters.spec import BITS
from engine.errors import EngineError
from engine.session import Request
from inspector import form
from inspector.controller import Controller
from storage import Store
from storage.errors import StoreError
from tests.playing import NO_EOS, SHORT_ROWS, WAIT_S, asked, plain, play, rounds_of, table, tokens_of

# Starting


def test_a_form_starts_a_session_with_all_it_says(controller, tiny_folder):
    chosen = form.form_of(asked(tiny_folder, rule="block", seed=5, k=2, max_tokens=7, stop=("zzz",)))
    session_id = controller.start(chosen)
    controller.wait(session_id)
    started = controller.store.started(session_id)
    assert started == session.plan(form.request_of(chosen))
    assert (started.rule, started.seed, started.k, started.max_tokens) == ("block", 5, 2, 7)
    assert started.stop == ("zzz",)
    assert controller.count(session_id)[1] == "finished"


def test_what_a_form_leaves_out_is_at_its_default():
    assert form.request_of({"prompt": "Hi"}) == Request(prompt="Hi")
    assert form.request_of(form.form_of(Request(prompt="Hi"))) == Request(prompt="Hi")


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"prompt": ""}, "prompt is empty"),
        ({"prompt": None}, "prompt is None"),
        ({"rule": "nope"}, "'nope'"),
        ({"rule": ["stochastic"]}, "rule is"),
        ({"drafter": None}, "drafter is None"),
        ({"target": "/no/such"}, "/no/such"),
        ({"seed": None}, "seed is None"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": 1.5}, "seed is 1.5"),
        ({"seed": float("inf")}, "seed is inf"),
        ({"k": float("nan")}, "k is nan"),
        ({"k": "4"}, "k is '4'"),
        ({"k": True}, "k is True"),
        ({"max_tokens": 0}, "max_tokens is 0"),
        ({"temperature": "hot"}, "temperature is 'hot'"),
        ({"temperature": float("nan")}, "temperature is nan"),
        ({"top_p": 2}, "top_p is 2"),
        ({"top_k": -1}, "top_k is -1"),
        ({"min_p": -0.1}, "min_p is -0.1"),
        ({"params": {"no": 1}}, "'no'"),
        ({"params": {"no": "1"}}, "no is '1'"),
        ({"stop": [7]}, "stop is 7"),
    ],
)
def test_a_bad_form_is_refused_before_anything_is_stored(controller, tiny_folder, changes, named):
    before = table(controller.store)
    with pytest.raises(EngineError) as caught:
        controller.start(form.form_of(asked(tiny_folder)) | changes)
    assert named in caught.value.message
    assert caught.value.hint
    assert table(controller.store) == before


def test_what_cannot_begin_leaves_nothing_in_the_store(controller, tiny_folder):
    before = table(controller.store)
    run, sink = controller.begin(session.plan(asked(tiny_folder, max_tokens=5000)))
    assert run.done.wait(WAIT_S)
    assert sink.session_id is None
    assert (sink.refused.status, table(controller.store)) == ("failed", before)
    assert "2048" in sink.refused.reason


def test_the_screens_session_that_cannot_begin_says_why(controller, tiny_folder):
    session_id = controller.start(form.form_of(asked(tiny_folder, max_tokens=5000)))
    controller.wait(session_id)
    head = controller.head(session_id)
    assert (head["status"], head["rounds"]) == ("failed", 0)
    assert "2048" in head["end_reason"]
    with pytest.raises(EngineError, match="never read its prompt"):
        controller.rerun(session_id, ["block"])


def test_a_listener_that_fails_does_not_end_the_session(controller, tiny_folder):
    heard = []

    def listen(event) -> None:
        heard.append(event)
        raise BrokenPipeError("nobody reads")

    run, sink = controller.begin(session.plan(asked(tiny_folder)), listen)
    assert run.done.wait(WAIT_S)
    assert len(heard) == 1
    assert controller.count(sink.session_id)[1] == "finished"


def test_a_stopped_session_keeps_every_round_it_finished(controller, tiny_folder):
    heard = []

    def listen(event) -> None:
        heard.append(event)
        if len(heard) == 4:  # the prompt and three rounds
            controller.worker.stop(run)

    started = session.plan(asked(tiny_folder, sampling=Sampling(temperature=1.0, logit_bias=NO_EOS)))
    ready = threading.Event()
    run, sink = controller.begin(started, lambda event: (ready.wait(WAIT_S), listen(event)))
    ready.set()
    assert run.done.wait(WAIT_S)
    info = controller.store.session(sink.session_id)
    assert (info.status, info.rounds) == ("stopped", 3)
    assert rounds_of(controller, sink.session_id) == [event for event in heard if isinstance(event, Round)]
    assert isinstance(heard[-1], SessionFinished)


def test_stopping_an_ended_session_changes_nothing(controller, tiny_folder):
    session_id = play(controller, asked(tiny_folder))
    controller.stop(session_id)
    assert controller.count(session_id)[1] == "finished"


def test_a_session_of_another_program_is_not_ours_to_stop(controller, tmp_path):
    with Store.open(controller.store.path) as other:
        theirs = other.create(session.plan(Request(prompt="Hi")))
        with pytest.raises(EngineError, match="another Draftscope"):
            controller.stop(theirs)
        other.fail(theirs, "over")
    with pytest.raises(StoreError):
        controller.stop(10**9)


def test_runs_that_have_ended_are_forgotten(controller, tiny_folder):
    chosen = form.form_of(asked(tiny_folder, max_tokens=2))
    for _ in range(4):
        controller.wait(controller.start(chosen))
    assert len(controller._runs) == 1


# Looking


@pytest.fixture(scope="module")
def shown(controller, tiny_folder) -> int:
    """A session with rounds of every kind."""
    return play(controller, asked(tiny_folder, drafter="self:3bit", sampling=SHORT_ROWS, max_tokens=24))


def test_everything_for_the_screen_is_plain_json(controller, shown):
    children = controller.rerun(shown, ["stochastic", "block"])
    for child in children:
        controller.wait(child)
    n, _ = controller.count(shown)
    for view in (
        controller.head(shown),
        controller.rounds(shown, 0, n),
        controller.count(shown),
        controller.sessions(),
        controller.choices(),
        controller.lanes(shown, children),
        controller.rejudge(shown, ["stochastic", "block"]),
    ):
        assert plain(view) == json.loads(json.dumps(view))


def test_a_head_says_what_ran_and_how_it_ended(controller, shown, tiny_folder):
    head = controller.head(shown)
    assert (head["id"], head["status"], head["end_reason"]) == (shown, "finished", "24 tokens")
    assert (head["target"], head["drafter"], head["rule"]) == (tiny_folder, "self:3bit", "stochastic")
    assert (head["lossless"], head["faulty"]) == (True, False)
    assert head["counters"]["emitted"] == 24
    assert head["progress"] == ""
    assert len(head["prompt_tokens"]) > 0
    assert set(map(str, head["prompt_tokens"])) <= set(head["prompt_pieces"])
    assert head["prompt_pieces"]["259"] == {"special": "<|im_start|>"}


def test_rounds_come_with_the_text_of_every_token_they_name(controller, shown):
    n, _ = controller.count(shown)
    page = controller.rounds(shown, 1, n)
    assert [view["i"] for view in page["rounds"]] == list(range(1, n))
    named = {bar[0] for view in page["rounds"] for place in view["positions"] for bar in place["bars"]}
    assert set(map(str, named)) <= set(page["pieces"])
    assert controller.rounds(shown, n, n + 5) == {"rounds": [], "pieces": {}}


def test_the_newest_session_is_first_in_the_list(controller, tiny_folder):
    session_id = play(controller, asked(tiny_folder, prompt="needle in the list", max_tokens=1))
    assert controller.sessions()[0]["id"] == session_id
    assert [line["id"] for line in controller.sessions("NEEDLE list")] == [session_id]


def test_choices_name_every_rule_and_the_defaults(controller):
    choices = controller.choices()
    assert [rule["id"] for rule in choices["rules"]] == list(rules.RULES)
    assert {f"self:{bits}bit" for bits in BITS} < set(choices["drafters"])
    assert session.plan(form.request_of(choices["defaults"]))


def test_the_text_is_what_the_tokenizer_decodes(controller, tiny_folder):
    from engine.mlx_backend import load

    session_id = play(controller, asked(tiny_folder, sampling=Sampling(temperature=1.0, logit_bias=NO_EOS)))
    tokens = tokens_of(controller, session_id)
    assert controller.text(session_id) == load.load_target(tiny_folder).text.decode(tokens)


# Ends


def test_max_tokens_is_exact_for_every_k(controller, tiny_folder):
    for k in range(5):
        request = asked(tiny_folder, k=k, max_tokens=9, sampling=Sampling(temperature=1.0, logit_bias=NO_EOS))
        session_id = play(controller, request)
        assert len(tokens_of(controller, session_id)) == 9
        assert all(done.block.start + done.block.k <= 9 for done in rounds_of(controller, session_id))


@pytest.fixture(scope="module")
def eager(tmp_path_factory) -> str:
    """A target for which one token in four ends the text."""
    from tests.mlx_backend import tiny

    ends = list(range(60, 130))
    folder = tmp_path_factory.mktemp("eager")
    return str(tiny.save(folder, tiny.random_model(0), tiny.tokenizer(), eos_token_id=ends))


def cut_inside(controller: Controller, requests: Iterator[Request], reason: str) -> int:
    """The first session whose last block was cut short by an accepted end."""
    for request in requests:
        session_id = play(controller, request)
        last = rounds_of(controller, session_id)[-1]
        inside = last.verdict.next_source == "ended" and 1 < last.block.k < request.k
        if inside and controller.store.session(session_id).reason.startswith(reason):
            return session_id
    raise AssertionError(f"no session ended inside a block by {reason!r}")


def assert_nothing_behind_the_end(controller: Controller, session_id: int) -> None:
    """Output, drafts, coins and counters stop at the last token."""
    rounds, tokens = rounds_of(controller, session_id), tokens_of(controller, session_id)
    last, counters = rounds[-1], controller.store.session(session_id).counters
    assert last.emitted == last.block.tokens
    assert last.verdict.next_token is None
    assert last.block.start + last.block.k == len(tokens) == counters.emitted
    assert max(coin.at.position for done in rounds for coin in done.coins) == len(tokens) - 1
    assert counters.proposed == sum(done.block.k for done in rounds)


def test_end_of_text_inside_a_block_ends_everything_there(controller, eager):
    drafter = f"model:{eager}"
    requests = (asked(eager, drafter=drafter, seed=seed, k=6) for seed in range(30))
    session_id = cut_inside(controller, requests, "end of text")
    tokens = tokens_of(controller, session_id)
    assert [60 <= token < 130 for token in tokens] == [False] * (len(tokens) - 1) + [True]
    shown = controller.store.pieces(controller.beginning(session_id)[1].tokenizer, tokens[:-1])
    text = b"".join(shown[token] for token in tokens[:-1])
    assert controller.text(session_id) == text.decode(errors="replace"), "the end itself is no text"
    assert_nothing_behind_the_end(controller, session_id)


def test_a_stop_string_inside_a_block_ends_everything_there(controller, tiny_folder):
    stops = tuple("abcdefghijklmnopqrstuvwxyz")
    requests = (
        asked(tiny_folder, drafter=f"model:{tiny_folder}", seed=seed, k=6, stop=stops) for seed in range(30)
    )
    session_id = cut_inside(controller, requests, "stop string")
    free = replace_stop(controller, session_id)
    tokens = tokens_of(controller, session_id)
    assert tokens == tokens_of(controller, free)[: len(tokens)]
    assert set(controller.text(session_id)).isdisjoint(stops)
    assert controller.text(free).startswith(controller.text(session_id))
    assert_nothing_behind_the_end(controller, session_id)


def replace_stop(controller: Controller, session_id: int) -> int:
    """The same session again without its stop strings."""
    run, sink = controller.begin(replace(controller.store.started(session_id), stop=()))
    assert run.done.wait(WAIT_S)
    return sink.session_id
