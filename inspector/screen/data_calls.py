"""What the screen may ask for under Data: branches, files out and in, SQL, comparisons over seeds."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from engine.errors import BadSetting
from inspector import many_form
from inspector.lanes import Judged
from inspector.screen.lane_calls import lane_in
from inspector.transfers import Transfers

if TYPE_CHECKING:
    from inspector.controller import Controller

#: How a file of sessions may be asked for: the end of its name.
KINDS = ("jsonl", "html")


def data_functions(controller: Controller) -> list[Callable[[dict], dict]]:
    """One function a question; each takes and returns a dict of plain JSON types."""
    transfers = Transfers()

    def tokens(request: dict) -> dict:
        return controller.tokens(int(request["session"]), str(request["text"]))

    def branch(request: dict) -> dict:
        place = int(request["session"]), int(request["position"])
        budget = request.get("max_tokens")
        return {
            "session": controller.branch(
                *place, str(request["token"]), None if budget is None else int(budget)
            )
        }

    def export(request: dict) -> dict:
        ids = [int(one) for one in request["sessions"]]
        if not ids:
            raise BadSetting("0 sessions were named.", "Open a session first.")
        if request.get("children"):
            ids = controller.family(ids[0])
        lanes = [lane_or_session(lane) for lane in request.get("lanes") or ids]
        return transfers.offer(*exported(controller, ids, lanes, str(request["kind"])))

    def lane_or_session(asked: int | dict) -> int | Judged:
        if not isinstance(asked, dict):
            return int(asked)
        return Judged(str(asked["id"]), int(asked["session"]), lane_in(asked, controller.own_rules))

    def fetch(request: dict) -> dict:
        return transfers.fetch(str(request["file"]), int(request["start"]))

    def expect(request: dict) -> dict:
        return transfers.expect(str(request["name"])[:200], int(request["size"]))

    def send(request: dict) -> dict:
        return transfers.send(str(request["file"]), str(request["data"]))

    def take_in(request: dict) -> dict:
        return {"sessions": controller.import_jsonl(transfers.take(str(request["file"])))}

    def storage(request: dict) -> dict:
        return controller.storage()

    def sql(request: dict) -> dict:
        begun = time.perf_counter()
        answer = controller.sql(str(request["query"]))
        return answer | {"ms": round(1e3 * (time.perf_counter() - begun), 1)}

    def seeds_begin(request: dict) -> dict:
        return {"comparison": many_form.begin(controller, dict(request["asked"]))}

    def seeds_look(request: dict) -> dict:
        """The comparison of a number; without one the newest, or nothing."""
        number = request.get("comparison") or controller.comparisons.newest
        return {"comparison": number, "status": number and controller.comparisons.status(int(number))}

    def seeds_stop(request: dict) -> dict:
        controller.comparisons.stop(int(request["comparison"]))
        return {}

    seeds = [seeds_begin, seeds_look, seeds_stop]
    return [tokens, branch, export, fetch, expect, send, take_in, storage, sql, *seeds]


def exported(
    controller: Controller, ids: list[int], lanes: list[int | Judged], kind: str
) -> tuple[str, bytes]:
    """Sessions as a file, or lanes as a page: its name and its bytes. Raises BadSetting for a kind there is
    not."""
    if kind not in KINDS:
        raise BadSetting(f"There is no export as {kind!r}.", f"Use {' or '.join(KINDS)}.")
    more = "" if len(ids) == 1 else f"-and-{len(ids) - 1}-more"
    name = f"draftscope-{ids[0]}{more}.{kind}"
    if kind == "html":
        return name, controller.export_html(lanes[0], lanes[1:]).encode()
    return name, controller.export_sessions(ids)
