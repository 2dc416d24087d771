"""A stop that reaches work deep inside a model: who started it says how to ask, long work asks.

The question belongs to the thread that set it; elsewhere, and outside `while_asking`, nothing is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_ask: ContextVar[Callable[[], None]] = ContextVar("ask", default=lambda: None)


@contextmanager
def while_asking(ask: Callable[[], None]) -> Iterator[None]:
    """Within, `check` calls `ask`, which raises to break the work off."""
    token = _ask.set(ask)
    try:
        yield
    finally:
        _ask.reset(token)


def check() -> None:
    """Raise what the starter of this work raises once it has been stopped."""
    _ask.get()()
