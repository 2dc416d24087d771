"""A dictionary of bounded size, for what is dear to make and may be made again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable


class Kept:
    """Forgets what was used longest ago once all it holds is larger than `room`; the newest always stays.

    Sizes are in whatever unit the holder counts. Safe to call from any thread.
    """

    def __init__(self, room: int) -> None:
        self.room = room
        self.size = 0
        self._found: OrderedDict[Hashable, tuple[object, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> object | None:
        """The value of a key, which is thereby the newest used; None where there is none."""
        with self._lock:
            if key not in self._found:
                return None
            self._found.move_to_end(key)
            return self._found[key][0]

    def put(self, key: Hashable, value: object, size: int = 1) -> None:
        """Keep `value`, whatever its size."""
        with self._lock:
            self.size += size - self._found.pop(key, (None, 0))[1]
            self._found[key] = (value, size)
            while self.size > self.room and len(self._found) > 1:
                _, (_, freed) = self._found.popitem(last=False)
                self.size -= freed
