"""The command `compare`: rules over many prompts and seeds, resumable, with paired intervals."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import click

from engine.batch import MAX_LANES
from engine.core.types import within
from engine.errors import BadSetting
from inspector import own_rules, report
from inspector.commands.options import common, generation_options, request_of
from inspector.controller import Controller
from inspector.many import Asked, Comparison, Many, Step
from inspector.many_form import BATCH, lines_of, rule_parts, seeds_in
from storage import Store


@click.command()
@click.option(
    "--rules",
    "rule_list",
    required=True,
    help="Rules separated by commas, parameters behind colons: stochastic,lenient:leniency=0.5. The first is "
    "what the others are held against.",
)
@click.option("--seeds", default="0:10", show_default=True, help="FIRST:END, or seeds separated by commas.")
@click.option("--prompt", "prompts", multiple=True, help="What to ask the target (repeatable).")
@click.option("--prompts", "file", type=click.Path(path_type=Path), help="A file with a prompt on each line.")
@click.option(
    "--resume/--fresh", default=True, help="Take finished runs from the database, or run all again."
)
@click.option(
    "--batch",
    type=int,
    default=BATCH,
    show_default=True,
    help="Runs that share the models' passes (docs/batching.md); 1 runs each by itself.",
)
@generation_options
@common
@click.pass_obj
def compare(
    group_db: Path | None,
    db: Path | None,
    as_json: bool,
    rule_list: str,
    seeds: str,
    prompts: tuple[str, ...],
    file: Path | None,
    resume: bool,
    batch: int,
    logit_bias: tuple[str, ...],
    **options: object,
) -> int:
    """Run rules over many seeds and prompts, and say how surely they differ.

    Every run is stored. Ctrl-C stops; the same command goes on where it stopped.
    """
    asked = prompts + (prompts_in(file) if file else ())
    if not asked:
        raise BadSetting("There is no prompt.", "Give --prompt TEXT, or --prompts FILE.")
    settings = request_of(options | {"prompt": "-", "seed": 0, "rule": "argmax", "param": ()}, logit_bias)
    within("batch", batch, 1, MAX_LANES)
    comparison = Comparison(settings, rules_in(rule_list), asked, seeds_in(seeds))
    click.echo(f"{len(comparison.groups)} pairs of prompt and seed, {comparison.runs} runs", err=True)
    with Store.open(db or group_db) as store, closing(Controller(store)) as controller:
        many = Many(store, controller.worker, comparison, resume, batch)
        complete = follow(many)
        body = many.table()
        report.emit(body) if as_json else click.echo(text(body))
    if many.unbatched:
        click.echo(f"Run one by one: {many.unbatched}.", err=True)
    if not complete:
        click.echo(f"Stopped after {body['done']} of {body['runs']}; run it again to go on.", err=True)
    return 0 if complete else 130


def follow(many: Many) -> bool:
    """Run it, a line a run on stderr; False after Ctrl-C."""
    try:
        return many.run(said)
    except KeyboardInterrupt:
        many.stop()
        return False


def said(step: Step) -> None:
    place = f"prompt {step.prompt + 1}, seed {step.seed}, {step.rule}"
    click.echo(f"{step.number} of {step.total}: {place}", err=True)


def rules_in(text: str) -> tuple[Asked, ...]:
    """`a,b:x=1:y=2` as rules with parameters; a rule may be a file. Raises BadSetting."""
    return tuple((own_rules.named(name), params) for name, params in rule_parts(text))


def prompts_in(file: Path) -> tuple[str, ...]:
    """The file's lines that are not empty. Raises BadSetting for one that cannot be read."""
    try:
        text = file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise BadSetting(
            f"{file} cannot be read: {why}.", "Give a text file, a prompt on each line."
        ) from error
    return lines_of(text)


def text(body: dict) -> str:
    """The comparison as a table: a block a score, a line a rule."""
    lines = [f"{body['done']} of {body['runs']} runs, {body['found']} of them found in the database"]
    for name, meaning in body["scores"].items():
        lines += ["", f"{name}: {meaning}"]
        for rule in body["rules"]:
            score = rule["scores"][name]
            line = f"  {rule['rule']:<28} {estimate(score['mean'])}"
            if "difference" in score:
                line += f"   against {body['rules'][0]['rule']}: {estimate(score['difference'], signed=True)}"
            lines.append(line)
    lines += [
        "",
        *(f"{rule['rule']}: {rule['watermark']}" for rule in body["rules"] if rule["watermark"]),
        f"intervals: {body['level']:.0%}, Student's t; differences in pairs of equal prompt and seed",
    ]
    lines += [
        f"{rule['rule']} runs as {rule['ran']}: {rule['rule_reason']}"
        for rule in body["rules"]
        if rule["rule_reason"]
    ]
    if body["differing_versions"]:
        lines.append(f"the runs differ in their versions of {', '.join(body['differing_versions'])}")
    return "\n".join(lines)


def estimate(found: dict, signed: bool = False) -> str:
    """A mean, its interval and the number behind it."""
    if found["mean"] is None:
        return "n/a".rjust(9)
    sign = "+" if signed else ""
    shown = f"{found['mean']:{sign}9.4f}"
    if found["low"] is not None:
        shown += f"  [{found['low']:{sign}.4f}, {found['high']:{sign}.4f}]"
    return f"{shown}  n={found['n']}"
