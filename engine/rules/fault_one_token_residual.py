"""A known bug: the residual subtracts q at the drafted token alone."""

from __future__ import annotations

from dataclasses import dataclass

from engine.core import rows
from engine.core.types import Block, Coins, PositionLaw, Row, Rule, Verdict
from engine.rules import laws, tokenwise


@dataclass(frozen=True)
class FaultOneTokenResidual(Rule):
    id = "fault-one-token-residual"
    title = "Fault: one-token residual"
    meaning = "The right test, but the residual takes q away at the rejected token only."
    formula = "accept iff u q(x) < p(x); else draw from norm((p - q(x) e_x)+)"
    source = "a published tutorial; kept to be seen failing"
    closed_form = "sum min(p, q)"
    faulty = True

    def judge(self, block: Block, coins: Coins) -> Verdict:
        return tokenwise.judge(
            block,
            coins,
            test=lambda i: tokenwise.ratio_test(block, coins, i),
            refill=lambda i: tokenwise.draw_residual(
                block, coins, i, rows.without(block.p[i], block.tokens[i], block.q_of(i))
            ),
        )

    def position_law(self, p: Row, q: Row) -> PositionLaw:
        return laws.excluded(p, q, laws.ratio)
