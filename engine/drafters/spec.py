"""The words that name a drafter: `self:3bit`, `lookup`, `model:PATH-OR-ID`, `none`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from engine.errors import BadSetting

BITS = (2, 3, 4, 5, 6, 8)
FORMS = f"self:Nbit with N in {', '.join(map(str, BITS))}; lookup; model:PATH-OR-ID; none"


@dataclass(frozen=True, slots=True)
class DrafterSpec:
    """A drafter by name. `bits` belongs to kind "self", `model` to kind "model"."""

    kind: str  # "self", "lookup", "model" or "none"
    bits: int | None = None
    model: str | None = None

    def __str__(self) -> str:
        if self.kind == "self":
            return f"self:{self.bits}bit"
        return f"model:{self.model}" if self.kind == "model" else self.kind


def parse(spec: str) -> DrafterSpec:
    """Read a drafter's name; `str` of the result gives it back. Raises BadSetting for anything else."""
    text = spec.strip()
    kind, colon, rest = text.partition(":")
    if kind in ("lookup", "none") and not colon:
        return DrafterSpec(kind)
    if kind == "model" and rest.strip():
        return DrafterSpec("model", model=rest.strip())
    bits = re.fullmatch(r"self:(\d+)bit", text)
    if bits and int(bits[1]) in BITS:
        return DrafterSpec("self", bits=int(bits[1]))
    if bits:
        raise BadSetting(
            f"drafter is {spec!r}; weights can be rounded to {', '.join(map(str, BITS))} bits.",
            "Choose one of these, for example self:3bit.",
        )
    raise BadSetting(f"drafter is {spec!r}.", f"The forms are: {FORMS}.")
