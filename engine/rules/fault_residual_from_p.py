"""A known bug: after a rejection, draw from p instead of the residual."""

from __future__ import annotations

from dataclasses import dataclass

from engine.core.types import Block, Coins, PositionLaw, Row, Rule, Verdict
from engine.rules import laws, tokenwise


@dataclass(frozen=True)
class FaultResidualFromP(Rule):
    id = "fault-residual-from-p"
    title = "Fault: refill from p"
    meaning = "The right test, but a rejected draft is replaced by a draw from p, which favours what q likes."
    formula = "accept iff u q(x) < p(x); else draw from p"
    source = "a common slip; kept to be seen failing"
    closed_form = "sum min(p, q)"
    faulty = True

    def judge(self, block: Block, coins: Coins) -> Verdict:
        return tokenwise.judge(
            block,
            coins,
            test=lambda i: tokenwise.ratio_test(block, coins, i),
            refill=lambda i: tokenwise.draw_residual(block, coins, i, (block.p[i], 1.0)),
        )

    def position_law(self, p: Row, q: Row) -> PositionLaw:
        return laws.refilled(p, q, laws.ratio, lambda p, q: p)
