"""Calls of the command line, and what they leave behind."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

APP = Path(__file__).parents[1] / "app.py"
WAIT_S = 120


class Printed:
    """What one call of the command line left behind."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def object(self) -> dict:
        """The one JSON object on stdout; NaN and anything beside the object is refused."""

        def refuse(name: str) -> None:
            raise ValueError(f"{name} is no JSON")

        return json.loads(self.out, parse_constant=refuse)


def contents(db: Path) -> list[str]:
    """Everything the database holds, as SQL; [] when there is no file."""
    if not db.exists():
        return []
    with closing(sqlite3.connect(db)) as conn:
        return list(conn.iterdump())


def run_args(target: str, db: Path, *more: object) -> list[object]:
    return ["run", "--target", target, "--db", db, "--prompt", "Hello", "--max-tokens", 12, *more]


def assert_refused(done: Printed, named: str) -> None:
    """Status 2, nothing on stdout, and one line that names the value and the next step."""
    assert (done.code, done.out) == (2, "")
    line = done.err.splitlines()[-1]
    assert line.startswith("Error: ")
    assert named in line
    assert line.count(". ") >= 1, "no next step"
    assert sum(part.startswith("Error") for part in done.err.splitlines()) == 1
