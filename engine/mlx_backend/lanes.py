"""A pair of models with room for several sessions, whose passes are run together.

Each session has a lane: the same rules of following and rewinding as alone (`CachedModel`), over its own
part of shared caches. What a lane needs of a model it asks for, and waits; whoever owns the models answers
the lanes that wait for the same model in one pass. Everything that touches an array happens there, so
lanes may live on threads of their own.

A pass of several lanes has other last bits than a pass of one (other kernels run), so a session made here
says so in its versions. Models must have a cache of keys and values in every layer and take positions lane
by lane; `refusal` finds out.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import mlx.core as mx
import numpy as np
from mlx_lm.models.cache import KVCache

from engine.core.types import Drafter
from engine.mlx_backend.drafters import ModelDrafter
from engine.mlx_backend.lane_cache import LaneCache, LaneLayer, Pass
from engine.mlx_backend.scorer import NO_ROWS, CachedModel, MlxScorer
from engine.models import Pair

#: Most of the spread of a model's logits that its batched rows may be off by in the probe. Rounding stays
#: below a hundredth even in bfloat16; a wrong position is off by a good part of the spread.
TOLERANCE = 0.05

Answer = int | np.ndarray


@dataclass(frozen=True, eq=False)
class Ask:
    """What a lane waits for: `prompt` to be read (answered by how many tokens a cache held), or `tokens`
    to be fed (answered by float32[n, V], no rows unless `logits`)."""

    model: LaneModel
    lane: int
    tokens: tuple[int, ...]
    prompt: bool = False
    logits: bool = True


class LaneModel:
    """A model over several lanes. `source` reads prompts, which are then copied into a lane: one that
    several lanes share is read once. `stage` orders models: drafts come before the pass that checks them."""

    def __init__(self, source: CachedModel, n_lanes: int, stage: int = 0) -> None:
        self.source = source
        self.stage = stage
        self.layers = [LaneCache(n_lanes) for _ in source.caches]

    def begin(self, lane: int, prompt: tuple[int, ...]) -> int:
        """Make a lane hold a prompt less its last token; how many tokens were not read anew."""
        kept = self.source.begin(prompt)
        for layer, cache in zip(self.layers, self.source.caches, strict=True):
            layer.copy_in(lane, cache)
        mx.eval([layer.state for layer in self.layers if layer.keys is not None])
        return kept

    def feed(self, asks: Sequence[Ask]) -> list[np.ndarray]:
        """One pass: each lane's rows, float32[n, V], in the order of the asks."""
        asks = list(asks)
        together = sorted(asks, key=lambda ask: ask.lane)
        this = Pass(tuple(ask.lane for ask in together), tuple(len(ask.tokens) for ask in together))
        for layer in self.layers:
            layer.current = this
        width = max(this.counts)
        padded = [[*ask.tokens, *[0] * (width - len(ask.tokens))] for ask in together]
        out = self.source.model(mx.array(padded), cache=self.layers)
        wanted = any(ask.logits for ask in asks)
        mx.eval([layer.state for layer in self.layers], *([out] if wanted else []))
        return [self._rows(out, this.lanes.index(ask.lane), ask) for ask in asks]

    def _rows(self, out: mx.array, row: int, ask: Ask) -> np.ndarray:
        return np.array(out[row, : len(ask.tokens)].astype(mx.float32)) if ask.logits else NO_ROWS


class Lane(CachedModel):
    """One session's part of a LaneModel. `ask` waits for an answer."""

    def __init__(self, model: LaneModel, number: int, ask: Callable[[Ask], Answer]) -> None:
        self.lanes, self.number, self.ask = model, number, ask
        super().__init__(model.source.model, model.source.name, model.source.limit)

    def reset(self) -> None:
        self.caches = [LaneLayer(layer, self.number) for layer in self.lanes.layers]
        for layer in self.caches:
            layer.trim(layer.offset)
        self.held, self.chunks, self.sound = [], [], True

    def begin(self, prompt: Sequence[int]) -> int:
        self.sound = False
        kept = self.ask(Ask(self.lanes, self.number, tuple(prompt), prompt=True))
        self.held, self.sound = list(prompt[:-1]), True
        self._check_offsets()
        return kept

    def _forward(self, tokens: Sequence[int], logits: bool) -> np.ndarray:
        return self.ask(Ask(self.lanes, self.number, tuple(tokens), logits=logits))


class Lanes:
    """A pair for each of n sessions, over shared caches. For the thread that owns the models, but for the
    pairs themselves."""

    def __init__(self, pair: Pair, n_lanes: int) -> None:
        self.source = pair
        self.versions = pair.versions | {"batch": f"{n_lanes} lanes"}
        self.target = LaneModel(pair.scorer.cached, n_lanes, stage=1)
        self.draft = LaneModel(cached, n_lanes) if (cached := draft_model(pair)) else None

    def pair(self, number: int, ask: Callable[[Ask], Answer]) -> Pair:
        """The pair as session `number` sees it."""
        scorer = MlxScorer(Lane(self.target, number, ask), self.source.scorer.vocab)
        drafter = self._drafter(number, ask)
        return replace(self.source, scorer=scorer, drafter=drafter, versions=self.versions)

    def _drafter(self, number: int, ask: Callable[[Ask], Answer]) -> Drafter:
        drafter = self.source.drafter
        if self.draft is None:
            return copy.copy(drafter)  # what runs no model keeps no more than its prompt
        return ModelDrafter(drafter.kind, Lane(self.draft, number, ask), drafter.shared)

    def turn(self, waiting: Iterable[Ask]) -> list[Ask]:
        """Which of the waiting lanes are answered next: prompts one by one, then whoever drafts, and the
        target once all who still wait want it."""
        waiting = list(waiting)
        prompts = [ask for ask in waiting if ask.prompt]
        if prompts:
            return prompts[:1]
        stage = min(ask.model.stage for ask in waiting)
        return [ask for ask in waiting if ask.model.stage == stage]

    def answers(self, turn: Sequence[Ask]) -> list[Answer]:
        """Do what a turn asks for."""
        first = turn[0]
        return [first.model.begin(first.lane, first.tokens)] if first.prompt else first.model.feed(turn)


def draft_model(pair: Pair) -> CachedModel | None:
    """The drafter's model, None for a drafter without one."""
    return pair.drafter.cached if isinstance(pair.drafter, ModelDrafter) else None


def refusal(pair: Pair) -> str:
    """Why a pair's sessions cannot share passes; empty when they can. Probed once a model."""
    models = [model for model in (pair.scorer.cached, draft_model(pair)) if model is not None]
    for cached in models:
        if cached.lanes_refused is None:
            cached.lanes_refused = layers_refused(cached) or probe(cached)
    return next(filter(None, (cached.lanes_refused for cached in models)), "")


def layers_refused(cached: CachedModel) -> str:
    """Names the first layer whose cache is no plain list of keys and values."""
    for i, layer in enumerate(cached.caches):
        if type(layer) is not KVCache:
            return f"layer {i} of {cached.name} keeps a {type(layer).__name__}"
    return ""


#: Two lanes of the probe: what each has read, and what both then feed at once.
PROBE = (((1, 2, 3, 4, 5, 6, 7, 1), (2, 5)), ((3, 1, 6), (4, 1, 6)))


def probe(cached: CachedModel) -> str:
    """Run two short lanes of different lengths together and alone: some models' code takes one position
    for all. Empty when the rows agree."""
    try:
        gap, spread = probed(cached)
    except (TypeError, ValueError, RuntimeError, AttributeError, IndexError) as error:
        return f"{cached.name} takes no position for each lane: {error}"
    if gap <= TOLERANCE * spread:
        return ""
    return f"in a pass of two lanes the logits of {cached.name} are off by {gap:.3g}, and span {spread:.3g}"


def probed(cached: CachedModel) -> tuple[float, float]:
    """The largest difference between rows of the probe together and alone, and the spread of the rows."""

    def fresh() -> CachedModel:
        return CachedModel(cached.model, cached.name, cached.limit)

    lanes = LaneModel(fresh(), len(PROBE))
    alone = []
    for number, (read, fed) in enumerate(PROBE):
        lanes.begin(number, (*read, 0))  # a prompt is read up to its last token
        single = fresh()
        single.begin((*read, 0))
        alone.append(single.feed(fed))
    together = lanes.feed([Ask(lanes, number, fed) for number, (_, fed) in enumerate(PROBE)])
    gaps = [np.abs(one - other).max() for one, other in zip(alone, together, strict=True)]
    return float(max(gaps)), float(np.ptp(np.concatenate(alone)))
