"""A known bug: one coin for the whole block."""

from __future__ import annotations

from dataclasses import dataclass

from engine.core.types import Block, Check, Coins, PositionLaw, Row, Rule, Verdict
from engine.rules import laws, tokenwise


@dataclass(frozen=True)
class FaultSharedCoin(Rule):
    id = "fault-shared-coin"
    title = "Fault: one coin for the block"
    meaning = "Every draft of a round meets the same u: single tokens look right, pairs do not."
    formula = "accept x_i iff u q(x_i) < p(x_i), the same u for all i; else draw from norm((p - q)+)"
    source = "an MLX server's early kernel; kept to be seen failing"
    closed_form = "sum min(p, q) at a first position"
    faulty = True

    def judge(self, block: Block, coins: Coins) -> Verdict:
        def test(i: int) -> Check:
            p, q = block.p_of(i), block.q_of(i)
            accepted, u = coins.flip(p, block.at("accept", 0), per=q) if q > 0 else (False, None)
            return Check(min(1.0, p / q) if q > 0 else 0.0, u, accepted)

        return tokenwise.judge(block, coins, test, tokenwise.refill_from_residual(block, coins))

    def position_law(self, p: Row, q: Row) -> PositionLaw:
        """At the first position of a round, where nothing is wrong yet."""
        return laws.refilled(p, q, laws.ratio, laws.excess)
