"""Draft and target argmax the same Gumbel noise, so they agree as often as their rows let them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from engine.core import rows
from engine.core.types import Address, Block, Check, Coins, PositionLaw, Row, Rule, Verdict
from engine.rules import laws, tokenwise


@dataclass(frozen=True)
class Gumbel(Rule):
    """The output depends on the seed and the target alone: any drafter, any k, the same text."""

    id = "gumbel"
    title = "Shared Gumbel noise"
    meaning = "Draft and target pick their tokens with the same noise; the draft stands if both picked it."
    formula = "x = argmax(log q + g), y = argmax(log p + g); accept iff x = y; else emit y"
    source = "Daliri et al. 2024, arXiv 2408.07978"
    closed_form = "sum_x 1 / sum_v max(p_v/p_x, q_v/q_x)"
    lossless = True

    def draft(self, row: Row, coins: Coins, at: Address) -> int:
        return coins.race(row, noise(at))

    def target_draw(self, row: Row, coins: Coins, at: Address) -> int:
        return coins.race(row, noise(at))

    def judge(self, block: Block, coins: Coins) -> Verdict:
        def picked(i: int) -> int:
            return self.target_draw(block.p[i], coins, block.at("target", i))

        def test(i: int) -> Check:
            agree = picked(i) == block.tokens[i]
            return Check(float(agree), None, agree)

        return tokenwise.judge(block, coins, test, lambda i: tokenwise.Refill(picked(i)), bonus=picked)

    def position_law(self, p: Row, q: Row) -> PositionLaw:
        return laws.as_target(p, q, agreement(p, q))


def noise(at: Address) -> Address:
    """The noise of a position. Never a second one for a later attempt: what the drafts were must not tell."""
    return replace(at, purpose="noise", attempt=0)


def agreement(p: Row, q: Row) -> float:
    """sum_x 1 / sum_v max(p_v/p_x, q_v/q_x), in O(m log m): sorted by p/q, the maximum changes sides once."""
    _, pv, qv = rows.pair(p, q)
    both = (pv > 0) & (qv > 0)
    p_alone, q_alone = pv[~both].sum(), qv[~both].sum()
    if not both.all():
        pv, qv = pv[both], qv[both]
    order = np.argsort(pv / qv)
    px, qx = pv[order], qv[order]
    # For v with p_v/q_v above p_x/q_x the maximum is p_v/p_x, for those below it is q_v/q_x.
    p_above = p_alone + px.sum() - np.cumsum(px)
    q_below = q_alone + np.cumsum(qx)
    return float((1.0 / (p_above / px + q_below / qx)).sum())
