"""What pure functions of rows gave, kept while one round is decided: its rules ask the same of the same rows.

Rows and the arrays made from them are immutable values, so a result may be handed out again. It is found by
the very objects it was made from, which are kept alive with it. Each thread has a memory of its own, and
none outside `remembering`: there a function computes as if it were bare.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec, TypeVar

import numpy as np

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

_here = threading.local()


@contextmanager
def remembering() -> Iterator[None]:
    """Keep results until the end of the block; inside another such block, until the end of that."""
    if getattr(_here, "memory", None) is not None:
        yield
        return
    _here.memory = {}
    try:
        yield
    finally:
        _here.memory = None


def once(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """The function, computed once for the same objects while this thread is `remembering`. Its arguments are
    rows, arrays and plain numbers; the arrays it returns can no longer be written to."""

    @wraps(function)
    def asked(*arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
        memory = getattr(_here, "memory", None)
        if memory is None:
            return function(*arguments, **named)
        given = (*arguments, *named.values())
        key = (function, *named, *(one if isinstance(one, int | float) else id(one) for one in given))
        if key not in memory:
            memory[key] = sealed(function(*arguments, **named)), given
        return memory[key][0]

    return asked


def sealed(result: Result) -> Result:
    """The result, its arrays read-only."""
    for part in result if isinstance(result, tuple) else (result,):
        if isinstance(part, np.ndarray):
            part.setflags(write=False)
    return result
