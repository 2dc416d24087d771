"""From what a person asks for to what a session is: every setting checked before any model is touched."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from engine import faults, rules
from engine.core.coins import PhiloxCoins
from engine.core.events import SessionStarted
from engine.core.types import Rule, Sampling, within
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
    fault: str = ""  # one of engine.faults, switched on to be seen failing


def plan(request: Request) -> SessionStarted:
    """The session a request makes. Raises BadSetting naming the first setting outside its limits,
    ModelError for a model that cannot be there."""
    asked, rule, reason = chosen(request.rule, request.params, request.sampling)
    drafter = spec.parse(request.drafter)
    within("k", request.k, 0, MAX_K)
    within("max_tokens", request.max_tokens, 1, MAX_TOKENS)
    PhiloxCoins(request.seed)
    for text in (request.prompt, *request.stop):
        check_unicode(text)
    if not request.raw and not request.prompt.strip():
        raise BadSetting("The prompt is empty.", "Type something, or send it as it is (raw).")
    if drafter.model:
        drafter = replace(drafter, model=settled(drafter.model))
    return SessionStarted(
        prompt=request.prompt,
        raw=request.raw,
        target=settled(request.target),
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
        fault=faults.checked(request.fault, request.sampling, drafter, request.k),
    )


def chosen(rule_id: str, params: dict[str, float], sampling: Sampling) -> tuple[Rule, Rule, str]:
    """The rule asked for, the one that really runs under this sampling, and why they differ ("")."""
    asked = rules.get(rule_id, **params)
    return asked, *rules.effective(asked, sampling)


def settled(model: str) -> str:
    """A model's name for keeps: a folder in full, so that a replay finds it from any other folder."""
    folder = folder_of(model)
    return model if folder is None else str(folder.resolve())


def check_unicode(text: str) -> None:
    """Raise BadSetting for half a character, which no tokenizer and no database can hold."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise BadSetting(
            f"The text holds half a character (a lone surrogate) at index {error.start}.",
            "Remove it, or paste the text again.",
        ) from None


def under(started: SessionStarted, rule_id: str, params: dict[str, float] | None = None) -> SessionStarted:
    """The same session under another rule: all else stays, seed, fault and a branch's beginning too."""
    again = plan(
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
            fault=started.fault,
        )
    )
    return replace(again, forced=started.forced, attempts=started.attempts)
