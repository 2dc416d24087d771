"""What the screen may ask for around its sessions: the list, statistics, verifications, how loading goes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from inspector.controller import Controller


def library_functions(controller: Controller) -> list[Callable[[dict], dict]]:
    """One function a question; each takes and returns a dict of plain JSON types."""

    def sessions(request: dict) -> dict:
        return controller.library.page(dict(request.get("filters", {})), int(request.get("limit", 100)))

    def change(request: dict) -> dict:
        return controller.library.change(int(request["session"]), dict(request["changes"]))

    def remove(request: dict) -> dict:
        return controller.library.delete(int(request["session"]))

    def restore(request: dict) -> dict:
        return controller.library.undo(int(request["session"]))

    def stats(request: dict) -> dict:
        return controller.statistics.of(int(request["session"]))

    def warming(request: dict) -> dict:
        return {"message": controller.warming}

    def verify_form(request: dict) -> dict:
        return controller.verification_form()

    def verify(request: dict) -> dict:
        return {"verification": controller.verify(dict(request["form"]))}

    def verification(request: dict) -> dict:
        return controller.verification(int(request["verification"]))

    def stop_verification(request: dict) -> dict:
        controller.stop_verification(int(request["verification"]))
        return {}

    return [
        sessions,
        change,
        remove,
        restore,
        stats,
        warming,
        verify_form,
        verify,
        verification,
        stop_verification,
    ]
