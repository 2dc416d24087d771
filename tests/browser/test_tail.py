"""The tail that feeds a page, without a browser: what it yields, how often, and when it ends."""

from __future__ import annotations

import asyncio
import itertools
import json
import time

import pytest

from inspector.screen.tail import DELTA_S, Tails, encode
from tests.browser.fake import FakeController

FORM = FakeController().choices()["defaults"] | {"stop": ""}


def test_a_delta_is_safe_inside_a_page_and_is_json():
    text = encode({"piece": "</script><b>", "p": 0.5})
    assert "<" not in text
    assert json.loads(text) == {"piece": "</script><b>", "p": 0.5}
    with pytest.raises(ValueError, match="JSON"):
        encode({"p": float("nan")})


def collect(tails: Tails, sessions: list[int]) -> list[tuple[float, dict]]:
    async def run() -> list[tuple[float, dict]]:
        deltas = tails.follow("page", sessions)
        return [(time.perf_counter(), json.loads(delta)) async for delta in deltas]

    return asyncio.run(run())


def test_the_deltas_of_a_run_add_up_to_its_rounds_and_come_at_most_ten_a_second():
    controller = FakeController(pace=0.01)
    controller.hold(1)
    session = controller.start(FORM)
    controller.until(lambda: controller.count(session)[0] == 1)
    controller.release()
    deltas = collect(Tails(controller), [session])
    updates = [update for _, delta in deltas for update in delta["updates"]]
    n = updates[0]["n"]
    for update in updates[1:]:
        if "rounds" in update:
            assert [view["i"] for view in update["rounds"]] == list(range(n, update["n"]))
            n = update["n"]
    assert n == controller.count(session)[0]
    assert updates[-1]["status"] == "finished"
    assert updates[-1]["head"]["end_reason"] == "64 tokens"
    gaps = [b - a for (a, _), (b, _) in itertools.pairwise(deltas)]
    assert min(gaps) >= DELTA_S


def test_every_delta_carries_the_pieces_its_rounds_name():
    controller = FakeController(pace=0.005)
    session = controller.start(FORM)
    for _, delta in collect(Tails(controller), [session]):
        for update in delta["updates"]:
            for view in update.get("rounds", ()):
                named = {str(position["x"]) for position in view["positions"]}
                named |= {str(bar[0]) for position in view["positions"] for bar in position["bars"]}
                assert named <= set(update["pieces"])


def test_a_tail_of_a_finished_session_says_how_far_it_is_and_ends():
    controller = FakeController()
    session = controller.start(FORM)
    controller.ended(session)
    deltas = collect(Tails(controller), [session])
    assert len(deltas) == 1
    (update,) = deltas[0][1]["updates"]
    assert (update["n"], update["status"]) == controller.count(session)
    assert "rounds" not in update


def test_a_newer_tail_of_a_page_ends_the_one_before():
    controller = FakeController()
    controller.hold(2)
    session = controller.start(FORM)
    tails = Tails(controller)

    async def run() -> str:
        first = tails.follow("page", [session])
        await anext(first)
        second = tails.follow("page", [session])
        await anext(second)
        return await anext(first, "ended")

    assert asyncio.run(asyncio.wait_for(run(), 10)) == "ended"
    controller.stop(session)
