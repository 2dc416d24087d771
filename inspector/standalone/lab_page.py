"""The Lab as one HTML file that opens from disk, without a server or a request."""

from __future__ import annotations

from engine import rules
from inspector.controller import rule_view
from inspector.lab import temperatures
from inspector.standalone import static_page

STYLES = ("inspector.css", "inspect.css", "library.css", "lab.css")


def page() -> str:
    """The Lab with every built-in rule and the measured temperatures in it."""
    held = {"rules": [rule_view(rule) for rule in rules.RULES.values()], "temperatures": temperatures()}
    return static_page.frame("Draftscope Lab", "lab/static.js", STYLES, held)
