"""A rule of one's own, named where a rule is named: by its file, by the person who runs the program.

Only what a person typed goes through here. A rule's name that comes out of a session never does, so opening,
importing or replaying a session runs no file.
"""

from __future__ import annotations

import click

from engine import rules
from engine.errors import BadSetting
from engine.rules import own
from inspector.rule_report import rule_text

LOOPBACK = ("127.0.0.1", "localhost", "::1")


def named(rule: str) -> str:
    """The id of a rule named on the command line; a file's verdict goes to stderr. Raises BadSetting."""
    rule_id = rules.named(rule)
    if rule_id != rule:
        click.echo(rule_text(own.find(rule_id)), err=True)
    return rule_id


def only_here(host: str) -> bool:
    """Whether a page served on this address can be reached from this machine alone."""
    return host in LOOPBACK


def in_form(form: dict, allowed: bool) -> dict:
    """The form with its rule as an id. Raises BadSetting for a file where others reach the page too."""
    rule = form.get("rule", "")
    if not isinstance(rule, str) or not own.is_file(rule):
        return form
    if not allowed:
        raise BadSetting(
            f"{rule} is a file, and this page is open to other machines.",
            "Serve it on 127.0.0.1 to load rules of your own, or choose a built-in rule.",
        )
    return form | {"rule": rules.named(rule)}
