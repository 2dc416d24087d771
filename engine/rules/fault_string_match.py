"""A known bug: two chances to be accepted, and the target's own draw as the refill."""

from __future__ import annotations

from dataclasses import dataclass

from engine.core.types import Block, Check, Coins, PositionLaw, Row, Rule, Verdict
from engine.rules import laws, tokenwise


@dataclass(frozen=True)
class FaultStringMatch(Rule):
    id = "fault-string-match"
    title = "Fault: match, else ratio"
    meaning = "The draft stands if it equals the target's own draw, and gets the ratio test if it does not."
    formula = "y ~ p; accept iff x = y or u q(x) < p(x); else emit y"
    source = "a local server's draft loop; kept to be seen failing"
    closed_form = "sum q (p + (1 - p) min(1, p/q))"
    faulty = True

    def judge(self, block: Block, coins: Coins) -> Verdict:
        def test(i: int) -> Check:
            if tokenwise.target_draw(block, coins, i) == block.tokens[i]:
                return Check(1.0, None, True)
            return tokenwise.ratio_test(block, coins, i)

        return tokenwise.judge(block, coins, test, tokenwise.refill_from_target(block, coins))

    def position_law(self, p: Row, q: Row) -> PositionLaw:
        return laws.excluded(p, q, lambda p, q: p + (1 - p) * laws.ratio(p, q))
