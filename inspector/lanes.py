"""Sessions side by side: run again under other rules, drafters or k, re-judged without a model, in numbers.

A lane is asked for as a rule's id, or as {"rule", "params", "drafter", "k"} where what is left out stays as
the session has it. Its parameters start at the session's own where it is the session's own rule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from engine import rules, session
from engine.core import branch, replay
from engine.core.events import PromptRead, Round, SessionStarted
from engine.core.stats import Counters
from engine.errors import BadSetting
from inspector import lane_lines, lane_tables, view_model
from inspector.faults import watermark
from inspector.form import number, text, whole
from storage import SessionInfo

if TYPE_CHECKING:
    from inspector.controller import Controller

#: Lanes beside each other at most, and so lanes asked for at once.
MAX_LANES = 8


@dataclass(frozen=True)
class Asked:
    """A lane as it is asked for; None stays as the session has it."""

    rule: str
    params: dict[str, float] = field(default_factory=dict)
    drafter: str | None = None
    k: int | None = None

    def of(self, started: SessionStarted) -> SessionStarted:
        """The session this lane makes of one that is there. Raises BadSetting."""
        drafter = started.drafter if self.drafter is None else self.drafter
        k = started.k if self.k is None else self.k
        return session.under(replace(started, drafter=drafter, k=k), self.rule, self.params)


def asked_lanes(lanes: Sequence[str | dict], started: SessionStarted) -> list[Asked]:
    """The lanes of a comparison, each once. Raises BadSetting for none, too many, or one that cannot be."""
    found: list[Asked] = []
    for lane in lanes:
        one = asked_lane({"rule": lane} if isinstance(lane, str) else lane, started)
        if one not in found:
            found.append(one)
    if not 1 <= len(found) <= MAX_LANES:
        raise BadSetting(f"{len(found)} lanes were named.", f"Name 1 to {MAX_LANES}.")
    return found


def asked_lane(lane: dict, started: SessionStarted) -> Asked:
    unknown = sorted(set(lane) - {"rule", "params", "drafter", "k"})
    if unknown:
        raise BadSetting(f"A lane has no {unknown[0]!r}.", "Give rule, params, drafter or k.")
    rule = text("rule", lane.get("rule") or started.asked)
    given = {name: number(name, value) for name, value in (lane.get("params") or {}).items()}
    own = started.params if rule == started.rule else {}
    params = rules.get(rule, **own | given).params
    drafter = None if not lane.get("drafter") else text("drafter", lane["drafter"])
    k = None if lane.get("k") is None else whole("k", lane["k"])
    return Asked(rule, params, drafter, k)


class Lanes:
    """The controller's methods for comparing sessions."""

    lines: lane_lines.LaneLines

    def rerun(self: Controller, session_id: int, lanes: Sequence[str | dict]) -> list[int]:
        """Run a session again in each lane, same prompt, seed and all else; the new sessions' ids.

        Raises BadSetting for a lane that cannot be, before any is stored, and EngineError for a session that
        read no prompt.
        """
        started, prompt = self.beginning(session_id)
        begun = [lane.of(started) for lane in asked_lanes(lanes, started)]
        return [self._submit(lane, session_id, prompt) for lane in begun]

    def lanes(self: Controller, session_id: int, children: list[int]) -> list[dict]:
        """Re-runs beside the session they repeat; under its own settings also whether it was reproduced."""
        parent, baseline = self.store.session(session_id), self.all_rounds(session_id)
        whole = self.output(session_id)
        return [self._lane(parent, baseline, whole, child) for child in children]

    def _lane(
        self: Controller, parent: SessionInfo, baseline: list[Round], whole: list[int], child: int
    ) -> dict:
        info, rounds = self.store.session(child), self.all_rounds(child)
        lane = {
            "lane": lane_tables.name(vars(info), vars(parent)),
            "rule": info.rule,
            "asked": info.asked,
            "rule_reason": self.store.started(child).reason,
            "fault": info.fault,
            "watermark": watermark(info.fault, info.rule),
            "params": info.params,
            "drafter": info.drafter,
            "k": info.k,
            "mode": info.relation or "rerun",
            "session": child,
            "status": info.status,
            "reason": info.reason,
            "text": self.text(child) if rounds else "",
            "counters": info.counters.to_dict(),
            **closed_forms(info.counters),
            "first_divergence": replay.first_divergence(whole, self.output(child)),
        }
        same = info.relation != "branch" and lane_lines.repeats(info, parent)
        return lane | (lane_lines.repetition(parent, baseline, info, rounds) if same else {})

    def rejudge(self: Controller, session_id: int, lanes: Sequence[str | dict]) -> list[dict]:
        """The stored blocks under other rules, same drafts, same coins; no model runs. Raises BadSetting."""
        started, prompt = self.beginning(session_id)
        baseline = self.all_rounds(session_id)
        return [
            self._judged(session_id, started, prompt, baseline, one)
            for one in judged_lanes(started, baseline, lanes)
        ]

    def _judged(
        self: Controller,
        session_id: int,
        started: SessionStarted,
        prompt: PromptRead,
        baseline: list[Round],
        lane: JudgedLane,
    ) -> dict:
        judged = lane.judged
        whole, again = branch.output(started, baseline), branch.output(started, judged.rounds)
        return {
            **lane.named(session_id),
            "drafter": started.drafter,
            "k": started.k,
            "text": self.text_of(again, prompt, started.stop),
            "counters": judged.counters.to_dict(),
            **closed_forms(judged.counters),
            "first_divergence": replay.first_divergence(whole, again),
            **lane.confirmed(baseline),
        }

    def rejudged(self: Controller, session_id: int, lanes: Sequence[str | dict]) -> dict:
        """Re-judged lanes as the screen draws them: `lanes`, each with its rounds and its line of the table,
        and the token texts they name (`pieces`)."""
        started, prompt = self.beginning(session_id)
        baseline = self.all_rounds(session_id)
        found, pieces = [], {}
        for lane in judged_lanes(started, baseline, lanes):
            views = [view_model.round_view(done) for done in lane.judged.rounds]
            pieces |= self._pieces(prompt, set().union(*map(view_model.tokens_of, views)))
            line = lane.named(session_id) | {"drafter": started.drafter, "k": started.k}
            line |= lane_lines.numbers(lane.judged.rounds, lane.rule) | lane.confirmed(baseline)
            found.append({"rounds": views, "line": line, "rule_title": lane.rule.title})
        return {"lanes": found, "pieces": pieces}

    def compared(self: Controller, session_ids: Sequence[int]) -> dict:
        """The table over sessions: `columns`, and a line a session (see lane_lines.LaneLines.of)."""
        return {
            "columns": lane_lines.COLUMNS,
            "lines": [self.lines.of(int(session_id)) for session_id in session_ids],
        }


@dataclass(frozen=True)
class Judged:
    """A re-judged lane by name: its id as a link writes it, the session whose drafts are judged, and the lane
    as it is asked for."""

    id: str
    session: int
    lane: dict = field(compare=False)

    @classmethod
    def named(cls, session_id: int, rule: str, params: Mapping[str, float]) -> Judged:
        """The lane of a rule; its id as assets/compare/lane.js writes it, but for the shape of a number."""
        said = "".join(f":{name}={value}" for name, value in sorted(params.items()))
        return cls(f"{session_id}~{rule}{said}", session_id, {"rule": rule, "params": dict(params)})


@dataclass(frozen=True)
class JudgedLane:
    """A lane without a model: the rule that judged, the rule asked for and why they differ, the outcome, and
    the fault its drafts and rows were made with."""

    asked: str
    rule: rules.Rule
    reason: str
    own: bool  # whether it is the rule that ran
    judged: replay.Rejudged
    fault: str = ""

    def named(self, session_id: int) -> dict:
        """What every answer says of it."""
        what = {"rule": self.rule.id, "params": self.rule.params}
        return {
            "lane": lane_tables.name(what, None),
            "rule": self.rule.id,
            "params": self.rule.params,
            "asked": self.asked,
            "rule_reason": self.reason,
            "fault": self.fault,
            "watermark": watermark(self.fault, self.rule.id),
            "mode": "rejudge",
            "session": session_id,
            "status": "finished" if self.judged.complete else "needs a run",
            "reason": self.judged.why,
            "exact": self.judged.exact,
            "missing_mass": self.judged.tail,
        }

    def confirmed(self, baseline: list[Round]) -> dict:
        """Under the session's own rule: whether it came out as it is stored."""
        return lane_lines.confirmation(baseline, self.judged) if self.own else {}


def judged_lanes(
    started: SessionStarted, baseline: list[Round], lanes: Sequence[str | dict]
) -> list[JudgedLane]:
    """Each lane, re-judged. Raises BadSetting for one that asks for other drafts than there are."""
    ran, drafted = rules.get(started.rule, **started.params), dict(started.attempts)
    found = []
    for lane in asked_lanes(lanes, started):
        if lane.drafter not in (None, started.drafter) or lane.k not in (None, started.k):
            raise BadSetting(
                "Re-judging keeps the drafts, so it cannot change the drafter or k.", "Re-run the lane."
            )
        asked, rule, why = session.chosen(lane.rule, lane.params, started.sampling)
        judged = replay.rejudge(baseline, rule, started.seed, ran, drafted)
        found.append(JudgedLane(asked.id, rule, why, rule == ran, judged, started.fault))
    return found


def closed_forms(counters: Counters) -> dict:
    """What theory expects of the tested positions."""
    names = ("closed_form_sum_min", "closed_form_sum_prod")
    return {name: getattr(counters, name) for name in names}


def lane_of(given: str | Mapping) -> dict:
    """A lane that a page asked for, with nothing in it but what a lane has. Raises BadSetting."""
    given = {"rule": given} if isinstance(given, str) else given
    if not isinstance(given, Mapping):
        raise BadSetting(f"A lane is {given!r}.", "Give rule, params, drafter or k.")
    return {name: given[name] for name in ("rule", "params", "drafter", "k") if given.get(name) is not None}
