"""Load a target, and a drafter to go with it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import mlx.core as mx
import mlx.nn as nn
import mlx_lm.utils
from mlx_lm.models.cache import CacheList, make_prompt_cache

from engine.core.types import Drafter
from engine.drafters.lookup import LookupDrafter
from engine.drafters.none import NoDrafter
from engine.drafters.spec import DrafterSpec, parse
from engine.errors import ModelError
from engine.mlx_backend import bundled, gguf, pairing, weights
from engine.mlx_backend.drafters import ModelDrafter
from engine.mlx_backend.hub import Progress, locate
from engine.mlx_backend.scorer import CachedModel, MlxScorer
from engine.mlx_backend.text import Text
from engine.model_name import BUNDLED


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A model in memory with all that a session needs to know of it.

    `vocab` is the width of its logits; `context_length` the most tokens its cache can hold and still be
    rewound, None when its config names no limit; `weights` says the number format in a phrase.
    """

    name: str
    model: nn.Module
    text: Text
    vocab: int
    eos_ids: frozenset[int]
    context_length: int | None
    weights: str
    config: dict = field(repr=False)

    @property
    def fingerprint(self) -> str:
        """sha256 of the tokenizer's vocabulary: which table of token bytes belongs to this model."""
        return self.text.fingerprint


def no_progress(message: str, fraction: float | None) -> None:
    """For callers that do not show any."""


def load_target(name: str, progress: Progress = no_progress) -> LoadedModel:
    """Load `bundled`, a local mlx-lm folder, or a hub id; no code of the model's own is ever run.

    Raises ModelError when it cannot be found or loaded, or when its cache cannot be rewound.
    """
    progress(f"Loading {name}", None)
    loaded = _load_bundled() if name == BUNDLED else _load_folder(name, progress)
    progress(f"Loaded {name}", 1.0)
    return loaded


def scorer(target: LoadedModel) -> MlxScorer:
    """The target with a cache of its own, behind the Scorer protocol."""
    return MlxScorer(CachedModel(target.model, target.name, target.context_length), target.vocab)


def load_drafter(spec: str | DrafterSpec, target: LoadedModel, progress: Progress = no_progress) -> Drafter:
    """The drafter a spec names, ready for `start`.

    Raises BadSetting for a spec that cannot be read, ModelError for a model that cannot be loaded or
    whose tokens are not the target's.
    """
    spec = parse(spec) if isinstance(spec, str) else spec
    if spec.kind == "none":
        return NoDrafter()
    if spec.kind == "lookup":
        return LookupDrafter(target.vocab)
    if spec.kind == "self":
        progress(f"Rounding the target's weights to {spec.bits} bits", None)
        model = weights.requantized(copied(target), spec.bits)
        cached = CachedModel(model, str(spec), target.context_length)
        return ModelDrafter(str(spec), cached, pairing.Shared.all_of(target.vocab))
    draft = load_target(spec.model, progress)
    shared = pairing.shared(target.text, target.vocab, draft.text, draft.vocab)
    return ModelDrafter(str(spec), CachedModel(draft.model, draft.name, draft.context_length), shared)


def copied(target: LoadedModel) -> nn.Module:
    """A second model with the target's weights as float32; arrays that stay equal are shared, not copied."""
    return weights.load(_blank(target.config), weights.as_float32(target.model))


def _blank(config: dict) -> nn.Module:
    """The model a config describes. Its random weights are lazy: replaced before anything computes them."""
    model_class, args_class = mlx_lm.utils._get_classes(config)
    return model_class(args_class.from_dict(config))


def _load_bundled() -> LoadedModel:
    path = bundled.path()
    file = gguf.read(path)
    model = _blank(file.config)
    nn.quantize(model, class_predicate=lambda name, _: file.packing(name) or False)
    model = weights.load(model, file.weights)
    if weights.on_cpu():
        model = weights.load(_blank(file.config), weights.as_float32(model))
        described = f"float32 from {file.quantization}"
    else:
        # Scales as float32 too: half-precision ones would be cast again in every pass.
        model.set_dtype(mx.float32)
        described = file.quantization
    text = Text(file.tokenizer, path.stem)
    return _finished(BUNDLED, model, text, file.config, described)


def _load_folder(name: str, progress: Progress) -> LoadedModel:
    folder = locate(name, progress)
    progress(f"Reading the weights of {name}", None)
    model, tokenizer, config = _read(name, folder)
    described = weights.describe(model)
    if weights.on_cpu() and described != "float32":
        model = weights.load(_blank(config), weights.as_float32(model))
        described = f"float32 from {described}"
    return _finished(name, model, Text(tokenizer, name), config, described)


def _read(name: str, folder: Path) -> tuple[nn.Module, mlx_lm.utils.TokenizerWrapper, dict]:
    """mlx-lm's own loader, with its many exceptions turned into one."""
    try:
        # Without the explicit False, transformers asks on the terminal whether to run a model's own code.
        return mlx_lm.utils.load(
            str(folder), tokenizer_config={"trust_remote_code": False}, return_config=True
        )
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, AttributeError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise ModelError(
            f"mlx-lm cannot load {name}: {reason}",
            "Convert it with `mlx_lm.convert`, or choose another model.",
        ) from error


def _finished(name: str, model: nn.Module, text: Text, config: dict, described: str) -> LoadedModel:
    return LoadedModel(
        name=name,
        model=model,
        text=text,
        vocab=model(mx.array([[0]])).shape[-1],  # lazy: the shape costs no pass
        eos_ids=frozenset(text.tokenizer.eos_token_ids),
        context_length=_context_length(name, model, config),
        weights=described,
        config=config,
    )


def _context_length(name: str, model: nn.Module, config: dict) -> int | None:
    """The smallest limit among the config's and those of the layers' caches.

    A rotating cache forgets once it is full and cannot be rewound from then on, so it may hold one token
    less than its window. Raises ModelError for a layer whose cache never rewinds (recurrent layers).
    """
    limits = [config.get("text_config", config).get("max_position_embeddings")]
    for i, cache in enumerate(make_prompt_cache(model)):
        if not cache.is_trimmable():
            raise ModelError(
                f"{name} cannot rewind: layer {i} keeps a {type(cache).__name__}, and rejected drafts "
                "could not be taken back.",
                "Choose a model whose layers are all attention.",
            )
        parts = cache.caches if isinstance(cache, CacheList) else [cache]
        limits += [part.max_size - 1 for part in parts if getattr(part, "max_size", None)]
        limits += [part.chunk_size - 1 for part in parts if getattr(part, "chunk_size", None)]
    return min((limit for limit in limits if limit), default=None)
