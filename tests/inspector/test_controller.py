"""The controller on tiny models: form in, session out; replays that repeat; plain types for the screen."""

from __future__ import annotations

import json
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from engine import rules, session
from engine.core import replay
from engine.core.events import Round, SessionFinished, StageTimes
from engine.core.types import Sampling
from engine.drafters.spec import BITS
from engine.errors import BadSetting, EngineError
from engine.session import Request
from inspector import form
from inspector.controller import MAX_LANES, Controller, repetition
from storage import Store
from storage.errors import StoreError
from tests.playing import WAIT_S, play, rounds_of, tokens_of

WARM = Sampling(temperature=1.0)
#: Few enough tokens with mass that every stored row is whole.
SHORT_ROWS = Sampling(temperature=1.0, top_k=20)
EOS = 260
NO_EOS = ((EOS, -100.0),)


def asked(target: str, **changes) -> Request:
    base = {
        "prompt": "the theme then",
        "target": target,
        "drafter": "self:8bit",
        "sampling": WARM,
        "max_tokens": 16,
    }
    return Request(**base | changes)


def table(store: Store) -> list[tuple]:
    """Every session row and event of the file, as another program reads it."""
    with closing(sqlite3.connect(store.path)) as conn:
        return [row for name in ("sessions", "events") for row in conn.execute(f"SELECT * FROM {name}")]


def plain(value: object) -> object:
    """The value through JSON; NaN, infinity and NumPy scalars are refused."""
    return json.loads(json.dumps(value, allow_nan=False))


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


# Replays

#: Every rule with one drafter, and the most used ones with every kind of drafter.
REPEATED = [(rule.id, "self:3bit") for rule in rules.RULES.values() if not rule.greedy_only]
REPEATED += [
    (rule, drafter)
    for rule in ("stochastic", "sampler-match", "one-hot", "block")
    for drafter in ("lookup", "none", "model:")
]


def spelled(drafter: str, tiny_draft: str) -> str:
    return drafter + tiny_draft if drafter == "model:" else drafter


def rerun(controller: Controller, session_id: int, *rule_ids: str) -> list[dict]:
    children = controller.rerun(session_id, list(rule_ids))
    for child in children:
        controller.wait(child)
    return controller.lanes(session_id, children)


@pytest.mark.parametrize(("rule", "drafter"), REPEATED)
def test_a_rerun_under_the_own_rule_repeats_every_coin(controller, tiny_folder, tiny_draft, rule, drafter):
    request = asked(
        tiny_folder, drafter=spelled(drafter, tiny_draft), rule=rule, sampling=SHORT_ROWS, max_tokens=10
    )
    session_id = play(controller, request)
    (lane,) = rerun(controller, session_id, rule)
    assert (lane["reproduced"], lane["difference"], lane["first_divergence"]) == (True, "", None)
    assert (lane["rule"], lane["mode"], lane["status"]) == (rule, "rerun", "finished")
    assert lane["text"] == controller.text(session_id)
    child = controller.store.session(lane["session"])
    assert (child.parent_id, child.relation) == (session_id, "rerun")
    (judged,) = controller.rejudge(session_id, [rule])
    assert (judged["reproduced"], judged["exact"], judged["status"]) == (True, True, "finished")


def test_a_tampered_coin_is_found_by_rerun_and_by_rejudge(controller, tiny_folder, tmp_path, monkeypatch):
    session_id = play(controller, asked(tiny_folder, sampling=SHORT_ROWS))
    real = controller.all_rounds

    def tampered(wanted: int) -> list[Round]:
        rounds = real(wanted)
        if wanted == session_id:
            done = rounds[1]
            at = next(i for i, coin in enumerate(done.coins) if coin.at.purpose == "accept")
            coins = list(done.coins)
            coins[at] = replace(coins[at], u=np.nextafter(coins[at].u, 1.0))
            rounds[1] = replace(done, coins=tuple(coins))
        return rounds

    monkeypatch.setattr(controller, "all_rounds", tampered)
    (lane,) = rerun(controller, session_id, "stochastic")
    assert lane["reproduced"] is False
    assert lane["difference"].startswith("round 1: coins differ")
    (judged,) = controller.rejudge(session_id, ["stochastic"])
    assert judged["reproduced"] is False
    assert judged["difference"].startswith("round 1: coins differ")


def test_a_rules_own_parameters_are_repeated_and_others_start_at_their_defaults(controller, tiny_folder):
    request = asked(tiny_folder, rule="lenient", params={"leniency": 0.4}, max_tokens=8)
    session_id = play(controller, request)
    own, other = rerun(controller, session_id, "lenient", "typical")
    assert own["reproduced"] is True
    assert controller.store.session(own["session"]).params == {"leniency": 0.4}
    assert controller.store.session(other["session"]).params == rules.get("typical").params


def test_a_rerun_reads_the_tokens_that_were_read_not_the_text(controller, tmp_path):
    """A chat template that has changed since changes nothing; a tokenizer that has is refused."""
    from tests.mlx_backend import tiny

    folder = tmp_path / "model"
    tiny.save(folder, tiny.random_model(0), tiny.tokenizer())
    session_id = play(controller, asked(str(folder), max_tokens=4))
    words = tiny.tokenizer()
    words._tokenizer.chat_template = "{{ messages[0]['content'] }}"
    words._tokenizer.save_pretrained(folder)
    with closing(Controller(controller.store)) as later:
        assert later.beginning(play(later, asked(str(folder)))) != controller.beginning(session_id)
        (lane,) = rerun(later, session_id, "stochastic")
        assert lane["reproduced"] is True
    tiny.tokenizer(order=-1)._tokenizer.save_pretrained(folder)
    with closing(Controller(controller.store)) as later:
        (lane,) = rerun(later, session_id, "stochastic")
    assert lane["status"] == "failed"
    assert "another tokenizer" in lane["reason"]


def test_drafts_that_another_rule_would_not_have_drawn_are_not_rejudged(controller, tiny_folder):
    session_id = play(controller, asked(tiny_folder, rule="gumbel", max_tokens=6))
    own, other = controller.rejudge(session_id, ["gumbel", "stochastic"])
    assert own["counters"]["rounds"] == controller.count(session_id)[0]
    assert (other["status"], other["counters"]["rounds"], other["text"]) == ("needs a run", 0, "")
    assert "draws its drafts in another way" in other["reason"]


def test_other_versions_are_named_where_a_rerun_differs(controller, tiny_folder):
    session_id = play(controller, asked(tiny_folder))
    info, rounds = controller.store.session(session_id), rounds_of(controller, session_id)
    older = replace(info, versions=info.versions | {"mlx": "0.1"})
    told = repetition(older, rounds[:1], info, rounds)
    assert told["reproduced"] is False
    assert f"mlx 0.1 then, {info.versions['mlx']} now" in told["difference"]


def test_a_session_that_was_cut_short_is_repeated_as_far_as_it_went(controller, tiny_folder):
    session_id = play(controller, asked(tiny_folder))
    info, rounds = controller.store.session(session_id), rounds_of(controller, session_id)
    stopped = replace(info, status="stopped")
    assert repetition(stopped, rounds[:2], info, rounds)["reproduced"] is True
    assert repetition(info, rounds, stopped, rounds[:2]) == {"reproduced": None, "difference": ""}
    assert repetition(info, rounds, info, rounds[:2])["reproduced"] is False
    other = [replace(rounds[0], emitted=()), *rounds[1:]]
    assert repetition(info, rounds, stopped, other[:2])["reproduced"] is False


def test_lanes_name_the_first_position_that_differs(controller, tiny_folder):
    session_id = play(controller, asked(tiny_folder, drafter="self:3bit", max_tokens=20))
    lanes = rerun(controller, session_id, "stochastic", "sampler-match", "block", "argmax")
    own = tokens_of(controller, session_id)
    apart = 0
    for lane in lanes:
        other = tokens_of(controller, lane["session"])
        first = next((i for i, (a, b) in enumerate(zip(own, other, strict=False)) if a != b), None)
        assert lane["first_divergence"] == first
        assert ("reproduced" in lane) == (lane["rule"] == "stochastic")
        assert lane["counters"]["emitted"] == len(other)
        apart += first is not None
    assert apart >= 2


@pytest.mark.parametrize("drafter", ["self:8bit", "self:3bit", "lookup"])
def test_rejudging_is_the_reruns_own_beginning(controller, tiny_folder, drafter):
    """Where it goes on to the end it is the whole re-run; rows and coins and tests are the same."""
    session_id = play(controller, asked(tiny_folder, drafter=drafter, sampling=SHORT_ROWS))
    names = ["sampler-match", "one-hot", "argmax", "fault-residual-from-p", "lenient", "block"]
    started = controller.store.started(session_id)
    judged_rounds = 0
    for lane, judged in zip(
        rerun(controller, session_id, *names), controller.rejudge(session_id, names), strict=True
    ):
        assert judged["exact"] and judged["missing_mass"] == 0.0
        assert (judged["rule"], judged["mode"]) == (lane["rule"], "rejudge")
        stored = replay.rejudge(rounds_of(controller, session_id), rules.get(lane["rule"]), started.seed)
        run = rounds_of(controller, lane["session"])[: len(stored.rounds)]
        assert replay.difference(run, stored.rounds) == ""
        assert judged["counters"]["rounds"] == len(stored.rounds)
        assert lane["text"].startswith(judged["text"].rstrip("\ufffd"))
        if judged["status"] == "finished":
            assert judged["counters"] == lane["counters"]
        else:
            assert judged["reason"]
        judged_rounds += len(stored.rounds)
    assert judged_rounds > len(names)


def test_rejudging_needs_no_model(controller, tmp_path):
    from tests.mlx_backend import tiny

    folder = tiny.save(tmp_path / "model", tiny.random_model(0), tiny.tokenizer())
    session_id = play(controller, asked(str(folder), drafter="self:4bit", sampling=SHORT_ROWS))
    shutil.rmtree(folder)
    assert [lane["rule"] for lane in controller.rejudge(session_id, ["block", "stochastic"])] == [
        "block",
        "stochastic",
    ]
    before = table(controller.store)
    with pytest.raises(EngineError, match="There is no folder"):
        controller.rerun(session_id, ["block"])
    assert table(controller.store) == before


@pytest.mark.parametrize("sampling", [Sampling(temperature=0.0), Sampling(top_k=1)])
def test_a_greedy_session_says_which_rule_ran_and_why(controller, tiny_folder, sampling):
    session_id = play(controller, asked(tiny_folder, rule="block", sampling=sampling))
    head, started = controller.head(session_id), controller.store.started(session_id)
    assert (started.asked, started.rule) == (head["asked"], head["rule"]) == ("block", "greedy-argmax")
    assert started.reason == head["reason"] != ""
    (lane,) = rerun(controller, session_id, "block")
    assert (lane["asked"], lane["rule"], lane["reproduced"]) == ("block", "greedy-argmax", True)


@pytest.mark.parametrize("names", [[], ["nope"], [*rules.RULES][: MAX_LANES + 1]])
def test_a_comparison_of_none_too_many_or_unknown_rules_stores_nothing(controller, shown, names):
    before = table(controller.store)
    for compare in (controller.rerun, controller.rejudge):
        with pytest.raises(BadSetting):
            compare(shown, names)
    assert table(controller.store) == before


# What reaches the verified rows


def test_a_banned_token_has_no_mass_in_any_verified_row(controller, tiny_folder):
    free = play(controller, asked(tiny_folder, max_tokens=12))
    banned = tokens_of(controller, free)[3]
    sampling = Sampling(temperature=1.0, logit_bias=((banned, -100.0),))
    for seed in range(3):
        session_id = play(controller, asked(tiny_folder, seed=seed, sampling=sampling))
        assert banned not in tokens_of(controller, session_id)
        rounds = rounds_of(controller, session_id)
        assert max(row.prob(banned) for done in rounds for row in done.block.p) < 1e-30


def test_penalties_count_every_token_before_the_row(controller, tiny_folder):
    """The frequency penalty of row j sees the drafts before j: with a huge one no token comes twice."""
    sampling = Sampling(temperature=1.0, frequency_penalty=100.0, logit_bias=NO_EOS)
    session_id = play(controller, asked(tiny_folder, sampling=sampling, max_tokens=40, k=6))
    prompt, tokens = controller.beginning(session_id)[1].tokens, tokens_of(controller, session_id)
    assert len(set(tokens)) == 40
    assert set(tokens).isdisjoint(prompt)
    for done in rounds_of(controller, session_id):
        for i, row in enumerate(done.block.p):
            before = {*prompt, *tokens[: done.block.start], *done.block.tokens[:i]}
            assert max(row.prob(token) for token in before) < 1e-30


def test_the_drafter_mirrors_temperature_and_truncation_alone(controller, tiny_folder):
    sampling = Sampling(temperature=0.6, top_k=5, min_p=0.02, repetition_penalty=1.5, logit_bias=NO_EOS)
    session_id = play(controller, asked(tiny_folder, drafter=f"model:{tiny_folder}", sampling=sampling))
    bare = play(controller, asked(tiny_folder, drafter=f"model:{tiny_folder}", sampling=sampling.mirrored()))
    rounds, first = rounds_of(controller, session_id), rounds_of(controller, bare)[0]
    assert all(len(q.ids) <= 5 for done in rounds for q in done.block.q)
    # Without bias and penalties the same model gives target and drafter the same row.
    p, q = first.block.p[0], first.block.q[0]
    assert p.ids.tolist() == q.ids.tolist()
    assert p.probs == pytest.approx(q.probs, abs=1e-5)
    assert rounds[0].block.q[0].probs == pytest.approx(q.probs, abs=1e-5)
    assert rounds[0].block.p[0] != rounds[0].block.q[0]


# Turns


def test_a_session_after_others_equals_one_on_fresh_models(controller, tiny_folder, tmp_path):
    """Caches that are reused change nothing, bit for bit."""
    first = asked(tiny_folder, drafter="self:3bit", prompt="one and the same")
    second = asked(tiny_folder, drafter="self:3bit", prompt="one and the same, and more", seed=3)
    for request in (first, second):
        play(controller, request)
    used = [rounds_of(controller, play(controller, request)) for request in (second, first, first)]
    with Store.open(tmp_path / "fresh.sqlite") as store:
        for request, rounds in zip((second, first, first), used, strict=True):
            with closing(Controller(store)) as fresh:
                assert timeless(rounds_of(fresh, play(fresh, request))) == timeless(rounds)


def timeless(rounds: list[Round]) -> list[Round]:
    return [replace(done, times=StageTimes()) for done in rounds]
