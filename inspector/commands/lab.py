"""The command `lab`: the Lab as one file."""

from __future__ import annotations

from pathlib import Path

import click

from inspector.commands.output import TARGET, write
from inspector.standalone import lab_page


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
    write(output, lab_page.page().encode())
