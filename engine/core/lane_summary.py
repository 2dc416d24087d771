"""One lane of a comparison in numbers: speed, acceptance, faithfulness, likelihood, time.

Folds over a lane's rounds. Every number comes with what it takes to hold it against another lane's: an
interval where it is a mean over rounds, positions or tokens, and a reason where there is none. Intervals
take rounds (positions, tokens) of one session as independent; many seeds say more (engine.core.paired).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.core import paired, session_stats, stats
from engine.core.events import Round
from engine.core.scores import laws
from engine.core.types import Rule


@dataclass(frozen=True)
class Column:
    """A column of the table. `better` is "high" or "low", or "" where neither end is the better one."""

    id: str
    title: str
    better: str
    meaning: str


COLUMNS = tuple(
    Column(*column)
    for column in (
        (
            "tokens_per_target_pass",
            "tokens / pass",
            "high",
            "Emitted tokens over target passes. Interval: Student's t over rounds.",
        ),
        (
            "per_position_acceptance",
            "accepted / tested",
            "high",
            "Accepted over tested drafts. Interval: Wilson.",
        ),
        (
            "expected_acceptance",
            "its law expects",
            "",
            "The rule's closed form at every tested draft, averaged: what acceptance should be near.",
        ),
        (
            "sum_min",
            "sum min(p, q)",
            "",
            "The most that any lossless token-wise rule could accept at these drafts, averaged.",
        ),
        (
            "rescued",
            "rescued",
            "",
            "Accepted drafts that were not the target's own draw, over accepted drafts. Interval: Wilson.",
        ),
        (
            "law_tv",
            "TV to p",
            "low",
            "How far the law of what the rule emits is from p, mean over tested positions; 0 is lossless. "
            "Interval: Student's t over positions.",
        ),
        ("law_tv_max", "TV at worst", "low", "The same at the position where it is largest."),
        (
            "log_likelihood",
            "ln p / token",
            "",
            "Log-likelihood of the text under the target's p, per token, in nats. Higher is likelier, not "
            "better: taking the argmax everywhere is likeliest. Interval: Student's t over tokens.",
        ),
        (
            "ms_per_token",
            "ms / token",
            "low",
            "Drafting, target passes and judging over emitted tokens. Interval: of a ratio, over rounds.",
        ),
        ("draft_ms", "draft ms", "", "Milliseconds of drafting per emitted token."),
        ("target_ms", "target ms", "", "Milliseconds of target passes per emitted token."),
        ("judge_ms", "judge ms", "", "Milliseconds of judging per emitted token."),
    )
)

#: What a number is: `value`, `low` and `high` (None without an interval), `n` behind it, `why` it is missing.
Cell = dict


def cell(
    value: float | None, low: float | None = None, high: float | None = None, n: int = 0, why=""
) -> Cell:
    return {"value": value, "low": low, "high": high, "n": n, "why": why}


def summary(rounds: Sequence[Round], rule: Rule | None) -> dict:
    """`cells` by the ids of COLUMNS, `lengths` (rounds that accepted 0, 1, ... drafts), and `worst`: round
    and draft where the law is furthest from p, None where the rule has no law or keeps to p everywhere.

    `rule` is the lane's rule as it ran; None where it came from a file that is not loaded.
    """
    counters = stats.counters(rounds)
    tested = session_stats.Share(counters.accepted, counters.positions_tested)
    own = None if rule is None else laws(rounds, rule)
    law_cells, worst = of_laws(rounds, own, why_no_law(rule))
    cells = {
        "tokens_per_target_pass": mean_cell([len(done.emitted) for done in rounds], "no round", least=0.0),
        "per_position_acceptance": share_cell(tested, "no draft was tested"),
        **law_cells,
        "sum_min": cell(counters.closed_form_sum_min, n=tested.whole, why="no draft was tested"),
        "rescued": share_cell(
            session_stats.Share(counters.rescued, counters.accepted), "no draft was accepted"
        ),
        "log_likelihood": likelihood_cell(rounds),
        **times(rounds),
    }
    return {
        "cells": {column.id: named(cells[column.id]) for column in COLUMNS},
        "lengths": [one["part"] for one in session_stats.lengths(rounds)],
        "worst": worst,
    }


def named(found: Cell) -> Cell:
    """A cell that has a value needs no reason."""
    return found if found["value"] is None else found | {"why": ""}


def mean_cell(values: Sequence[float], why: str, least: float = -math.inf, most: float = math.inf) -> Cell:
    """A mean with its t interval, cut to what the values can be."""
    found = paired.mean(values)
    if found.low is None:
        return cell(found.mean, n=found.n, why=why)
    return cell(found.mean, max(least, found.low), min(most, found.high), found.n, why)


def share_cell(found: session_stats.Share, why: str) -> Cell:
    return cell(found.rate, *(found.interval or (None, None)), found.whole, why)


def why_no_law(rule: Rule | None) -> str:
    if rule is None:
        return "the rule came from a file that is not loaded"
    if rule.looks_ahead:
        return "the rule judges whole blocks, so no position has a law of its own"
    return "the rows were cut for storage, or are too wide for a rule without a closed form"


def of_laws(rounds: Sequence[Round], own: list | None, why: str) -> tuple[dict[str, Cell], dict | None]:
    """The three columns that come from the rule's own law, and the place where it is worst."""
    if not own:
        missing = cell(None, why="no draft was tested" if own == [] else why)
        return dict.fromkeys(("expected_acceptance", "law_tv", "law_tv_max"), missing), None
    places = [{"round": done.index, "pos": i} for done in rounds for i in range(done.n_tested)]
    tv = [found.tv if found.tv > ROUNDING_TV else 0.0 for found in own]
    at = int(np.argmax(tv))
    expected = math.fsum(found.acceptance for found in own) / len(own)
    return {
        "expected_acceptance": cell(expected, n=len(own)),
        "law_tv": mean_cell(tv, why, 0.0, 1.0),
        "law_tv_max": cell(tv[at], n=len(own)),
    }, places[at] if tv[at] > 0 else None


#: Below this a distance to p is the rounding of a sum.
ROUNDING_TV = 1e-9


def likelihood_cell(rounds: Sequence[Round]) -> Cell:
    """ln p of the emitted tokens, per token."""
    probs = [done.block.p[i].prob(token) for done in rounds for i, token in enumerate(done.emitted)]
    if any(prob <= 0 for prob in probs):
        return cell(None, n=len(probs), why="a token has no mass under p: its likelihood is 0")
    return mean_cell([math.log(prob) for prob in probs], "no token")


STAGES = ("draft", "target", "judge")


def times(rounds: Sequence[Round]) -> dict[str, Cell]:
    """Milliseconds per emitted token, in all and by stage, without the matrix, which only this tool makes."""
    emitted = [len(done.emitted) for done in rounds]
    stages = {name: [getattr(done.times, name) for done in rounds] for name in STAGES}
    whole = [sum(ms) for ms in zip(*stages.values(), strict=True)]
    if not sum(whole) or not sum(emitted):
        why = "no model ran for it" if rounds else "no round"
        return {name: cell(None, why=why) for name in ("ms_per_token", *(f"{s}_ms" for s in STAGES))}
    per_token = {f"{name}_ms": cell(sum(ms) / sum(emitted), n=sum(emitted)) for name, ms in stages.items()}
    return {"ms_per_token": ratio_cell(whole, emitted), **per_token}


def ratio_cell(above: Sequence[float], below: Sequence[float]) -> Cell:
    """sum above / sum below over rounds, with the interval of a ratio (linear part; Cochran 1977, 2.11)."""
    n, ratio = len(above), math.fsum(above) / math.fsum(below)
    if n < 2:
        return cell(ratio, n=n)
    rest = math.fsum((a - ratio * b) ** 2 for a, b in zip(above, below, strict=True)) / (n - 1)
    half = paired.t_quantile(0.975, n - 1) * math.sqrt(rest / n) / (math.fsum(below) / n)
    return cell(ratio, max(0.0, ratio - half), ratio + half, n)


def best(lines: Sequence[dict]) -> dict[str, dict]:
    """Which lanes are best in each column that has a better end, as {"lanes": indexes, "why": ""}.

    A lane is best where its value is at the better end and its interval apart from that of every lane with
    another value. Where it is not, no lane is, and `why` says so. Equal values are best together.
    """
    return {
        column.id: best_in([line["cells"][column.id] for line in lines], column.better)
        for column in COLUMNS
        if column.better
    }


def best_in(cells: Sequence[Cell], better: str) -> dict:
    there = [i for i, found in enumerate(cells) if found["value"] is not None]
    if len(there) < 2:
        return {"lanes": [], "why": ""}
    pick = max if better == "high" else min
    end = pick(cells[i]["value"] for i in there)
    first = [i for i in there if cells[i]["value"] == end]
    others = [i for i in there if i not in first]
    if not others:
        return {"lanes": [], "why": "all lanes are equal here"}
    if any(overlap(cells[i], cells[j]) for i in first for j in others):
        return {"lanes": [], "why": "the intervals overlap, so none is marked"}
    return {"lanes": first, "why": ""}


def overlap(a: Cell, b: Cell) -> bool:
    """Whether two intervals meet; a number without one is a point."""
    low_a, high_a = (a["value"], a["value"]) if a["low"] is None else (a["low"], a["high"])
    low_b, high_b = (b["value"], b["value"]) if b["low"] is None else (b["low"], b["high"])
    return low_a <= high_b and low_b <= high_a
