"""The models in memory: one target, and the drafters that go with it. Lives on the worker's thread."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.core.types import Drafter, Scorer

if TYPE_CHECKING:
    from engine.mlx_backend.load import LoadedModel

#: Drafters kept beside the target; each can weigh as much as the target does.
DRAFTERS_KEPT = 3

Progress = Callable[[str, float | None], None]


@dataclass(frozen=True, eq=False)
class Pair:
    """A target and a drafter, ready to run. `versions` names what a re-run must share to repeat it."""

    target: LoadedModel
    scorer: Scorer
    drafter: Drafter
    versions: dict[str, str]

    @property
    def drafter_limit(self) -> int | None:
        """The most tokens the drafter can hold; a drafter without a cache names no limit."""
        return getattr(self.drafter, "limit", None)


class Models:
    """Loads pairs and keeps what was used last."""

    def __init__(self) -> None:
        self._target: LoadedModel | None = None
        self._scorer: Scorer | None = None
        self._drafters: OrderedDict[str, Drafter] = OrderedDict()
        self._used = False

    def pair(self, target: str, drafter: str, progress: Progress) -> Pair:
        """Raises ModelError or BadSetting, naming what is missing and where to get it."""
        from engine.mlx_backend import about, load

        self._used = True
        if self._target is None or self._target.name != target:
            self._target, self._scorer = None, None
            self._drafters.clear()
            loaded = load.load_target(target, progress)
            self._target, self._scorer = loaded, load.scorer(loaded)
        if drafter not in self._drafters:
            while len(self._drafters) >= DRAFTERS_KEPT:
                self._drafters.popitem(last=False)
            self._drafters[drafter] = load.load_drafter(drafter, self._target, progress)
        self._drafters.move_to_end(drafter)
        versions = about.versions() | {"weights": self._target.weights}
        return Pair(self._target, self._scorer, self._drafters[drafter], versions)

    def close(self) -> None:
        """Let go of the models. To be called on the thread that loaded them, as its last act with MLX."""
        if self._used:
            from engine.mlx_backend.thread import mlx_thread

            with mlx_thread():
                self._target, self._scorer = None, None
                self._drafters.clear()
