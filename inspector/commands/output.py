"""Where a command's file goes."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from engine.errors import BadSetting

#: A file to write, or - for standard output.
TARGET = click.Path(path_type=Path, allow_dash=True)


def write(output: Path, data: bytes) -> None:
    """Write to the file and say how large it is on stderr; to standard output nothing is said.

    Raises BadSetting when the file cannot be written.
    """
    if str(output) == "-":
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    try:
        output.write_bytes(data)
    except OSError as error:
        raise BadSetting(f"{output} cannot be written: {error.strerror}.", "Choose another file.") from error
    click.echo(f"{output}: {len(data):,} bytes", err=True)
