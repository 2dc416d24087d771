"""Waiting for what no locator can say."""

from __future__ import annotations

import time
from collections.abc import Callable

from playwright.sync_api import Page


def comes(page: Page, holds: Callable[[], bool], seconds: float = 15) -> None:
    """Wait until it is so, then assert it: what a page shows may be ahead of the store, or still move."""
    deadline = time.monotonic() + seconds
    while not holds() and time.monotonic() < deadline:
        page.wait_for_timeout(50)
    assert holds()
