"""A known bug: the draft is the argmax of q, the ratio uses all of q."""

from __future__ import annotations

from dataclasses import dataclass

from engine.core import rows
from engine.core.types import Address, Block, Coins, PositionLaw, Row, Rule, Verdict
from engine.rules import laws, tokenwise


@dataclass(frozen=True)
class FaultSoftmaxQ(Rule):
    id = "fault-softmax-q"
    title = "Fault: argmax draft, softmax q"
    meaning = "The drafter takes its argmax, but is judged as if it had sampled."
    formula = "x = argmax q; accept iff u q(x) < p(x); else draw from norm((p - q)+)"
    source = "an assisted-generation bug report; kept to be seen failing"
    closed_form = "min(1, p(x)/q(x)) at x = argmax q"
    faulty = True

    def draft(self, row: Row, coins: Coins, at: Address) -> int:
        return rows.argmax(row)

    def judge(self, block: Block, coins: Coins) -> Verdict:
        return tokenwise.judge(
            block,
            coins,
            lambda i: tokenwise.ratio_test(block, coins, i),
            tokenwise.refill_from_residual(block, coins),
        )

    def position_law(self, p: Row, q: Row) -> PositionLaw:
        return laws.refilled(
            p,
            q,
            laws.ratio,
            laws.excess,
            drawn=lambda p, q: laws.argmax_hot(q, p),
        )
