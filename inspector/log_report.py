"""A server's log, read: `doctor --log FILE`."""

from __future__ import annotations

import sys
from pathlib import Path

from engine import rules
from engine.core import log_check, log_reader
from engine.core.log_check import Reading
from engine.errors import BadSetting

MAX_BYTES = 256 * 2**20


def log_object(name: str) -> dict:
    """What `doctor --log FILE --json` prints; "-" reads standard input. Raises BadSetting for a file that
    cannot be read, or that tells of no run."""
    text = log_text(name)
    forms = {rule.id: rule.closed_form for rule in rules.RULES.values() if not rule.faulty}
    readings = [log_check.check(entry, forms) for entry in log_reader.read(text)]
    if not readings:
        raise BadSetting(
            f"{'Standard input' if name == '-' else name} tells of no speculative run.",
            "It needs lines '[Speculative acceptance] rule=… positions_tested=… accepted=…', or the timings "
            "of llama-server, with draft_n.",
        )
    return {"log": name, "runs": [reading_object(reading) for reading in readings]}


def log_text(name: str) -> str:
    """The log as text; bytes that are no UTF-8 are replaced."""
    try:
        if name == "-":
            data = sys.stdin.buffer.read(MAX_BYTES + 1)
        else:
            with Path(name).expanduser().open("rb") as file:
                data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise BadSetting(
            f"{name} cannot be read: {error.strerror}.", "Give a log file, or - for standard input."
        ) from None
    if len(data) > MAX_BYTES:
        raise BadSetting(
            f"{name} is larger than {MAX_BYTES // 2**20} MB.",
            "Pipe only its lines about acceptance: grep them.",
        )
    return data.decode("utf-8-sig", errors="replace")


def reading_object(reading: Reading) -> dict:
    entry = reading.entry
    return {
        "line": entry.line,
        "kind": entry.kind,
        "named": entry.rule,
        "rule": reading.rule,
        "values": entry.values,
        "per_position_acceptance": reading.rate,
        "rates": {key: value for key, (value, _) in log_check.rates(entry).items()},
        "closed_forms": [
            {"name": fit.form, "value": fit.value, "p_value": fit.p_value, "sits": fit.sits}
            for fit in reading.fits
        ],
        "belongs": reading.belongs,
        "on_its_form": reading.on_its_form,
        "rules_there": list(reading.rules_there),
        "confused": list(reading.confused),
        "impossible": list(reading.impossible),
        "notes": [*entry.notes, *remarks(reading)],
        "sound": reading.sound,
    }


def remarks(reading: Reading) -> list[str]:
    """What is possible, and worth a look."""
    entry = reading.entry
    proposed, accepted, rounds = (entry.get(key) for key in ("proposed", "accepted", "rounds"))
    told = []
    if entry.kind == "timings" and proposed and accepted is not None:
        told.append(
            "timings do not say how many drafts were tested: this acceptance is accepted / proposed, which "
            "falls with the number of drafts a round, and belongs to no closed form"
        )
    if proposed and proposed == accepted and proposed >= 10:
        told.append("every draft was accepted: see whether rejected drafts are counted at all")
    predicted = entry.get("predicted_n")
    if entry.kind == "timings" and None not in (predicted, accepted, rounds):
        # The token sampled while the prompt was read belongs to no round.
        outside = predicted - accepted - rounds - 1
        if rounds and outside > 0:
            told.append(f"{outside:g} of {predicted:g} tokens came in rounds without drafts")
    if entry.kind == "timings" and proposed and rounds and rounds > proposed:
        told.append(f"{rounds:g} rounds proposed only {proposed:g} drafts: some rounds drafted nothing")
    return told


def log_lines(body: dict) -> str:
    """The object as people read it."""
    return "\n".join(line for run in body["runs"] for line in run_lines(run))


def run_lines(run: dict) -> list[str]:
    lines = [f"line {run['line']}: {heading(run)}"]
    if run["per_position_acceptance"] is not None:
        values = run["values"]
        lines.append(
            f"  accepts {values['accepted']:g} of {values['positions_tested']:g} tested = "
            f"{run['per_position_acceptance']:.4f}"
        )
    elif "acceptance_rate" in run["rates"]:
        values = run["values"]
        lines.append(
            f"  accepts {values['accepted']:g} of {values['proposed']:g} proposed = "
            f"{run['rates']['acceptance_rate']:.4f}"
        )
    lines += [form_line(form, run) for form in run["closed_forms"]]
    lines += [f"  {sentence}" for sentence in conclusion(run)]
    for name, word in (("impossible", "impossible"), ("confused", "confused"), ("notes", "note")):
        lines += [f"  {word}: {sentence}" for sentence in run[name]]
    return lines


def heading(run: dict) -> str:
    if run["kind"] == "timings":
        return f"llama-server timings, drafts by {run['named']}" if run["named"] else "llama-server timings"
    if not run["named"]:
        return "no rule named"
    known = "" if run["rule"] else " (no rule of that name is known here)"
    return f"rule {run['named']}{known}"


def form_line(form: dict, run: dict) -> str:
    own = " (its own)" if form["name"] == run["belongs"] else ""
    word = "sits on" if form["sits"] else "is off"
    return f"  {word} {form['name']} {form['value']:.4f}{own}, p = {form['p_value']:.2g}"


def conclusion(run: dict) -> list[str]:
    """Whether the rule named is the one that ran, or which one it may have been."""
    there = ", ".join(run["rules_there"])
    if run["on_its_form"]:
        return [f"the rate is that of {run['rule']}"]
    if run["on_its_form"] is False:
        instead = f"; it is that of {there}" if there else ""
        return [f"the rate is not that of {run['rule']}{instead}"]
    if not run["closed_forms"]:
        return ["no closed form is printed beside it, so the rule cannot be told from the rate"]
    if run["rule"]:
        return [f"the closed form of {run['rule']} is not among those printed"]
    return [
        f"the rate is that of {there}" if there else "the rate is that of no rule that accepts by p and q"
    ]


def log_status(body: dict) -> int:
    """1 where a run contradicts itself or its rule, else 0."""
    return int(not all(run["sound"] for run in body["runs"]))
