"""A line of the comparison's table: a session in numbers, and whether it repeats the session it re-ran."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from engine import rules
from engine.core import lane_summary, replay
from engine.core.events import Round
from engine.core.kept import Kept
from engine.core.types import Rule
from engine.errors import BadSetting, EngineError
from inspector.faults import watermark
from storage import SessionInfo, Store

#: The columns of the table, in order.
COLUMNS = [asdict(column) for column in lane_summary.COLUMNS]

#: Lines that are kept; what a finished session says never changes.
KEPT = 64


class LaneLines:
    """Lines of one store's sessions, each folded once as long as it and its parent stay the same."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._kept = Kept(KEPT)

    def of(self, session_id: int) -> dict:
        """What the session is, its `cells`, `lengths` and `worst` (engine.core.lane_summary), and, where it
        re-ran another under the same settings, `reproduced`, `difference` and `row` (see repetition)."""
        info = self.store.session(session_id)
        parent = self._repeated(info)
        key = (info.id, info.rounds, info.status, parent and (parent.id, parent.rounds, parent.status))
        line = self._kept.get(key)
        if line is None:
            line = self._line(info, parent)
            self._kept.put(key, line)
        return line

    def _repeated(self, info: SessionInfo) -> SessionInfo | None:
        """The session that this one re-ran with nothing changed."""
        if info.parent_id is None or info.relation != "rerun":
            return None
        try:
            parent = self.store.session(info.parent_id)
        except EngineError:  # it was deleted
            return None
        return parent if repeats(info, parent) else None

    def _line(self, info: SessionInfo, parent: SessionInfo | None) -> dict:
        rounds = self.store.rounds(info.id, 0, info.rounds)
        names = (
            "rule",
            "params",
            "asked",
            "drafter",
            "k",
            "seed",
            "status",
            "reason",
            "parent_id",
            "relation",
        )
        line = {name: getattr(info, name) for name in names}
        line |= {"session": info.id, "mode": "run", "rule_reason": self.store.started(info.id).reason}
        line["watermark"] = watermark(info.fault, info.rule)
        line |= numbers(rounds, own_rule(info))
        if parent is not None:
            line |= repetition(parent, self.store.rounds(parent.id, 0, parent.rounds), info, rounds)
        return line


def own_rule(info: SessionInfo) -> Rule | None:
    """The rule as the session ran it; None where it came from a file that is not loaded."""
    try:
        return rules.get(info.rule, **info.params)
    except BadSetting:
        return None


def numbers(rounds: Sequence[Round], rule: Rule | None) -> dict:
    """A lane in numbers (engine.core.lane_summary.summary), with how many rounds and tokens they are from."""
    emitted = sum(len(done.emitted) for done in rounds)
    return {"rounds": len(rounds), "emitted": emitted, **lane_summary.summary(rounds, rule)}


def repeats(info: SessionInfo, parent: SessionInfo) -> bool:
    """Whether a child was run under exactly what its parent ran under."""
    names = ("rule", "params", "drafter", "k", "seed", "target", "max_tokens", "fault")
    return all(getattr(info, name) == getattr(parent, name) for name in names)


def repetition(parent: SessionInfo, baseline: list[Round], child: SessionInfo, rounds: list[Round]) -> dict:
    """Whether a re-run under the session's own rule repeats it, token for token and coin for coin.

    A session that was cut short is repeated when all it has is; `reproduced` is None for a re-run that
    was itself cut short before it came as far. `row` is the first row of the models that is not the same
    (replay.row_difference), None where all are: a rule given the same rows decides the same.
    """
    if parent.status != "finished":
        rounds = rounds[: len(baseline)]
    cut_short = child.status != "finished" and len(rounds) < len(baseline)
    baseline = baseline[: len(rounds)] if cut_short else baseline
    difference = replay.difference(baseline, rounds)
    row = replay.row_difference(baseline, rounds)
    changed = changed_versions(parent.versions, child.versions)
    if difference and changed:
        difference += f" ({'; '.join(changed)})"
    return {
        "reproduced": False if difference else None if cut_short else True,
        "difference": difference,
        "row": None if row is None else asdict(row),
    }


def changed_versions(then: dict[str, str], now: dict[str, str]) -> list[str]:
    """What computed a session and its re-run, where that differs: `batch` is a version too, because passes
    that sessions share have other last bits."""
    return [
        f"{name} {then.get(name, 'none')} then, {now.get(name, 'none')} now"
        for name in dict.fromkeys((*now, *then))
        if then.get(name) != now.get(name)
    ]


def confirmation(baseline: list[Round], judged: replay.Rejudged) -> dict:
    """Whether the stored rows and the seed lead the session's own rule to the coins, tests and tokens that
    are stored; None where rows that had been cut led it elsewhere."""
    difference = replay.difference(baseline, judged.rounds)
    reproduced = not difference if judged.exact or not difference else None
    return {"reproduced": reproduced, "difference": difference}
