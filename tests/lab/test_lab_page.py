"""The Lab as one file: what it holds, what it may do, and the command that writes it."""

from __future__ import annotations

import json
import re

import pytest
from click.testing import CliRunner

from engine.errors import BadSetting
from engine.rules import RULES
from inspector.commands import lab
from inspector.lab import temperatures
from inspector.standalone import lab_page


def held(page: str) -> dict:
    return json.loads(re.search(r'<script type="application/json" id="recording">(.*?)</script>', page)[1])


def test_the_page_holds_every_rule_and_the_measured_curves():
    body = held(lab_page.page())
    assert [rule["id"] for rule in body["rules"]] == list(RULES)
    assert all(rule["meaning"] and rule["formula"] for rule in body["rules"])
    assert body["temperatures"] == temperatures()


def test_its_policy_lets_nothing_in_or_out():
    page = lab_page.page()
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)[1]
    assert policy.startswith("default-src 'none'; script-src 'sha256-") and "connect-src" not in policy
    assert set(re.findall(r"https?://[^\"'` )]+", page)) <= {"http://www.w3.org/2000/svg"}


def test_the_page_is_the_same_every_time():
    assert lab_page.page() == lab_page.page()


def test_the_command_writes_it(tmp_path):
    file = tmp_path / "lab.html"
    done = CliRunner().invoke(lab.lab, ["--html", str(file)])
    assert done.exit_code == 0 and f"{file.stat().st_size:,} bytes" in done.stderr
    assert file.read_text("utf-8") == lab_page.page()
    assert CliRunner().invoke(lab.lab, ["--html", "-"]).stdout == lab_page.page()


def test_the_command_says_what_it_cannot_do(tmp_path):
    done = CliRunner().invoke(lab.lab, ["--html", str(tmp_path / "none" / "lab.html")])
    assert isinstance(done.exception, BadSetting) and "cannot be written" in str(done.exception)
    assert CliRunner().invoke(lab.lab, []).exit_code == 2


@pytest.mark.parametrize("style", lab_page.STYLES)
def test_its_styles_are_the_apps(style):
    assert style in lab_page.static_page.STYLES
