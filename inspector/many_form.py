"""A comparison over seeds as people type it: rules with parameters, seeds, prompts a line each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine import rules
from engine.errors import BadSetting
from inspector.form import form_of_session
from inspector.many import MAX_RUNS, Asked

if TYPE_CHECKING:
    from inspector.controller import Controller

#: Runs that go through the models together, unless said otherwise (measured in docs/batching.md).
BATCH = 6


def rule_parts(text: str) -> list[tuple[str, dict[str, float]]]:
    """`a,b:x=1:y=2` as names and parameters. Raises BadSetting for a parameter that sets no number."""
    parts = [part.split(":") for part in filter(None, map(str.strip, text.split(",")))]
    return [(name.strip(), dict(map(assignment, params))) for name, *params in parts]


def assignment(text: str) -> tuple[str, float]:
    """NAME=VALUE with a number on the right. Raises BadSetting."""
    name, _, value = text.partition("=")
    try:
        return name.strip(), float(value)
    except ValueError:
        raise BadSetting(
            f"{text!r} sets no number.", "Write NAME=VALUE, for example threshold=0.3."
        ) from None


def built_in(text: str) -> list[Asked]:
    """The rules of a text that a page sends: ids alone, never a file. Raises BadSetting."""
    asked = rule_parts(text)
    for rule_id, params in asked:
        rules.get(rule_id, **params)
    return asked


def seeds_in(text: str) -> tuple[int, ...]:
    """`0:20` (the end is not in it) or `1,5,9`. Raises BadSetting."""
    try:
        if ":" in text:
            first, end = map(int, text.split(":"))
            return tuple(range(first, min(end, first + MAX_RUNS + 1)))
        return tuple(int(part) for part in text.split(",") if part.strip())
    except ValueError:
        raise BadSetting(f"seeds is {text!r}.", "Write FIRST:END, as 0:20, or 1,5,9.") from None


def lines_of(text: str) -> tuple[str, ...]:
    """The lines that are not empty, each once."""
    return tuple(dict.fromkeys(line.strip() for line in text.splitlines() if line.strip()))


def begin(controller: Controller, asked: dict) -> int:
    """Begin the comparison that a page asks for; its number. `session` lends its settings (None: the form's
    defaults), `max_tokens` is its own. Raises BadSetting before anything runs."""
    session_id = asked.get("session")
    form = controller.choices()["defaults"]
    if session_id is not None:
        form = form_of_session(controller.store.started(int(session_id)))[0]
    form |= {"max_tokens": asked["max_tokens"]}
    prompts = lines_of(str(asked["prompts"]))
    if not prompts:
        raise BadSetting("There is no prompt.", "Write one on each line.")
    wanted = built_in(str(asked["rules"])), seeds_in(str(asked["seeds"])), prompts
    return controller.comparisons.start(form, *wanted, BATCH)
