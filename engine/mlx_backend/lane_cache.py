"""One layer's keys and values for several lanes, each lane as long as it is.

A pass takes some of the lanes, each with a number of new tokens of its own; the tokens are padded to the
widest. Only real entries are written, each lane's behind its own end, and the mask lets a lane see nothing
but itself, so padding reaches neither the cache nor a row that anybody reads. Rewinding a lane shortens it:
what stands behind its end is hidden by the mask, and overwritten by what comes next.

To mlx-lm's model code this is a cache like its own: `offset` is an array with a number for each lane, as
its batched caches have it, and rotary positions follow from that.
"""

from __future__ import annotations

from dataclasses import dataclass

import mlx.core as mx
from mlx_lm.models.cache import KVCache

STEP = 256  # entries a buffer grows by


@dataclass(frozen=True)
class Pass:
    """The lanes of a pass, ascending, and how many real tokens each feeds."""

    lanes: tuple[int, ...]
    counts: tuple[int, ...]


class LaneCache:
    """Keys and values [lanes, heads, entries, head_dim]. `lengths` says how many entries of a lane count."""

    def __init__(self, n_lanes: int) -> None:
        self.lengths = [0] * n_lanes
        self.keys: mx.array | None = None
        self.values: mx.array | None = None
        self.current = Pass((), ())

    @property
    def state(self) -> tuple[mx.array, mx.array]:
        return self.keys, self.values

    @property
    def offset(self) -> mx.array:  # int32[lanes of the pass]
        return mx.array([self.lengths[lane] for lane in self.current.lanes])

    def make_mask(
        self, n: int, return_array: bool = False, window_size: int | None = None
    ) -> mx.array:  # bool[lanes of the pass, 1, n, entries]
        """What each new token may see: its own lane up to itself. Asked before the layers are updated."""
        ends = [self.lengths[lane] for lane in self.current.lanes]
        width = max(end + count for end, count in zip(ends, self.current.counts, strict=True))
        query = (mx.array(ends)[:, None] + mx.arange(n))[:, None, :, None]
        entry = mx.arange(width)
        mask = entry <= query
        return mask if window_size is None else mask & (query < entry + window_size)

    def update_and_fetch(self, keys: mx.array, values: mx.array) -> tuple[mx.array, mx.array]:
        """Append each lane's new entries; everything the lanes of the pass hold, up to the longest."""
        for row, (lane, n) in enumerate(zip(self.current.lanes, self.current.counts, strict=True)):
            self.put(lane, keys[row, :, :n], values[row, :, :n])
        width = max(self.lengths[lane] for lane in self.current.lanes)
        return self._seen(self.keys, width), self._seen(self.values, width)

    def put(self, lane: int, keys: mx.array, values: mx.array) -> None:  # [heads, n, head_dim]
        """Write n entries behind a lane's end."""
        start, end = self.lengths[lane], self.lengths[lane] + keys.shape[1]
        self.keys = self._roomy(self.keys, keys, end)
        self.values = self._roomy(self.values, values, end)
        self.keys[lane, :, start:end] = keys
        self.values[lane, :, start:end] = values
        self.lengths[lane] = end

    def copy_in(self, lane: int, cache: KVCache) -> None:
        """Make a lane hold what a cache of one sequence holds. What another session left there goes: a NaN
        would get through the mask (0 times NaN is NaN)."""
        self.lengths[lane] = 0
        if self.keys is not None:
            self.keys[lane] = 0
            self.values[lane] = 0
        if cache.offset:
            keys, values = cache.keys_and_values()
            self.put(lane, keys[0], values[0])

    def _roomy(self, buffer: mx.array | None, like: mx.array, entries: int) -> mx.array:
        """The buffer, long enough for so many entries; what a lane does not hold is zero, so never NaN."""
        have = 0 if buffer is None else buffer.shape[2]
        if entries <= have:
            return buffer
        more = -(-(entries - have) // STEP) * STEP
        room = mx.zeros((len(self.lengths), like.shape[0], more, like.shape[2]), like.dtype)
        return room if buffer is None else mx.concatenate([buffer, room], axis=2)

    def _seen(self, buffer: mx.array, width: int) -> mx.array:
        seen = buffer[:, :, :width]
        everyone = len(self.current.lanes) == len(self.lengths)
        return seen if everyone else seen[mx.array(self.current.lanes)]


@dataclass
class LaneLayer:
    """One lane of one layer, as the checks of a rewind see a cache."""

    cache: LaneCache
    lane: int

    @property
    def offset(self) -> int:
        return self.cache.lengths[self.lane]

    def is_trimmable(self) -> bool:
        return True

    def trim(self, n: int) -> int:
        """Drop the newest n entries; returns how many were there to drop."""
        dropped = min(n, self.offset)
        self.cache.lengths[self.lane] -= dropped
        return dropped
