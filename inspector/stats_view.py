"""The stats tab of a session: the folds of engine.core.session_stats, with words and figures beside them."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from engine import rules
from engine.core import session_stats
from engine.core.events import Judged, PromptRead, Round
from engine.core.kept import Kept
from inspector.faults import watermark
from storage import SessionInfo, Store

#: Sessions whose statistics are kept; a finished session never changes.
KEPT = 16


class Statistics:
    """Statistics of one store's sessions, each counted once as long as it stays the same."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._kept = Kept(KEPT)
        self._counting = threading.Lock()

    def of(self, session_id: int) -> dict:
        """engine.core.session_stats.describe with `session`, `rule` and `closed_form` (see `own`), and
        `figures`: Plotly figures by name, their colours in words of the screen's style sheet."""
        info = self.store.session(session_id)
        key = (session_id, info.rounds, info.status)
        with self._counting:
            found = self._kept.get(key)
            if found is None:
                found = self._count(info)
                self._kept.put(key, found)
            return found

    def _count(self, info: SessionInfo) -> dict:
        from inspector import figures

        rounds = self.store.outlines(info.id, 0, info.rounds)
        line = own_line(info, rounds)
        law, words = own(info, line)
        body = session_stats.describe(rounds, law, line.params if line else None)
        body |= {"session": info.id, "rule": info.rule, **words}
        body["watermark"] = watermark(info.fault, info.rule)
        body["stages"] = with_store(body["stages"], self._between(info))
        return body | {"figures": figures.all_of(body)}

    def _between(self, info: SessionInfo) -> float | None:
        """Milliseconds from the prompt's end to the session's; None while it runs, and where nobody noted."""
        read = next(
            (one for _, one in self.store.events(info.id, limit=2) if isinstance(one, PromptRead)), None
        )
        return None if read is None or info.unfinished or not info.ms else info.ms - read.ms


def with_store(stages: list[dict], between: float | None) -> list[dict]:
    """The stages of session_stats.stages, and what a session's time has besides them: `store`, writing each
    round and what lies between two. A round is written after its own times are, so there is no median."""
    measured = sum(one["ms"] for one in stages)
    if not between or not measured or between < measured:
        return stages
    store = {"stage": "store", "ms": between - measured, "median": None}
    return [one | {"share": one["ms"] / between} for one in (*stages, store)]


def own_line(info: SessionInfo, rounds: Sequence[Round]) -> Judged | None:
    """The first round's line of the session's own rule, at its own parameters; None where it has none."""
    rule = rules.RULES.get(info.rule)
    for line in rounds[0].matrix if rounds else ():
        if line.rule == info.rule and (rule is None or rule.params | line.params == info.params):
            return line
    return None


def own(info: SessionInfo, line: Judged | None = None) -> tuple[str | None, dict]:
    """The rule of the matrix that is this session's own, and what to say of its closed form: `closed_form`
    in letters, and `why`, a sentence where the matrix has no law of it. `line` is its line in a round."""
    rule = rules.find(info.rule)
    if rule is None and line is None:
        return None, {"closed_form": "", "why": "The rule came from a file; its law is not in the rounds."}
    if rule is None:
        return info.rule, {"closed_form": "", "why": ""}
    if info.params != rule.params and line is None:
        return None, {
            "closed_form": rule.closed_form,
            "why": "The rounds hold the rule's law at its default parameters; this session changed them.",
        }
    why = ""
    if rule.looks_ahead:
        why = "The rule judges a block as a whole, so no position has a law of its own."
    return rule.id, {"closed_form": rule.closed_form, "why": why}
