"""Every event goes through JSON and comes back equal."""

import json

import pytest

from engine.core import events
from engine.core.events import (
    EVENTS,
    PromptRead,
    SessionFinished,
    SessionStarted,
    from_dict,
    row_from_dict,
    row_to_dict,
)
from engine.core.types import Sampling
from engine.errors import EngineError
from engine.rules import RULES
from tests.core.rounds import made_round
from tests.core.toys import ToyDrafter, ToyScorer, plan, play, random_logits

STARTED = SessionStarted(
    prompt="Hi",
    raw=False,
    target="bundled",
    drafter="self:3bit",
    rule="greedy-argmax",
    params={"leniency": 0.5},
    asked="stochastic",
    reason="temperature is 0",
    sampling=Sampling(temperature=0.0, logit_bias=((7, -100.0), (8, 1.5))),
    seed=2**63 - 1,
    k=4,
    max_tokens=64,
    stop=("\n\n", "é"),
)
READ = PromptRead((1, 2, 3), 12.5, 49152, "smollm2-1f", special=(0, 2), versions={"mlx": "0.32.4"})
ENDED = SessionFinished("finished", "64 tokens", 812.25)


def through_json(event):
    return from_dict(json.loads(json.dumps(event.to_dict(), allow_nan=False)))


@pytest.mark.parametrize(
    "event", [STARTED, READ, ENDED, made_round(), made_round((), 0)], ids=lambda e: e.type
)
def test_an_event_comes_back_equal(event):
    back = through_json(event)
    assert back == event and type(back) is type(event)


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.id)
def test_the_rounds_of_every_rule_come_back_equal(rule):
    sampling = {"temperature": 0.0} if rule.greedy_only else {"top_p": 0.9}
    done = play(
        plan(rule, max_tokens=12, **sampling),
        ToyDrafter(random_logits(2, 5)),
        ToyScorer(random_logits(1, 5)),
        matrix_rules=tuple(RULES.values()),
    )
    for played in done:
        back = through_json(played)
        assert back == played
        assert (back.block.p, back.coins, back.matrix) == (played.block.p, played.coins, played.matrix)


def test_rows_can_be_kept_elsewhere():
    kept = []

    def put(row):
        kept.append(row)
        return len(kept) - 1

    body = json.loads(json.dumps(made_round().to_dict(put)))
    assert body["q"] == [0, 1, 2]
    assert from_dict(body, kept.__getitem__) == made_round()


def test_a_row_comes_back_to_the_last_bit():
    (row,) = made_round((), 0).block.p
    assert row_from_dict(json.loads(json.dumps(row_to_dict(row)))) == row


@pytest.mark.parametrize(
    "change", [{"type": "dance"}, {"version": events.VERSION + 1}, {"type": None}, {"version": None}]
)
def test_an_event_of_another_kind_or_version_is_refused(change):
    with pytest.raises(EngineError, match=r"An event has type .*this program reads.*Open the session with"):
        from_dict(ENDED.to_dict() | change)


def test_reading_leaves_the_dict_as_it_was():
    body = ENDED.to_dict()
    from_dict(body)
    assert body == ENDED.to_dict()


def test_types_are_told_apart():
    assert list(EVENTS) == ["started", "prompt", "round", "finished"]


def test_fates():
    done = made_round((0, 1, 2, 0), n_accepted=1)
    assert [done.fate(i) for i in range(4)] == ["accepted", "rejected", "untested", "untested"]
    assert [made_round(n_accepted=3).fate(i) for i in range(3)] == ["accepted"] * 3


@pytest.mark.parametrize("lost", ["matrix", "times", "coins"])
def test_an_event_of_another_shape_is_refused_in_a_sentence(lost):
    body = made_round().to_dict()
    del body[lost]
    with pytest.raises(EngineError, match=f"'round' cannot be read: KeyError '{lost}'"):
        from_dict(body)
