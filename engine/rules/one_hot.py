"""Take the draft as given, whatever drew it: q counts as all mass on x."""

from __future__ import annotations

from dataclasses import dataclass

from engine.core import rows
from engine.core.types import Block, Check, Coins, PositionLaw, Row, Rule, Verdict
from engine.rules import laws, tokenwise


@dataclass(frozen=True)
class OneHot(Rule):
    id = "one-hot"
    title = "One-hot proposal"
    meaning = "Keep the draft with probability p(x), as if the drafter could have said nothing else."
    formula = "accept iff u < p(x); else draw from norm(p - p(x) e_x)"
    source = "vLLM rejection sampler without draft probabilities (n-gram, EAGLE)"
    closed_form = "p(x)"
    lossless = True

    def judge(self, block: Block, coins: Coins) -> Verdict:
        def test(i: int) -> Check:
            p = block.p_of(i)
            accepted, u = coins.flip(p, block.at("accept", i))
            return Check(p, u, accepted)

        return tokenwise.judge(block, coins, test, tokenwise.refill_without_draft(block, coins))

    def position_law(self, p: Row, q: Row) -> PositionLaw:
        return laws.as_target(p, q, rows.product(p, q))
