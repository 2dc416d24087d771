"""The same with a slip: the refill forgets the caution. It claims to be exact; the check says otherwise."""

from __future__ import annotations

from dataclasses import dataclass

from engine.core.types import Block, Check, Coins, Rule, Verdict
from engine.rules import tokenwise

CAUTION = 0.5


@dataclass(frozen=True)
class Hasty(Rule):
    id = "hasty"
    title = "Hasty rejection sampling"
    meaning = "Keep the draft with half the probability it could have; refill as rejection sampling does."
    formula = "accept iff u q(x) < min(p(x), q(x)) / 2; else draw from norm((p - q)+)"
    source = "our own example of a slip"
    closed_form = "sum min(p, q) / 2"
    lossless = True

    def judge(self, block: Block, coins: Coins) -> Verdict:
        def test(i: int) -> Check:
            p, q = block.p_of(i), block.q_of(i)
            if p == 0 or q == 0:
                return Check(0.0, None, False)
            kept = CAUTION * min(p, q)
            accepted, u = coins.flip(kept, block.at("accept", i), per=q)
            return Check(kept / q, u, accepted)

        return tokenwise.judge(block, coins, test, tokenwise.refill_from_residual(block, coins))
