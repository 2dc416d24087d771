"""The screen's form and the request it stands for: plain values in, every one of them checked."""

from __future__ import annotations

from engine.core.events import SessionStarted
from engine.core.types import Sampling
from engine.errors import BadSetting
from engine.session import Request

SAMPLING_FIELDS = ("temperature", "top_k", "top_p", "min_p", "repetition_penalty")


def form_of(request: Request) -> dict:
    """A request as the screen's form holds it."""
    names = ("prompt", "raw", "target", "drafter", "rule", "seed", "k", "max_tokens", "fault")
    form = {name: getattr(request, name) for name in names}
    form |= {name: getattr(request.sampling, name) for name in SAMPLING_FIELDS}
    return form | {"stop": request.stop[0] if request.stop else ""}


def form_of_session(started: SessionStarted) -> tuple[dict, list[str]]:
    """A session's settings as the form holds them, under the rule it asked for; and those that the form has
    no place for, in words."""
    names = ("prompt", "raw", "target", "drafter", "seed", "k", "max_tokens", "fault")
    form: dict = {name: getattr(started, name) for name in names}
    form |= {name: getattr(started.sampling, name) for name in SAMPLING_FIELDS}
    params = started.params if started.asked == started.rule else {}
    form |= {"rule": started.asked, "params": params, "stop": started.stop[0] if started.stop else ""}
    plain = Sampling().to_dict()
    others = [
        f"{name.replace('_', ' ')} {value}"
        for name, value in started.sampling.to_dict().items()
        if name not in SAMPLING_FIELDS and value != plain[name]
    ]
    others += [f"stop string {text!r}" for text in started.stop[1:]]
    return form, others + (["the tokens it was branched with"] if started.forced else [])


def request_of(form: dict) -> Request:
    """The screen's form as a request; what is left out stays at its default. Raises BadSetting."""
    sampling: dict = {n: number(n, form[n]) for n in SAMPLING_FIELDS if n in form and n != "top_k"}
    if "top_k" in form:
        sampling["top_k"] = whole("top_k", form["top_k"])
    texts = {n: text(n, form[n]) for n in ("target", "drafter", "rule", "fault") if n in form}
    wholes = {n: whole(n, form[n]) for n in ("seed", "k", "max_tokens") if n in form}
    stop = form.get("stop") or ()
    return Request(
        **texts,
        **wholes,
        prompt=text("prompt", form.get("prompt", "")),
        raw=bool(form.get("raw", False)),
        params={name: number(name, value) for name, value in (form.get("params") or {}).items()},
        sampling=Sampling(**sampling),
        stop=tuple(text("stop", one) for one in ([stop] if isinstance(stop, str) else stop)),
    )


def text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise BadSetting(f"{name} is {value!r}.", "Give a text.")
    return value


def number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadSetting(f"{name} is {value!r}.", "Give a number.")
    return value


def whole(name: str, value: object) -> int:
    if number(name, value) != value // 1:
        raise BadSetting(f"{name} is {value}.", "Give a whole number.")
    return int(value)
