"""docs/faults.md keeps its word: every test it names exists, is not skipped, and holds what can fail."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "faults.md"
#: The public faults that were looked at. A row goes only together with a reason in docs/decisions.md.
FAULTS = 36

Function = ast.FunctionDef | ast.AsyncFunctionDef


def table() -> list[tuple[str, str, list[str]]]:
    """The rows of the page: fault, what must be true, the names of its tests."""
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[1:]]
    assert all(len(row) == 3 for row in cells), "a row of docs/faults.md has not three cells"
    return [(fault, claim, re.findall(r"`([^`]+)`", held)) for fault, claim, held in cells]


ROWS = table()
NAMED = sorted({name for _, _, tests in ROWS for name in tests})


@cache
def functions(file: str) -> dict[str, Function]:
    """The functions at the top of a file of tests."""
    path = ROOT / file
    assert path.is_file(), f"docs/faults.md names {file}, which is not there"
    tree = ast.parse(path.read_text())
    return {node.name: node for node in tree.body if isinstance(node, Function)}


def name_of(node: ast.AST) -> str:
    """The last part of what is called: `pytest.raises` -> raises."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def can_fail(node: ast.AST) -> bool:
    """A statement that fails a test: an assertion about something that is no constant, an expected error, or
    a call of what asserts by its name."""
    if isinstance(node, ast.Assert):
        return not isinstance(node.test, ast.Constant)
    if isinstance(node, ast.Call):
        return name_of(node.func) in ("raises", "expect") or name_of(node.func).startswith("assert_")
    return False


def checks(function: Function, file: str) -> bool:
    """Whether the test, or a function beside it that it calls, has something that can fail."""
    if any(can_fail(node) for node in ast.walk(function)):
        return True
    called = {name_of(node.func) for node in ast.walk(function) if isinstance(node, ast.Call)}
    helpers = [functions(file)[name] for name in called & functions(file).keys()]
    return any(can_fail(node) for helper in helpers for node in ast.walk(helper))


def test_every_fault_has_a_row_of_its_own_and_a_test():
    assert len(ROWS) == FAULTS
    assert len({fault for fault, _, _ in ROWS}) == FAULTS
    assert all(claim.endswith(".") and tests for _, claim, tests in ROWS)


@pytest.mark.parametrize("name", [name for name in NAMED if ".py::" in name])
def test_a_named_test_exists_runs_and_can_fail(name):
    file, _, test = name.partition("::")
    assert test in functions(file), f"docs/faults.md names {name}, which is not there"
    function = functions(file)[test]
    assert test.startswith("test_"), f"{name} is no test"
    skipping = {"skip", "skipif", "xfail", "importorskip"}
    assert not [node for node in ast.walk(function) if name_of(node) in skipping], f"{name} may be skipped"
    assert checks(function, file), f"{name} asserts nothing"


@pytest.mark.parametrize("name", [name for name in NAMED if ".py::" not in name])
def test_a_named_test_of_the_screens_javascript_exists_and_asserts(name):
    file, _, title = name.partition("::")
    source = (ROOT / file).read_text()
    begin = source.find(f'\ntest("{title}"')
    assert begin >= 0, f"docs/faults.md names {name}, which is not there"
    body = source[begin:].split("\ntest(")[1]
    assert "assert." in body, f"{name} asserts nothing"


def test_a_test_that_cannot_fail_is_found_out():
    """The power of the check above."""
    (empty,) = ast.parse("def test_x():\n    x = 1\n    assert True\n").body
    (real,) = ast.parse("def test_x(y):\n    assert y\n").body
    (expecting,) = ast.parse("def test_x():\n    with pytest.raises(ValueError):\n        f()\n").body
    found = [any(can_fail(node) for node in ast.walk(one)) for one in (empty, real, expecting)]
    assert found == [False, True, True]


def test_every_file_of_faults_is_named_on_the_page():
    files = {name.partition("::")[0] for name in NAMED}
    ours = {path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("test_*faults.py")}
    assert ours - {"tests/test_faults.py"} <= files
