"""The Lab as one HTML file that opens from disk, without a server or a request, and its command."""

from __future__ import annotations

from pathlib import Path

import click

from engine import rules
from inspector import static_page
from inspector.controller import rule_view
from inspector.lab import temperatures
from inspector.output import TARGET, write

STYLES = ("inspector.css", "inspect.css", "library.css", "lab.css")


def page() -> str:
    """The Lab with every built-in rule and the measured temperatures in it."""
    held = {"rules": [rule_view(rule) for rule in rules.RULES.values()], "temperatures": temperatures()}
    return static_page.frame("Draftscope Lab", "lab/static.js", STYLES, held)


@click.command()
@click.option(
    "--html",
    "output",
    type=TARGET,
    required=True,
    help="File to write; - for standard output.",
)
def lab(output: Path) -> None:
    """Write the Lab to one HTML file: p and q by hand, darts, laws and faults, without a server."""
    write(output, page().encode())
