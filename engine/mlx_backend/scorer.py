"""A model with its cache, and the list of tokens the cache holds.

The invariant: `held` is exactly what every layer's cache has seen. Rewinding is checked layer by layer,
because mlx-lm's caches may trim less than asked, or nothing (a rotating cache that wrapped), without
raising. A pass that was interrupted half-way leaves the caches unsound, and the next use starts afresh.

The shape of a pass decides the last bits of its logits (one row and five rows run different kernels), so
passes depend on the session's own history alone, and a re-run of it is the same to the last bit. A prompt
read before is reused only chunk by chunk as it was read, which leaves the bits alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import mlx.core as mx
import mlx.nn as nn
import numpy as np
from mlx_lm.models.cache import CacheList, make_prompt_cache

from engine.core import stopping
from engine.errors import ModelError

CHUNK = 512  # prompt tokens in one pass
NO_ROWS = np.empty((0, 0), dtype=np.float32)
FEW = 8  # owed tokens that a pass with logits takes along


class CachedModel:
    """Feed tokens, get logits, take tokens back. `limit` is the most tokens the cache may hold."""

    def __init__(self, model: nn.Module, name: str, limit: int | None = None) -> None:
        self.model = model
        self.name = name
        self.limit = limit
        self.lanes_refused: str | None = None  # see engine.mlx_backend.lanes.refusal; None: not known yet
        self.reset()

    def reset(self) -> None:
        """An empty cache."""
        self.caches = make_prompt_cache(self.model)
        self.held: list[int] = []
        self.chunks: list[int] = []  # ends of the passes that read the prompt
        self.sound = True

    @property
    def offset(self) -> int:
        """How many tokens the cache holds."""
        return len(self.held)

    def feed(self, tokens: Sequence[int]) -> np.ndarray:
        """Append n tokens; the logits after each of them, float32[n, V].

        Raises ModelError when the cache would pass its limit.
        """
        return self._run(tokens)

    def read(self, tokens: Sequence[int]) -> None:
        """Append tokens of a prompt, in chunks, without logits: lazily, so no output layer is computed."""
        for start in range(0, len(tokens), CHUNK):
            stopping.check()
            self._run(tokens[start : start + CHUNK], logits=False)
            self.chunks.append(self.offset)

    def _run(self, tokens: Sequence[int], logits: bool = True) -> np.ndarray:  # float32[n, V]
        self._check_room(len(tokens))
        self.sound = False
        out = self._forward(tokens, logits)
        self.held.extend(tokens)
        self.sound = True
        return out

    def _forward(self, tokens: Sequence[int], logits: bool) -> np.ndarray:  # float32[n, V]
        """The pass itself; no rows come back unless `logits`."""
        out = self.model(mx.array([list(tokens)]), cache=self.caches)
        mx.eval([cache.state for cache in self.caches], *([out] if logits else []))
        return np.array(out[0].astype(mx.float32)) if logits else NO_ROWS

    def _check_room(self, n: int) -> None:
        if self.limit is not None and self.offset + n > self.limit:
            raise ModelError(
                f"{self.name} holds {self.limit} tokens, and the session has reached {self.offset + n}.",
                "Ask for fewer tokens, or shorten the prompt.",
            )

    def rewind(self, n: int) -> None:
        """Drop the newest n tokens. Raises ModelError unless every layer dropped exactly n."""
        if not 0 <= n <= self.offset:
            raise ModelError(
                f"Cannot take back {n} tokens: the cache of {self.name} holds {self.offset}.",
                "Start the session again, and report this: rounds and cache disagree.",
            )
        if n == 0:
            return
        for i, cache in enumerate(self.caches):
            dropped = cache.trim(n) if cache.is_trimmable() else 0
            if dropped != n:
                self.sound = False
                raise ModelError(
                    f"Layer {i} of {self.name} ({type(cache).__name__}) took back {dropped} of {n} tokens: "
                    "its cache no longer follows the output.",
                    "Ask for fewer tokens, or choose a model whose layers keep the whole context.",
                )
        del self.held[self.offset - n :]
        self._check_offsets()
        self.chunks = [end for end in self.chunks if end <= self.offset]

    def _check_offsets(self) -> None:
        for i, cache in enumerate(self.caches):
            for part in cache.caches if isinstance(cache, CacheList) else [cache]:
                if part.offset != self.offset:
                    self.sound = False
                    raise ModelError(
                        f"Layer {i} of {self.name} ({type(part).__name__}) is at token {part.offset}, the "
                        f"output at {self.offset}.",
                        "Start the session again, and report this: the cache was rewound wrongly.",
                    )

    def follow(self, sequence: Sequence[int]) -> tuple[int, ...]:
        """Rewind to what cache and sequence share; the tokens still owed, at least the last one."""
        if not self.sound:
            self.reset()
        kept = min(common_prefix(self.held, sequence), max(len(sequence) - 1, 0))
        self.rewind(self.offset - kept)
        return tuple(sequence[kept:])

    def catch_up(self, owed: tuple[int, ...]) -> tuple[int, ...]:
        """Read all but the last of many owed tokens (a branch's beginning), in chunks, without logits; a few
        are left to the next pass, which is no slower for them."""
        if len(owed) <= FEW:
            return owed
        for start in range(0, len(owed) - 1, CHUNK):
            self._run(owed[start : min(start + CHUNK, len(owed) - 1)], logits=False)
        return owed[-1:]

    def begin(self, prompt: Sequence[int]) -> int:
        """Read a new prompt, all but its last token; chunks that were read before, as they were, stay.
        Returns how many tokens stayed."""
        wanted = list(prompt[:-1])
        kept = self._reusable(wanted) if self.sound else 0
        try:
            self.rewind(self.offset - kept)
        except ModelError:
            kept = 0
        if kept == 0:
            self.reset()
        self.read(wanted[kept:])
        return kept

    def _reusable(self, wanted: list[int]) -> int:
        """The end of the last chunk that the same prompt would be read in again."""
        plan = {*range(CHUNK, len(wanted), CHUNK), len(wanted)}
        common = common_prefix(self.held, wanted)
        return max((end for end in self.chunks if end <= common and end in plan), default=0)


class MlxScorer:
    """The target model behind the Scorer protocol. `vocab` is the width of its logits."""

    def __init__(self, cached: CachedModel, vocab: int) -> None:
        self.cached = cached
        self.vocab = vocab

    def prefill(self, tokens: tuple[int, ...]) -> int:
        return self.cached.begin(tokens)

    def score(self, tokens: tuple[int, ...]) -> np.ndarray:  # float32[k + 1, V]
        return self.cached.feed(tokens)

    def rewind(self, n: int) -> None:
        self.cached.rewind(n)


def common_prefix(a: Sequence[int], b: Sequence[int]) -> int:
    """How many leading tokens two sequences share."""
    for i, (x, y) in enumerate(zip(a, b, strict=False)):
        if x != y:
            return i
    return min(len(a), len(b))
