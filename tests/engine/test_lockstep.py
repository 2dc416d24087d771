"""Lanes wait until all have asked, and each gets its own answer."""

from __future__ import annotations

import threading

import pytest

from engine.lockstep import Lockstep

WAIT_S = 60


def started(step: Lockstep, lane: int, work) -> threading.Thread:
    def run() -> None:
        try:
            work(lambda question: step.ask(lane, question))
        finally:
            step.leave(lane)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def joined(threads) -> None:
    for thread in threads:
        thread.join(WAIT_S)
        assert not thread.is_alive()


def test_every_lane_gets_the_answers_to_its_own_questions():
    step: Lockstep[int, int] = Lockstep(3)
    heard: list[list[int]] = [[], [], []]

    def counting(lane: int, times: int):
        return lambda ask: heard[lane].extend(ask(10 * lane + i) for i in range(times))

    threads = [started(step, lane, counting(lane, times)) for lane, times in enumerate((3, 1, 2))]
    turns = []
    while waiting := step.waiting():
        turns.append(tuple(waiting))
        for lane, question in waiting.items():
            step.reply(lane, question + 100)
    joined(threads)
    assert turns == [(0, 1, 2), (0, 2), (0,)]
    assert heard == [[100, 101, 102], [110], [120, 121]]


def test_a_lane_that_is_not_answered_waits_while_others_go_on():
    step: Lockstep[str, int] = Lockstep(2)
    order = []

    def asks(*questions):
        return lambda ask: order.extend((question, ask(question)) for question in questions)

    threads = [started(step, 0, asks("a", "b", "c")), started(step, 1, asks("last"))]
    turn = 0
    while waiting := step.waiting():
        lane = 0 if 0 in waiting else 1
        step.reply(lane, turn)
        turn += 1
    joined(threads)
    assert order == [("a", 0), ("b", 1), ("c", 2), ("last", 3)]


def test_a_refusal_is_raised_where_the_lane_waits():
    step: Lockstep[str, int] = Lockstep(2)
    caught = []

    def careful(ask) -> None:
        with pytest.raises(OverflowError, match="too much"):
            ask("a")
        caught.append(ask("b"))

    threads = [started(step, 0, careful), started(step, 1, lambda ask: caught.append(ask("c")))]
    while waiting := step.waiting():
        for lane, question in waiting.items():
            if question == "a":
                step.refuse(lane, OverflowError("too much"))
            else:
                step.reply(lane, 7)
    joined(threads)
    assert caught == [7, 7]


def test_lanes_that_never_ask_are_not_waited_for():
    step: Lockstep[int, int] = Lockstep(2)
    threads = [started(step, lane, lambda ask: None) for lane in range(2)]
    assert step.waiting() == {}
    joined(threads)
