"""The command `replay`: a session again under other rules, drafters or k, as text, JSON, CSV or Markdown."""

from __future__ import annotations

from contextlib import closing
from itertools import product
from pathlib import Path

import click

from engine.errors import BadSetting
from inspector import lane_tables, report
from inspector.commands import live
from inspector.commands.compare import rules_in
from inspector.commands.options import common, exit_status
from inspector.controller import Controller
from storage import Store


@click.command()
@click.argument("session_id", metavar="SESSION", type=int)
@click.option(
    "--rules",
    "rule_list",
    help="Rules separated by commas, parameters behind colons: stochastic,lenient:leniency=0.5. "
    "Default: the session's own.",
)
@click.option("--drafters", help="Drafters, with commas between; each with every rule.")
@click.option("--k", "ks", help="Values of k, with commas between; each with every rule.")
@click.option("--mode", type=click.Choice(["rerun", "rejudge"]), default="rerun", show_default=True)
@click.option("--csv", "table", flag_value="csv", help="The table of session and lanes, for programs.")
@click.option("--markdown", "table", flag_value="markdown", help="The same for people.")
@common
@click.pass_obj
def replay(
    group_db: Path | None,
    db: Path | None,
    as_json: bool,
    session_id: int,
    rule_list: str | None,
    drafters: str | None,
    ks: str | None,
    mode: str,
    table: str | None,
) -> int:
    """Replay a session at its own seed under other rules, drafters or k; what is not named stays its own.

    rerun: the models again, each lane on its own path, stored as child sessions. rejudge: no model, the
    stored drafts and coins judged again until the rule leaves the stored path.
    """
    if as_json and table:
        raise BadSetting(f"--json and --{table} were both given.", "Choose one.")
    with Store.open(db or group_db) as store, closing(Controller(store)) as controller:
        own = store.started(session_id).asked if rule_list is None else ""
        wanted = lanes_in(rule_list or own, drafters, ks)
        children = live.rerun(controller, session_id, wanted) if mode == "rerun" else None
        if table:
            lanes = table_lines(controller, session_id, children, wanted)
            click.echo(WRITERS[table]([*controller.compared([session_id])["lines"], *lanes]), nl=False)
        else:
            lanes = (
                controller.rejudge(session_id, wanted)
                if children is None
                else controller.lanes(session_id, children)
            )
            body = {"session": session_id, "mode": mode, "lanes": lanes}
            report.emit(body) if as_json else click.echo(report.lanes_text(body))
        return 0 if children is None else exit_status(lanes)


#: The table as a text, by the option that asks for it.
WRITERS = {"csv": lane_tables.as_csv, "markdown": lane_tables.as_markdown}


def table_lines(
    controller: Controller, session_id: int, children: list[int] | None, wanted: list[dict]
) -> list[dict]:
    """The lines of re-runs, or, where there are none, of the lanes re-judged."""
    if children is not None:
        return controller.compared(children)["lines"]
    return [lane["line"] for lane in controller.rejudged(session_id, wanted)["lanes"]]


def lanes_in(rule_list: str, drafters: str | None, ks: str | None) -> list[dict]:
    """Every rule with every drafter and every k, as controller.rerun takes them. Raises BadSetting."""
    wanted = []
    for (rule, params), drafter, k in product(rules_in(rule_list), words(drafters), words(ks)):
        lane = {"rule": rule, "params": params}
        lane |= {"drafter": drafter} if drafter else {}
        wanted.append(lane | ({"k": whole_number(k)} if k else {}))
    return wanted


def words(text: str | None) -> list[str | None]:
    """The words between commas; [None] where nothing was said."""
    return [word.strip() for word in (text or "").split(",") if word.strip()] or [None]


def whole_number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise BadSetting(f"k is {text!r}.", "Give whole numbers, with commas between.") from None
