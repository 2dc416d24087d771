"""The Lab as one HTML file that opens from disk, without a server or a request, and its command."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from engine import rules
from engine.errors import BadSetting
from inspector import static_page
from inspector.controller import rule_view
from inspector.lab import temperatures

STYLES = ("inspector.css", "inspect.css", "library.css", "lab.css")


def page() -> str:
    """The Lab with every built-in rule and the measured temperatures in it."""
    held = {"rules": [rule_view(rule) for rule in rules.RULES.values()], "temperatures": temperatures()}
    return static_page.frame("Draftscope Lab", "lab/static.js", STYLES, held)


@click.command()
@click.option(
    "--html",
    "output",
    type=click.Path(path_type=Path, allow_dash=True),
    required=True,
    help="File to write; - for standard output.",
)
def lab(output: Path) -> None:
    """Write the Lab to one HTML file: p and q by hand, darts, laws and faults, without a server."""
    data = page().encode()
    if str(output) == "-":
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    try:
        output.write_bytes(data)
    except OSError as error:
        raise BadSetting(f"{output} cannot be written: {error.strerror}.", "Choose another file.") from error
    click.echo(f"{output}: {len(data):,} bytes", err=True)
