"""What the engine says of the Lab's small tables: the page computes them itself, and asks if it is right.

The law of two tokens is `emitted_law` of the very rule that sessions run. A rule that looks at its drafts one
by one cannot let a third draft change the first two tokens, so at most two are drafted for it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from engine import rules
from engine.core import law, rows
from engine.core.position_law import position_law
from engine.core.types import Rule
from engine.errors import BadSetting

FEWEST, MOST, MOST_DRAFTS, LENGTH = 2, 8, 4, 2

#: Outcomes of a block that are followed for a rule that looks ahead; more take seconds.
MOST_OUTCOMES = 5000
#: Tokens up to which two are enumerated, where that costs more than usual: two draws a position, or volumes.
FEW = {"fault-string-match": 4, "sampler-match": 6, "gumbel": 4}

MEASURED = Path(__file__).resolve().parent.parent / "assets" / "lab" / "temperatures.json"


def law_of(request: dict) -> dict:
    """The engine's numbers for a request of p, q, k, rule and params.

    Returns `singles` [V], `pairs` [V][V] or None with `why`, and `acceptance` at one position, None for a
    rule that looks ahead. Raises BadSetting or BadRow for anything that is no table.
    """
    p, q = table_row("p", request.get("p")), table_row("q", request.get("q"))
    if len(p) != len(q):
        raise BadSetting(f"p has {len(p)} tokens and q has {len(q)}.", "Give both the same number.")
    k = request.get("k")
    if k not in range(1, MOST_DRAFTS + 1):
        raise BadSetting(f"k is {k!r}.", f"Give a whole number from 1 to {MOST_DRAFTS}.")
    params = request.get("params") or {}
    if not isinstance(params, dict) or not all(map(is_number, params.values())):
        raise BadSetting(f"params is {params!r}.", "Give a number for each name.")
    return _law(str(request.get("rule")), tuple(sorted(params.items())), p, q, int(k))


def table_row(name: str, values: object) -> tuple[float, ...]:
    """A row of the table: 2 to 8 probabilities. Raises BadSetting, or BadRow where they do not sum to 1."""
    if not isinstance(values, Sequence) or isinstance(values, str) or not FEWEST <= len(values) <= MOST:
        raise BadSetting(f"{name} is no row of the Lab.", f"Give {FEWEST} to {MOST} probabilities.")
    if not all(map(is_number, values)):
        raise BadSetting(f"{name} holds something that is no number.", "Give probabilities from 0 to 1.")
    row = tuple(float(value) for value in values)
    rows.from_dense(np.array(row))
    return row


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


@lru_cache(maxsize=256)
def _law(rule_id: str, params: tuple, p: tuple[float, ...], q: tuple[float, ...], k: int) -> dict:
    rule = rules.get(rule_id, **dict(params))
    closed = position_law(rule, *(rows.from_dense(np.array(row)) for row in (p, q)))
    acceptance = None if closed is None else closed.acceptance
    why = too_many(rule, len(p), k)
    singles = pairs = None
    if not why:
        pairs = pairs_of(rule, p, q, k)
        singles = pairs.sum(axis=1)
    elif closed is not None:
        singles = np.zeros(len(p))
        singles[closed.ids] = closed.probs
    return {
        "singles": None if singles is None else singles.tolist(),
        "pairs": None if pairs is None else pairs.tolist(),
        "acceptance": acceptance,
        "why": why,
    }


def pairs_of(rule: Rule, p: tuple[float, ...], q: tuple[float, ...], k: int) -> np.ndarray:  # float64[V, V]
    p_row, q_row = np.array(p), np.array(q)
    drafted = k if rule.looks_ahead else min(k, LENGTH)
    found = law.emitted_law(rule, lambda prefix: p_row, lambda prefix: q_row, drafted, LENGTH)
    pairs = np.zeros((len(p), len(p)))
    for tokens, prob in found.items():
        pairs[tokens] = prob
    return pairs


def too_many(rule: Rule, tokens: int, k: int) -> str:
    """Why the engine is not asked for pairs; "" where it is."""
    outcomes = (2 * tokens) ** k
    if rule.looks_ahead and outcomes > MOST_OUTCOMES:
        return f"a block of {k} drafts over {tokens} tokens has {outcomes:,} outcomes".replace(",", " ")
    if tokens > FEW.get(rule.id, MOST):
        return f"the engine follows {rule.id} over {FEW[rule.id]} tokens at most"
    return ""


def temperatures() -> dict:
    """The acceptance rates over temperatures that bench/lab_temperatures.py measured."""
    return json.loads(MEASURED.read_text("utf-8"))


def lab_functions() -> list[Callable[[dict], dict]]:
    """What the screen's Lab may ask for; each takes and returns a dict of plain JSON types."""

    def lab_law(request: dict) -> dict:
        return law_of(request)

    def lab_temperatures(request: dict) -> dict:
        return temperatures()

    return [lab_law, lab_temperatures]
