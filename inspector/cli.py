"""The command line: the same controller as the screen, for people and (with --json) for programs.

With --json exactly one object goes to stdout; text and progress go to stderr. Wrong input ends with exit
status 2 and one sentence on stderr.
"""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path
from typing import NoReturn

import click

from engine import rules, session
from engine.core import stats
from engine.errors import EngineError
from engine.faults import FAULTS
from inspector import log_report, own_rules, report
from inspector.commands import compare, lab, live, replay, share, verify
from inspector.commands.options import DEFAULTS, common, exit_status, generation_options, request_of
from inspector.controller import Controller
from inspector.faults import marked
from storage import Store

RULE_HELP = f"One of {', '.join(rules.RULES)}; or a Python file of your own."

FAULT_HELP = f"Switch a fault of the engine on, on purpose: {', '.join(FAULTS)}."

EXIT_HELP = (
    "Exit status: 0 done, 1 a session failed, 2 wrong input, 130 stopped by Ctrl-C (what a session had "
    "finished is kept)."
)


@click.group(invoke_without_command=True, epilog=EXIT_HELP)
@click.option("--db", type=click.Path(path_type=Path), help="Database file. Default: in your data folder.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to serve the screen on.")
@click.option("--port", type=int, help="Port to serve the screen on. Default: the first free one from 7860.")
@click.option("--open/--no-open", "in_browser", default=True, help="Open the screen in a browser.")
@click.pass_context
def cli(context: click.Context, db: Path | None, host: str, port: int | None, in_browser: bool) -> None:
    """See every decision of speculative decoding. Without a command: open the inspector."""
    if context.invoked_subcommand:
        context.obj = db
        return
    with Store.open(db) as store, closing(Controller(store)) as controller:
        controller.own_rules = own_rules.only_here(host)
        controller.warm()
        click.echo("Opening the inspector (the first start takes some seconds)", err=True)
        from inspector import ui

        ui.launch(controller, host=host, port=port, in_browser=in_browser)


@cli.command()
@click.option("--prompt", required=True, help="What to ask the target.")
@click.option("--rule", default=DEFAULTS.rule, show_default=True, help=RULE_HELP)
@click.option("--param", multiple=True, metavar="NAME=VALUE", help="A parameter of the rule.")
@click.option("--seed", type=int, default=DEFAULTS.seed, show_default=True)
@click.option("--fault", default="", metavar="NAME", help=FAULT_HELP)
@generation_options
@common
@click.pass_obj
def run(
    group_db: Path | None, db: Path | None, as_json: bool, logit_bias: tuple[str, ...], **options: object
) -> int:
    """Generate once, store the session, and say what was accepted."""
    started = session.plan(request_of(options, logit_bias))
    with Store.open(db or group_db) as store, closing(Controller(store)) as controller:
        session_id = live.follow(controller, started, to_stderr=as_json)
        body = report.session_object(controller, session_id)
        if as_json:
            report.emit(body)
        else:
            line = f"session {session_id}: {body['status']} ({body['reason']})"
            click.echo("\n" + marked(line, body["watermark"]))
            counters = store.session(session_id).counters
            click.echo(stats.acceptance_line(body["rule"], counters, body["fault"]))
        return exit_status([body])


@cli.command()
@click.argument("session_id", metavar="SESSION", type=int)
@click.option("--round", "index", type=int, help="Only this round.")
@common
@click.pass_obj
def show(group_db: Path | None, db: Path | None, as_json: bool, session_id: int, index: int | None) -> None:
    """Show every position of a session: drafts, rows, coins, fates."""
    with Store.open(db or group_db) as store:
        body = report.show_object(Controller(store), session_id, index)
        report.emit(body) if as_json else click.echo(report.show_text(body))


@cli.command()
@click.option("--log", metavar="FILE", help="Read another server's log instead; - for standard input.")
@common
@click.pass_obj
def doctor(group_db: Path | None, db: Path | None, as_json: bool, log: str | None) -> int:
    """Say what computes, which models are here, and where sessions are kept.

    With --log: say which acceptance rule a log's numbers belong to, which rates were confused, and what in it
    is impossible. Exit status 1 where it contradicts itself or its rule.
    """
    if log is not None:
        body = log_report.log_object(log)
        report.emit(body) if as_json else click.echo(log_report.log_lines(body))
        return log_report.log_status(body)
    body = report.doctor_object(db or group_db)
    report.emit(body) if as_json else click.echo(report.doctor_text(body))
    return 0


for command in (
    share.branch,
    share.export,
    share.import_,
    share.sql,
    compare.compare,
    replay.replay,
    verify.verify,
    verify.check_rule,
    lab.lab,
):
    cli.add_command(command)


def main(args: list[str] | None = None) -> None:
    """Run the command line and exit; wrong input ends with status 2 and one sentence."""
    try:
        sys.exit(cli.main(args, prog_name="app.py", standalone_mode=False) or 0)
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "app.py"
        fail(f"{error.format_message()} See `{command} --help`.")
    except (click.ClickException, EngineError) as error:
        fail(str(error))
    except (click.Abort, KeyboardInterrupt):
        click.echo("Stopped.", err=True)
        sys.exit(130)


def fail(sentence: str) -> NoReturn:
    click.echo(f"Error: {' '.join(sentence.split())}", err=True)
    sys.exit(2)
