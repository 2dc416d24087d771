"""The comparison's table outside the screen: as CSV for programs and as Markdown for people.

The screen makes the same from the same lines (assets/compare/table.js); a test holds the two together.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence

from engine import rules
from engine.core.lane_summary import COLUMNS, best

LEADING = ("lane", "session", "mode", "rule", "params", "drafter", "k", "seed", "status", "watermark")
LEADING += ("rounds", "tokens")


def as_csv(lines: Sequence[dict]) -> str:
    """One row a lane; numbers to twelve digits, an interval in columns of its own."""
    out = io.StringIO()
    writer = csv.writer(out)
    measured = [f"{column.id}{end}" for column in COLUMNS for end in ("", "_low", "_high")]
    writer.writerow([*LEADING, *measured, "rounds_by_accepted"])
    for i, line in enumerate(lines):
        params = " ".join(f"{name}={value:g}" for name, value in line["params"].items())
        what = [i, line["session"], line["mode"], line["rule"], params, line["drafter"], line["k"]]
        what += [line.get("seed", ""), line["status"], line.get("watermark", "")]
        what += [line["rounds"], line["emitted"]]
        cells = [line["cells"][column.id][part] for column in COLUMNS for part in ("value", "low", "high")]
        lengths = " ".join(map(str, line["lengths"]))
        writer.writerow([*map(plain, what), *("" if n is None else f"{n:.12g}" for n in cells), lengths])
    return out.getvalue()


def plain(value: object) -> object:
    """A text that a spreadsheet would take as a formula, with a quote in front that keeps it a text."""
    formula = isinstance(value, str) and re.match(r"[=+@\t\r-]", value)
    return f"'{value}" if formula and not re.fullmatch(r"-?[\d.]+(e[+-]?\d+)?", value) else value


def as_markdown(lines: Sequence[dict]) -> str:
    """One row a number, one column a lane, the baseline first; the best in bold."""
    marks = best(lines)
    rows = [["", *map(heading, names(lines), lines)], ["---"] * (len(lines) + 1)]
    for column in COLUMNS:
        mark = marks.get(column.id, {"lanes": []})["lanes"]
        texts = [written(line["cells"][column.id]) for line in lines]
        rows.append([column.title, *(f"**{t}**" if i in mark else t for i, t in enumerate(texts))])
    rows.append(["rounds by accepted drafts", *(" ".join(map(str, line["lengths"])) for line in lines)])
    faulty = [
        f"- {n}: {one['watermark']}" for n, one in zip(names(lines), lines, strict=True) if one["watermark"]
    ]
    notes = [
        f"- {column.title}: {marks[column.id]['why']}"
        for column in COLUMNS
        if column.id in marks and marks[column.id]["why"]
    ]
    says = "Bold: best, with an interval apart from all others; intervals at 95 %, within one session each."
    return "\n".join([*map(row, rows), "", says, *notes, *faulty, ""])


def heading(name: str, line: dict) -> str:
    return f"{name} ({'re-judged' if line['mode'] == 'rejudge' else '#' + str(line['session'])})"


def names(lines: Sequence[dict]) -> list[str]:
    """What sets each lane apart: its rule and what it changed of it, then what is not the baseline's."""
    return [name(line, None if i == 0 else lines[0]) for i, line in enumerate(lines)]


def name(line: dict, baseline: dict | None) -> str:
    rule = rules.find(line["rule"])
    defaults = {} if rule is None else {param.name: param.default for param in rule.parameters}
    changed = {n: value for n, value in line["params"].items() if defaults.get(n) != value}
    said = [f"{value:g}" if len(line["params"]) == 1 else f"{n} {value:g}" for n, value in changed.items()]
    parts = [" ".join([line["rule"].partition("@")[0], *said])]
    if baseline is not None:
        parts += [line["drafter"]] if line["drafter"] != baseline["drafter"] else []
        parts += [f"k {line['k']}"] if line["k"] != baseline["k"] else []
    return ", ".join(parts)


def row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(text.replace('|', chr(92) + '|') for text in cells)} |"


def written(cell: dict) -> str:
    """ "0.5123 [0.4012, 0.6234]"; n/a where there is none."""
    if cell["value"] is None:
        return "n/a"
    if cell["low"] is None:
        return four(cell["value"])
    return f"{four(cell['value'])} [{four(cell['low'])}, {four(cell['high'])}]"


def four(value: float) -> str:
    """Four places; what they would round to a false 0 by its size."""
    if value != 0 and abs(value) < 1e-4:
        digits, _, power = f"{value:.1e}".partition("e")
        return f"{digits}e{int(power)}"
    return f"{value:.4f}"
