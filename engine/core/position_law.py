"""The exact law of one position under any rule: in closed form, by enumeration, or honestly unknown."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from engine.core import law, rows
from engine.core.types import Address, Block, PositionLaw, Row, Rule

#: Rows with more tokens than this between them are not enumerated for a screen.
MAX_TOKENS = 200


def position_law(rule: Rule, p: Row, q: Row) -> PositionLaw | None:
    """What the rule emits where the target's row is p and one draft is drawn from q.

    None when the rows are too wide for a rule without a closed form, and for a rule that looks ahead:
    its law belongs to a block.
    """
    if rule.looks_ahead:
        return None
    return rule.position_law(p, q) or enumerated(rule, p, q)


def enumerated(rule: Rule, p: Row, q: Row) -> PositionLaw | None:
    """The same by running the rule over every way its coins can fall; None beyond MAX_TOKENS."""
    ids = np.union1d(p.ids, q.ids)
    if len(ids) > MAX_TOKENS:
        return None
    emitted: dict[int, float] = defaultdict(float)
    acceptance = 0.0

    def one_draft(coins: law.BranchingCoins) -> tuple[int, bool]:
        x = rule.draft(q, coins, Address("draft", 0))
        verdict = rule.judge(Block(0, (x,), (q,), (p, p), (0, 0)), coins)
        return (x, True) if verdict.n_accepted else (verdict.next_token, False)

    for (token, accepted), weight in law.branches(one_draft):
        emitted[token] += weight
        acceptance += weight * accepted
    return PositionLaw(ids, np.array([emitted[i] for i in ids.tolist()]), acceptance)


def tv_to(found: PositionLaw, p: Row) -> float:
    """Total variation distance between the law and p."""
    if found.probs is p.probs:
        return 0.0
    same = found.ids is p.ids or (len(found.ids) == len(p.ids) and np.array_equal(found.ids, p.ids))
    target = p.probs if same else rows.dense(p, max(p.vocab, int(found.ids[-1]) + 1))[found.ids]
    return float(np.abs(found.probs - target).sum() / 2)
