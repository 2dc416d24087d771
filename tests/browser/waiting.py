"""Waiting for what no locator can say."""

from __future__ import annotations

import time
from collections.abc import Callable

from playwright.sync_api import Page, expect


def comes(page: Page, holds: Callable[[], bool], seconds: float = 15) -> None:
    """Wait until it is so, then assert it: what a page shows may be ahead of the store, or still move."""
    deadline = time.monotonic() + seconds
    while not holds() and time.monotonic() < deadline:
        page.wait_for_timeout(50)
    assert holds()


STILL = """() => Promise.race([
    Promise.allSettled(document.getAnimations()
        .filter((one) => one.effect.getComputedTiming().endTime !== Infinity)
        .map((one) => one.finished)),
    new Promise((done) => setTimeout(done, 5000)),
]).then(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))))"""


def still(page: Page) -> None:
    """Wait until what fades or slides has done so, and two frames more. What pulses for ever is left."""
    page.evaluate(STILL)


def pick_rules(page: Page, *rules: str) -> None:
    """Tick these rules in Compare and no other. The list is drawn a frame after the view is opened."""
    boxes = page.locator(".ds-rulepick input[type=checkbox]")
    expect(boxes.first).to_be_visible()
    for box in boxes.all():
        box.set_checked(box.get_attribute("value") in rules)
