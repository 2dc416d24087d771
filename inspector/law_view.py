"""The law meter: what each rule emits at one position, exactly, beside what the target wants there."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from engine import rules
from engine.core import rows
from engine.core.events import Law, Round
from engine.core.position_law import position_law, tv_to
from engine.core.types import PositionLaw, Row, Rule
from engine.errors import BadSetting
from inspector.view_model import short

#: Tokens a law lists, by the largest of p, q and any rule's law.
LISTED = 12


def drafts_otherwise(rule_id: str) -> bool:
    """Whether the rule owns the draft's draw too, so that under it other tokens would have been drafted."""
    rule = rules.RULES.get(rule_id)
    return rule is not None and type(rule).draft is not Rule.draft


def laws_at(done: Round, i: int, own: Rule) -> dict:
    """The law of every rule where draft i of a round stood (see `laws_view`); `own` is the session's rule
    with its parameters, and stands in the place of its defaults. Raises BadSetting for a place without a
    draft."""
    block = done.block
    if not 0 <= i < block.k:
        raise BadSetting(
            f"Draft {i} is not there: round {done.index} drafted {block.k}.",
            "Choose a drafted token; where nothing was drafted every lossless rule draws from p.",
        )
    shown = rules.RULES | {own.id: own}
    taken = {
        line.rule: line.laws[i]
        for line in done.matrix
        if i < len(line.laws)
        and line.laws[i] is not None
        and line.rule in shown
        and line.params == shown[line.rule].changed
    }
    return laws_view(block.p[i], block.q[i], shown.values(), taken)


def laws_view(p: Row, q: Row, rules: Iterable[Rule], taken: dict[str, Law] | None = None) -> dict:
    """One line a rule, and the tokens worth showing.

    `taken` holds the laws' numbers from when the rows were whole; they win over those of cut rows.
    `missing` is the mass that storage cut from the two rows (0: all is exact; else a bar, and a number
    that was not taken, may be off by as much). A rule without a law here has `why` in its place.
    """
    rules = tuple(rules)
    found = {rule.id: position_law(rule, p, q) for rule in rules}
    known = {name: law for name, law in found.items() if law is not None}
    ids, pv, qv = rows.pair(p, q)
    peak = np.maximum.reduce([pv, qv, *(law.probs for law in known.values())])
    listed = ids[np.lexsort((ids, -peak))[:LISTED]]
    return {
        "tokens": listed.tolist(),
        "p": [short(p.prob(token)) for token in listed.tolist()],
        "q": [short(q.prob(token)) for token in listed.tolist()],
        "missing": p.tail + q.tail,
        "rules": [line(rule, found[rule.id], p, listed, (taken or {}).get(rule.id)) for rule in rules],
    }


def line(rule: Rule, law: PositionLaw | None, p: Row, listed: np.ndarray, taken: Law | None) -> dict:
    """A rule's law over the listed tokens, its TV to p and its mean acceptance."""
    if law is None:
        why = (
            "judges the block as a whole; its law depends on drafts that were not made"
            if rule.looks_ahead
            else "too many tokens here to enumerate, and the rule has no closed form"
        )
        return {"id": rule.id, "why": why}
    probs = law.probs[np.searchsorted(law.ids, listed)]
    return {
        "id": rule.id,
        "tv": taken.tv if taken else tv_to(law, p),
        "acceptance": taken.acceptance if taken else law.acceptance,
        "exact": taken is not None or p.exact,
        "probs": [short(float(prob)) for prob in probs],
    }
