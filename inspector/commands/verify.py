"""The commands that put a rule to the test: `verify` on a pair of models, `check-rule` by its exact law."""

from __future__ import annotations

import sys
from contextlib import closing

import click

from engine import rules, verification
from engine.errors import BadSetting, EngineError
from engine.rules import own
from engine.verification import DEFAULTS, Verification
from engine.worker import Worker
from inspector import report
from inspector.commands.options import model_options, request_of
from inspector.rule_report import rule_object, rule_text
from inspector.verify_report import verify_object, verify_text

#: What verify asks when nothing is said, where that is not what `run` asks.
DEFAULT_MAP = {
    "temperature": DEFAULTS.sampling.temperature,
    "top_k": DEFAULTS.sampling.top_k,
    "k": DEFAULTS.k,
}

VERIFY_EXIT = (
    "Exit status: 0 consistent, 1 not the target's distribution or acceptance off its closed form, 2 wrong "
    "input, 130 stopped."
)
CHECK_EXIT = "Exit status: 0, but 1 where the rule claims to be lossless and is not; 2 wrong input."


@click.command(epilog=VERIFY_EXIT, context_settings={"default_map": DEFAULT_MAP})
@click.option("--prompt", help="The prefix that is continued. Default: a few tosses of a coin, raw.")
@click.option("--rule", default=DEFAULTS.rule, show_default=True, help="A rule's id, or a file of your own.")
@click.option("--param", multiple=True, metavar="NAME=VALUE", help="A parameter of the rule.")
@click.option("--samples", type=int, default=verification.SAMPLES, show_default=True, help="Continuations.")
@click.option("--seed", type=int, default=DEFAULTS.seed, show_default=True, help="That of the first sample.")
@model_options
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def verify(as_json: bool, samples: int, logit_bias: tuple[str, ...], **options: object) -> int:
    """Test whether a run follows the target's distribution: first tokens, pairs, support, acceptance.

    Draws many continuations of one prompt through the whole loop, sample i under seed + i. Nothing is stored.
    """
    if options["prompt"] is None:
        options |= {"prompt": DEFAULTS.prompt, "raw": True}
    started = verification.planned(request_of(options, logit_bias), samples)
    check = Verification(started, samples)
    with closing(Worker()) as worker:
        worker.submit(check)
        follow(worker, check)
    if check.status == "stopped":
        raise click.Abort
    if check.status == "failed":
        raise EngineError(check.reason)
    body = verify_object(check)
    if started.reason:
        click.echo(f"{started.asked} runs as {started.rule}: {started.reason}", err=True)
    report.emit(body) if as_json else click.echo(verify_text(body))
    return 0 if body["result"]["passed"] else 1


def follow(worker: Worker, check: Verification) -> None:
    """Wait for a verification, its progress on stderr. Ctrl-C stops it."""
    on_terminal, said = sys.stderr.isatty(), ""
    try:
        while not check.done.wait(0.2):
            # A log needs no line for every sample.
            status = check.progress if on_terminal else check.progress.lstrip("0123456789 ")
            if status != said:
                click.echo(f"\r\x1b[K{status}" if on_terminal else status, nl=not on_terminal, err=True)
                said = status
    except KeyboardInterrupt:
        worker.stop(check)
        check.done.wait()
    if on_terminal:
        click.echo("\r\x1b[K", nl=False, err=True)


@click.command("check-rule", epilog=CHECK_EXIT)
@click.argument("file")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def check_rule(file: str, as_json: bool) -> int:
    """Load a rule of your own from a Python FILE and take its exact law on random tables.

    The file is run, so name only one you trust. No model is needed.
    """
    if not own.is_file(file):
        raise BadSetting(f"{file} is no Python file.", "Give the path of a file that ends in .py.")
    found = own.find(rules.named(file))
    report.emit(rule_object(found)) if as_json else click.echo(rule_text(found))
    return int(found.report.contradicted)
