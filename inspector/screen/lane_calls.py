"""What the screen may ask for under Compare: re-runs, re-judged lanes, the table's lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from inspector.lanes import lane_of
from inspector.own_rules import in_form

if TYPE_CHECKING:
    from inspector.controller import Controller


def lane_in(lane: str | dict, own_rules: bool) -> dict:
    """A lane as the page asks for it; its rule may be a file of this machine where a form's may."""
    return in_form(lane_of(lane), own_rules)


def lane_functions(controller: Controller) -> list[Callable[[dict], dict]]:
    """One function a question; each takes and returns a dict of plain JSON types."""

    def lanes_in(request: dict) -> list[dict]:
        return [lane_in(lane, controller.own_rules) for lane in request["lanes"]]

    def rerun(request: dict) -> dict:
        return {"sessions": controller.rerun(int(request["session"]), lanes_in(request))}

    def rejudged(request: dict) -> dict:
        return controller.rejudged(int(request["session"]), lanes_in(request))

    def compared(request: dict) -> dict:
        return controller.compared(list(request["sessions"]))

    return [rerun, rejudged, compared]
