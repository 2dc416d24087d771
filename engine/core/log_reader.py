"""What a server's log says of its acceptance rule, and whether it can be true.

Two kinds of lines are read, among any others: `[Speculative acceptance] rule=… rounds=…` with its
`closed_form_sum_min=… closed_form_sum_prod=…` beside or near it, and llama-server's `timings` objects. A log
is taken at its word only where its numbers can stand together.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

COUNTS = ("rounds", "proposed", "positions_tested", "accepted")
RATES = ("per_position_acceptance", "acceptance_rate", "mean_accepted_len")
FORMS = ("closed_form_sum_min", "closed_form_sum_prod")
#: Keys by which lines say whose they are, where they do.
OWNERS = ("session", "request", "request_id", "task", "slot", "id")

#: llama-server's fields that stand for a count.
TIMINGS = {"draft_rounds": "rounds", "draft_n": "proposed", "draft_n_accepted": "accepted"}

MARK = "[Speculative acceptance]"

#: What stands for a number that there is none of.
ABSENT = ("n/a", "na", "none", "null", "nan", "-")

_PAIR = re.compile(r"(\w+)=([^\s,;]+)")


@dataclass
class Entry:
    """One run as the log tells it. `values` has each key's number, None for n/a or where it is no number;
    `decimals` how many digits behind the point were printed. `line` is where it begins, from 1."""

    line: int
    kind: str  # "acceptance" or "timings"
    rule: str = ""
    values: dict[str, float | None] = field(default_factory=dict)
    decimals: dict[str, int] = field(default_factory=dict)
    garbled: dict[str, str] = field(default_factory=dict)
    owner: tuple[str, str] | None = None
    notes: list[str] = field(default_factory=list)

    def get(self, key: str) -> float | None:
        return self.values.get(key)

    def rounding(self, key: str) -> float:
        """How far the printed number may be from the true one."""
        return 0.5 * 10.0 ** -self.decimals.get(key, 15)


def read(text: str) -> list[Entry]:
    """The runs a log tells of, in its order."""
    whole = _json(text)
    if whole is not None:
        return [_timings(1, found) for found in _with_timings(whole)]
    reader = _Reader()
    for number, line in enumerate(text.splitlines(), 1):
        reader.feed(number, line)
    return reader.entries


class _Reader:
    """Collects entries line by line. Closed forms belong to the run that the line names; where it names none,
    to the oldest run that still has none; where there is no such run, to the next one."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.early: list[Entry] = []

    def feed(self, number: int, line: str) -> None:
        pairs = dict(_PAIR.findall(line))
        if "accepted" in pairs and ("positions_tested" in pairs or MARK in line):
            self.acceptance(_acceptance(number, pairs))
        elif any(key in pairs for key in FORMS):
            self.closed_forms(_acceptance(number, pairs))
        else:
            self.entries += [_timings(number, found) for found in _objects(line)]

    def acceptance(self, entry: Entry) -> None:
        self.entries.append(entry)
        if not _has_forms(entry):
            waiting = [one for one in self.early if one.owner == entry.owner]
            if waiting:
                self.early.remove(waiting[0])
                _take(entry, waiting[0])

    def closed_forms(self, forms: Entry) -> None:
        runs = [one for one in self.entries if one.kind == "acceptance" and not _has_forms(one)]
        runs = [one for one in runs if one.owner == forms.owner]
        if not runs:
            self.early.append(forms)
            return
        _take(runs[0], forms)
        if len(runs) > 1:
            runs[0].notes.append(
                f"{len(runs)} runs were waiting for closed forms in line {forms.line}, which names none of "
                "them; the oldest got them"
            )


def _take(entry: Entry, forms: Entry) -> None:
    for name in ("values", "decimals", "garbled"):
        mine = getattr(entry, name)
        mine |= {key: value for key, value in getattr(forms, name).items() if key in FORMS}


def _has_forms(entry: Entry) -> bool:
    return any(key in entry.values for key in FORMS)


def _acceptance(number: int, pairs: dict[str, str]) -> Entry:
    entry = Entry(number, "acceptance", rule=pairs.get("rule", ""))
    owner = next((key for key in OWNERS if key in pairs), None)
    entry.owner = None if owner is None else (owner, pairs[owner])
    for key in (*COUNTS, *RATES, *FORMS):
        if key in pairs:
            _put(entry, key, pairs[key])
    return entry


def _put(entry: Entry, key: str, printed: str) -> None:
    value = _number(printed)
    entry.values[key] = value
    if value is None:
        if printed.lower() not in ABSENT:
            entry.garbled[key] = printed
        return
    digits = printed.partition(".")[2]
    if "e" not in printed.lower():
        entry.decimals[key] = len(digits)


def _number(printed: object) -> float | None:
    """A finite number, or None."""
    try:
        value = float(printed)
    except (TypeError, ValueError, OverflowError):
        return None
    return value if math.isfinite(value) else None


def _timings(line: int, found: dict) -> Entry:
    entry = Entry(line, "timings", rule=str(found.get("draft_kind", "")))
    for name, value in found.items():
        number = None if isinstance(value, bool | str) else _number(value)
        if number is not None:
            entry.values[TIMINGS.get(name, name)] = number
        elif name in TIMINGS and value is not None:
            entry.garbled[TIMINGS[name]] = str(value)
    return entry


def _json(text: str) -> object | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict | list) else None


def _objects(line: str) -> Iterator[dict]:
    """The timings in a line: JSON lines, server-sent events, JSON behind a log's own prefix."""
    at, decoder = line.find("{"), json.JSONDecoder()
    while at >= 0:
        try:
            found, end = decoder.raw_decode(line, at)
        except (ValueError, RecursionError):
            at = line.find("{", at + 1)
            continue
        yield from _with_timings(found)
        at = line.find("{", end)


def _with_timings(found: object) -> Iterator[dict]:
    """Every object within that is llama-server's `timings`."""
    open_parts: list[object] = [found]
    while open_parts:
        part = open_parts.pop()
        if isinstance(part, dict) and part.keys() & {"draft_n", "predicted_n"}:
            yield part
        elif isinstance(part, dict | list):
            inner: Iterable[object] = part.values() if isinstance(part, dict) else part
            open_parts.extend(reversed(list(inner)))
