"""Modified rejection sampling: the rule of the papers."""

from __future__ import annotations

from dataclasses import dataclass

from engine.core.types import Block, Coins, PositionLaw, Row, Rule, Verdict
from engine.rules import laws, tokenwise


@dataclass(frozen=True)
class Stochastic(Rule):
    id = "stochastic"
    title = "Rejection sampling"
    meaning = "Keep the draft with probability p/q; otherwise draw from what p has and q lacks."
    formula = "accept iff u q(x) < p(x); else draw from norm((p - q)+)"
    source = "Leviathan et al. 2023, arXiv 2211.17192; Chen et al. 2023, arXiv 2302.01318"
    closed_form = "sum min(p, q)"
    lossless = True

    def judge(self, block: Block, coins: Coins) -> Verdict:
        return tokenwise.judge(
            block,
            coins,
            test=lambda i: tokenwise.ratio_test(block, coins, i),
            refill=tokenwise.refill_from_residual(block, coins),
        )

    def position_law(self, p: Row, q: Row) -> PositionLaw:
        return laws.refilled(p, q, laws.ratio, laws.excess)
