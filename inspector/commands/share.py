"""Commands that take sessions elsewhere or go on from them: branch, export, import, sql."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path

import click

from engine.errors import BadSetting
from inspector import report
from inspector.commands.compare import rules_in
from inspector.commands.live import tell_of_another_rule
from inspector.commands.options import common, exit_status
from inspector.commands.output import TARGET, write
from inspector.controller import Controller
from inspector.faults import marked
from inspector.lanes import Judged
from storage import Store, StoreError
from storage.export_format import MAX_BYTES

DB = click.option("--db", type=click.Path(path_type=Path), help="Database file.")


@click.command()
@click.argument("session_id", metavar="SESSION", type=int)
@click.option("--at", "position", type=int, required=True, help="Position of the token to replace, from 0.")
@click.option("--token", required=True, help="The token there: its text, or #ID.")
@click.option("--max-tokens", type=int, help="The whole budget. Default: the session's own.")
@common
@click.pass_obj
def branch(
    group_db: Path | None,
    db: Path | None,
    as_json: bool,
    session_id: int,
    position: int,
    token: str,
    max_tokens: int | None,
) -> int:
    """Go on from a session with another token at a position.

    What stands before the position stays; what follows is generated anew, under the session's own rule, seed
    and settings, and stored as its child.
    """
    with Store.open(db or group_db) as store, closing(Controller(store)) as controller:
        child = controller.branch(session_id, position, token, max_tokens)
        tell_of_another_rule(controller.store.started(child))
        wait(controller, child)
        body = report.session_object(controller, child) | {"parent": session_id, "position": position}
        if as_json:
            report.emit(body)
        else:
            click.echo(body["text"])
            line = f"session {child}, a branch of {session_id} at {position}: {body['status']}"
            click.echo("\n" + marked(line, body["watermark"]))
        return exit_status([body])


def wait(controller: Controller, session_id: int) -> None:
    """Until the session has ended, saying on stderr what it does; Ctrl-C stops it and keeps its rounds."""
    run, said = controller.run_of(session_id), ""
    try:
        while run is not None and not run.done.wait(0.1):
            if run.progress != said and controller.count(session_id)[0] == 0:
                said = run.progress
                click.echo(said, err=True)
    except KeyboardInterrupt:
        controller.stop(session_id)
        controller.wait(session_id)


@click.command()
@click.argument("session_id", metavar="SESSION", type=int)
@click.option("--with-children", is_flag=True, help="Also all that was made from it.")
@click.option("--html", is_flag=True, help="One page that opens from disk instead of JSON Lines.")
@click.option(
    "--rejudge",
    "rule_list",
    help="With --html: its drafts under these rules, without a model, as lanes.",
)
@click.option(
    "-o",
    "--output",
    type=TARGET,
    default=Path("-"),
    help="File to write. Default: standard output.",
)
@DB
@click.pass_obj
def export(
    group_db: Path | None,
    db: Path | None,
    session_id: int,
    with_children: bool,
    html: bool,
    rule_list: str | None,
    output: Path,
) -> None:
    """Write a session to a file: JSON Lines for `import`, or a page for people."""
    if rule_list and not html:
        raise BadSetting(f"--rejudge {rule_list} without --html.", "Re-judged lanes go into a page alone.")
    with Store.open(db or group_db) as store:
        controller = Controller(store)
        if html:
            children = controller.family(session_id)[1:] if with_children else []
            judged = [Judged.named(session_id, *lane) for lane in rules_in(rule_list)] if rule_list else []
            data = controller.export_html(session_id, [*children, *judged]).encode()
        else:
            data = controller.export_jsonl(session_id, with_children)
    write(output, data)


@click.command(name="import")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@common
@click.pass_obj
def import_(group_db: Path | None, db: Path | None, as_json: bool, file: Path) -> None:
    """Take in sessions that `export` wrote, checked to the last number before anything is stored."""
    data = read(file)
    with Store.open(db or group_db) as store:
        ids = Controller(store).import_jsonl(data)
    if as_json:
        report.emit({"sessions": ids})
    else:
        click.echo(f"imported {len(ids)} session{'s' * (len(ids) > 1)}: {', '.join(map(str, ids))}")


def read(file: Path) -> bytes:
    """The file's bytes, one more than an import reads at most. Raises StoreError where there is none."""
    try:
        if str(file) == "-":
            return sys.stdin.buffer.read(MAX_BYTES + 1)
        with file.open("rb") as opened:
            return opened.read(MAX_BYTES + 1)
    except OSError as error:
        raise StoreError(
            f"{file} cannot be read: {error.strerror}.", "Choose a file that `export` wrote."
        ) from error


@click.command()
@click.argument("query")
@common
@click.pass_obj
def sql(group_db: Path | None, db: Path | None, as_json: bool, query: str) -> None:
    """Answer one SQL question about the database, which it cannot change."""
    with Store.open(db or group_db) as store:
        answer = Controller(store).sql(query)
    report.emit(answer) if as_json else click.echo(table(answer))


def table(answer: dict) -> str:
    """An answer as aligned columns; control characters as escapes."""
    cells = [answer["columns"], *([cell(value) for value in row] for row in answer["rows"])]
    widths = [min(60, max(map(len, column))) for column in zip(*cells, strict=True)]
    lines = [
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join([*lines, *(["(more rows were left out)"] if answer["truncated"] else [])])


def cell(value: object) -> str:
    text = "" if value is None else str(value)
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
