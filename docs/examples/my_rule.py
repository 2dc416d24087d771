"""Rejection sampling that accepts only a share of what it could, and is exact all the same."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.core import rows
from engine.core.types import Block, Check, Coins, Param, Rule, Verdict
from engine.rules import tokenwise


@dataclass(frozen=True)
class Cautious(Rule):
    caution: float = 0.5

    id = "cautious"
    title = "Cautious rejection sampling"
    meaning = "Keep the draft with a share c of the probability it could have; refill with what is left of p."
    formula = "accept iff u q(x) < c min(p(x), q(x)); else draw from norm(p - c min(p, q))"
    source = "our own example"
    closed_form = "c sum min(p, q)"
    lossless = True
    parameters = (Param("caution", 0.5, 0.0, 1.0, "The share c; 1 is rejection sampling.", "ours"),)

    def judge(self, block: Block, coins: Coins) -> Verdict:
        def test(i: int) -> Check:
            p, q = block.p_of(i), block.q_of(i)
            if p == 0 or q == 0:
                return Check(0.0, None, False)
            kept = self.caution * min(p, q)
            accepted, u = coins.flip(kept, block.at("accept", i), per=q)
            return Check(kept / q, u, accepted)

        def refill(i: int) -> tokenwise.Refill:
            ids, p, q = rows.pair(block.p[i], block.q[i])
            left = rows.positive_part(ids, p - self.caution * np.minimum(p, q), block.p[i].vocab)
            return tokenwise.draw_residual(block, coins, i, left)

        return tokenwise.judge(block, coins, test, refill)
