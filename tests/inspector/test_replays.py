"""Sessions again: re-runs that repeat every coin, re-judging, what reaches the verified rows, and turns."""

from __future__ import annotations

import shutil
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from engine import rules
from engine.core import replay
from engine.core.events import Round, StageTimes
from engine.core.types import Sampling
from engine.errors import BadSetting, EngineError
from inspector.controller import Controller
from inspector.lane_lines import repetition
from inspector.lanes import MAX_LANES
from storage import Store
from tests.playing import NO_EOS, SHORT_ROWS, asked, play, rounds_of, table, tokens_of

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
    batched = replace(info, versions=info.versions | {"batch": "6 lanes"})
    assert "(batch 6 lanes then, none now)" in repetition(batched, rounds[:1], info, rounds)["difference"]


def test_a_session_that_was_cut_short_is_repeated_as_far_as_it_went(controller, tiny_folder):
    session_id = play(controller, asked(tiny_folder))
    info, rounds = controller.store.session(session_id), rounds_of(controller, session_id)
    stopped = replace(info, status="stopped")
    assert repetition(stopped, rounds[:2], info, rounds)["reproduced"] is True
    assert repetition(info, rounds, stopped, rounds[:2]) == {
        "reproduced": None,
        "difference": "",
        "row": None,
    }
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
def test_a_comparison_of_none_too_many_or_unknown_rules_stores_nothing(controller, tiny_folder, names):
    session_id = play(controller, asked(tiny_folder, max_tokens=1))
    before = table(controller.store)
    for compare in (controller.rerun, controller.rejudge):
        with pytest.raises(BadSetting):
            compare(session_id, names)
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
