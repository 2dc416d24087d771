"""The mathematics of the Lab's page, asked through one Node process."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("answer.mjs")


class LabPage:
    """ask("law", rule=..., ...) -> the page's answer, as JSON reads it."""

    def __init__(self, node: str) -> None:
        self.process = subprocess.Popen(
            [node, str(SCRIPT)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, what: str, **question: object) -> object:
        self.process.stdin.write(json.dumps({"ask": what, **question}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, f"node ended at {what} {question}"
        return json.loads(line)

    def close(self) -> None:
        self.process.stdin.close()
        assert self.process.wait(timeout=30) == 0


def started() -> Iterator[LabPage]:
    """One process for a module; without Node its tests are left to the browser."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed; the browser tests hold the page against the engine")
    page = LabPage(node)
    yield page
    page.close()
