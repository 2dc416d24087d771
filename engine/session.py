"""From what a person asks for to what a session is: every setting checked before any model is touched."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine import rules
from engine.core.coins import PhiloxCoins
from engine.core.events import SessionStarted
from engine.core.types import Sampling, within
from engine.drafters import spec
from engine.errors import BadSetting
from engine.model_name import folder_of

MAX_K = 64
MAX_TOKENS = 100_000


@dataclass(frozen=True)
class Request:
    """A generation as asked for. The defaults are those of the command line and of the screen."""

    prompt: str
    raw: bool = False
    target: str = "bundled"
    drafter: str = "self:3bit"
    rule: str = "stochastic"
    params: dict[str, float] = field(default_factory=dict)
    sampling: Sampling = field(default_factory=Sampling)
    seed: int = 0
    k: int = 4
    max_tokens: int = 64
    stop: tuple[str, ...] = ()


def plan(request: Request) -> SessionStarted:
    """The session a request makes. Raises BadSetting naming the first setting outside its limits,
    ModelError for a model that cannot be there."""
    asked = rules.get(request.rule, **request.params)
    rule, reason = rules.effective(asked, request.sampling)
    drafter = spec.parse(request.drafter)
    within("k", request.k, 0, MAX_K)
    within("max_tokens", request.max_tokens, 1, MAX_TOKENS)
    PhiloxCoins(request.seed)
    folder_of(request.target)
    if drafter.model:
        folder_of(drafter.model)
    if not request.raw and not request.prompt.strip():
        raise BadSetting("The prompt is empty.", "Type something, or send it as it is (raw).")
    return SessionStarted(
        prompt=request.prompt,
        raw=request.raw,
        target=request.target,
        drafter=str(drafter),
        rule=rule.id,
        params=rule.params,
        asked=asked.id,
        reason=reason,
        sampling=request.sampling,
        seed=request.seed,
        k=request.k,
        max_tokens=request.max_tokens,
        stop=tuple(stop for stop in request.stop if stop),
    )


def under(started: SessionStarted, rule_id: str, params: dict[str, float] | None = None) -> SessionStarted:
    """The same session under another rule: all else, the seed included, stays."""
    return plan(
        Request(
            prompt=started.prompt,
            raw=started.raw,
            target=started.target,
            drafter=started.drafter,
            rule=rule_id,
            params=params or {},
            sampling=started.sampling,
            seed=started.seed,
            k=started.k,
            max_tokens=started.max_tokens,
            stop=started.stop,
        )
    )
