"""The thread that owns MLX has to say goodbye.

MLX keeps streams per thread and, since 0.32, does not wind them up on its own: a thread that ran a model
and simply ends takes the whole process down now and then ("terminate called without an active
exception"; two of three runs here). `clear_streams` is mlx's call for it (ml-explore/mlx PR 3395).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import mlx.core as mx


@contextmanager
def mlx_thread() -> Iterator[None]:
    """Around everything a thread does with MLX; arrays of this thread are of no use afterwards."""
    try:
        yield
    finally:
        mx.clear_streams()
