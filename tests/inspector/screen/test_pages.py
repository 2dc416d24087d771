"""Pages of rounds: the controller's own, counted out once for a session that has ended."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from inspector.screen.pages import Pages
from inspector.screen.tail import PAGE


class Counting:
    """A controller of one session that notes each page it makes."""

    def __init__(self, status: str = "finished") -> None:
        self.status = status
        self.made: list[tuple[int, int]] = []

    def count(self, session_id: int) -> tuple[int, str]:
        return 500, self.status

    def rounds(self, session_id: int, lo: int, hi: int, bars: int) -> dict:
        self.made.append((lo, hi))
        return {"rounds": [{"i": i} for i in range(lo, hi)], "pieces": {"1": "</b>"}}


def test_a_page_is_the_controllers_answer_as_safe_json():
    pages = Pages(Counting())
    text = pages.text(1, 3, 5)
    assert json.loads(text) == {"rounds": [{"i": 3}, {"i": 4}], "pieces": {"1": "</b>"}}
    assert "<" not in text


def test_an_ended_session_is_read_once_and_a_running_one_each_time():
    for status, times in (("finished", 1), ("interrupted", 1), ("running", 2), ("queued", 2)):
        controller = Counting(status)
        pages = Pages(controller)
        assert pages.text(1, 0, 9) == pages.text(1, 0, 9)
        assert len(controller.made) == times, status


def test_no_page_is_longer_than_the_limit():
    controller = Counting()
    Pages(controller).text(1, 0, 10_000)
    assert controller.made == [(0, PAGE)]


def test_what_is_kept_has_a_limit_and_the_least_used_goes_first():
    controller = Counting()
    pages = Pages(controller, kept=len(Pages(controller).text(1, 100, 110)) * 2 + 5)
    controller.made.clear()
    for lo in (100, 110, 100, 120, 100, 110):
        pages.text(1, lo, lo + 10)
    assert [lo for lo, _ in controller.made] == [100, 110, 120, 110]
    assert pages.kept.size <= pages.kept.room


def test_a_missing_session_is_the_controllers_error():
    def gone(session_id):
        raise KeyError(session_id)

    with pytest.raises(KeyError):
        Pages(SimpleNamespace(count=gone)).text(9, 0, 1)
