"""The options that commands share, and how they become a request."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from engine import session
from engine.core.types import ORDERS, SAMPLING_LIMITS, Sampling
from engine.errors import BadSetting
from inspector import own_rules
from inspector.many_form import assignment

DEFAULTS = session.Request(prompt="")

#: The exit status for how a session ended.
EXITS = {"finished": 0, "stopped": 130}


def common(command: Callable) -> Callable:
    """The options every headless command has."""
    db = click.option("--db", type=click.Path(path_type=Path), help="Database file.")
    return db(click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")(command))


def sampling_options(command: Callable) -> Callable:
    """One option for each field of Sampling, worded as engine.core.types words it."""
    options = [
        click.option("--logit-bias", multiple=True, metavar="ID=BIAS", help="Added to a token's logit."),
        click.option("--order", default=ORDERS[0], show_default=True, help=f"One of {', '.join(ORDERS)}."),
    ]
    for name, (_, _, meaning) in SAMPLING_LIMITS.items():
        default = getattr(DEFAULTS.sampling, name)
        flag = "--" + name.replace("_", "-")
        options.append(
            click.option(flag, type=type(default), default=default, show_default=True, help=meaning)
        )
    for option in options:
        command = option(command)
    return command


def generation_options(command: Callable) -> Callable:
    """What a generation is asked for besides its prompt, rule and seed; given to `request_of`."""
    length = click.option("--max-tokens", type=int, default=DEFAULTS.max_tokens, show_default=True)
    return length(model_options(command))


def model_options(command: Callable) -> Callable:
    """The models and how they draw; given to `request_of`."""
    options = [
        click.option("--raw", is_flag=True, help="Send the prompt as it is, without the chat template."),
        click.option(
            "--target", default=DEFAULTS.target, show_default=True, help="bundled, a folder or a hub id."
        ),
        click.option(
            "--drafter",
            default=DEFAULTS.drafter,
            show_default=True,
            help="self:Nbit, lookup, model:PATH-OR-ID, none.",
        ),
        click.option("--k", type=int, default=DEFAULTS.k, show_default=True, help="Drafted tokens a round."),
        click.option("--stop", multiple=True, help="End the text at this string (repeatable)."),
    ]
    command = sampling_options(command)
    for option in reversed(options):
        command = option(command)
    return command


def exit_status(ends: list[dict]) -> int:
    """The exit status for sessions or lanes by how they ended; names what failed on stderr."""
    for end in ends:
        if end["status"] not in EXITS:
            click.echo(f"Error: session {end['session']} {end['status']}: {end['reason']}", err=True)
    return max(EXITS.get(end["status"], 1) for end in ends)


def request_of(options: dict, logit_bias: tuple[str, ...]) -> session.Request:
    """The options as a request. Raises BadSetting."""
    names = Sampling.__dataclass_fields__.keys() & options.keys()
    bias = tuple((token_id(key), value) for key, value in map(assignment, logit_bias))
    sampling = Sampling(**{name: options[name] for name in names}, logit_bias=bias)
    kept = {name: value for name, value in options.items() if name not in names and name != "param"}
    kept["rule"] = own_rules.named(kept["rule"])
    return session.Request(**kept, params=dict(map(assignment, options["param"])), sampling=sampling)


def token_id(text: str) -> int:
    if not text.isdecimal():
        raise BadSetting(f"{text!r} is no token id.", "Write ID=BIAS, for example 2=-100.")
    return int(text)
