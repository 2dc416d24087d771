"""The documents say what the code says: generated parts are up to date, and every command in README runs."""

import io
import re
import shlex
from contextlib import redirect_stdout
from pathlib import Path

import click
import pytest
from cogapp import Cog

from bench import screenshots
from docs import pictures
from engine.core.events import EVENTS
from engine.core.types import PURPOSES
from engine.rules import RULES
from inspector.cli import cli

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted((ROOT / "docs").glob("*.md"))
README = (ROOT / "README.md").read_text()
SHOWN = re.compile(r"screenshots/([a-z-]+)\.png\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_generated_parts_are_up_to_date(page):
    said = io.StringIO()
    with redirect_stdout(said):
        status = Cog().main(["cog", "--check", "-I", str(ROOT), str(page)])
    assert status == 0, f"run `make docs`: {said.getvalue()}"


def test_the_pictures_of_the_rules_are_up_to_date():
    found = {path.stem: path.read_text() for path in pictures.FOLDER.glob("*.svg")}
    assert found == {name: pictures.svg(rule) for name, rule in RULES.items()}, "run `make docs`"


def test_every_rule_purpose_and_event_is_documented():
    text = "\n".join(page.read_text() for page in PAGES)
    for name in (*RULES, *PURPOSES, *EVENTS):
        assert f"`{name}`" in text, f"{name} stands in no page of docs/"


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=lambda page: page.name)
def test_links_between_files_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:{}]+)\)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} points to {target}"


def test_every_screenshot_is_taken_by_the_command_and_shown_somewhere():
    kept = {path.stem for path in screenshots.OUT.glob("*.png")}
    shown = {name for page in (ROOT / "README.md", *PAGES) for name in SHOWN.findall(page.read_text())}
    assert kept == shown == {*screenshots.SHOTS, "exactness"}


def test_the_two_commands_stand_at_the_top_of_the_readme():
    top = README.splitlines()[:20]
    assert any("make run" in line for line in top) and any("make test" in line for line in top)


def commands() -> list[list[str]]:
    found = re.findall(r"^\$ (?:\.venv/bin/)?python app\.py (.+)$", README, re.M)
    return [shlex.split(line) for line in found]


def test_the_readme_shows_each_headless_command():
    assert {line[0] for line in commands()} >= set(cli.commands)


@pytest.mark.parametrize("line", commands(), ids=" ".join)
def test_a_command_of_the_readme_parses(line):
    command = cli.commands[line[0]]
    with click.Context(command) as context:
        command.parse_args(context, line[1:])
