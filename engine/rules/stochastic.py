"""Modified rejection sampling: the rule of the papers."""

from __future__ import annotations

from dataclasses import dataclass

from engine.core import rows
from engine.core.types import Block, Coins, Rule, Verdict
from engine.rules import tokenwise


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
            refill=lambda i: tokenwise.draw_residual(block, coins, i, rows.residual(block.p[i], block.q[i])),
        )
