"""Keep what the target finds typical: a bar that falls as the target grows unsure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.core import rows
from engine.core.types import Block, Check, Coins, Param, PositionLaw, Row, Rule, Verdict
from engine.rules import laws, tokenwise


@dataclass(frozen=True)
class Typical(Rule):
    epsilon: float = 0.3
    delta: float = 0.09

    id = "typical"
    title = "Typical acceptance"
    meaning = "Keep the draft if the target finds it likely enough for how unsure it is; q plays no part."
    formula = "accept iff p(x) > min(eps, delta exp(-H(p))), H in nats; else draw from p"
    source = "Cai et al. 2024 (Medusa), arXiv 2401.10774"
    closed_form = "sum of q over the tokens above the bar"
    parameters = (
        Param("epsilon", 0.3, 0.0, 1.0, "The bar is never above this.", "Medusa's posterior threshold"),
        Param("delta", 0.09, 0.0, 1.0, "The bar of a target without doubt.", "Medusa's posterior alpha"),
    )

    def bar(self, p: Row) -> float:
        """What p(x) must exceed."""
        return min(self.epsilon, self.delta * float(np.exp(-rows.entropy(p))))

    def judge(self, block: Block, coins: Coins) -> Verdict:
        def test(i: int) -> Check:
            typical = block.p_of(i) > self.bar(block.p[i])
            return Check(float(typical), None, typical)

        return tokenwise.judge(block, coins, test, tokenwise.refill_from_target(block, coins))

    def position_law(self, p: Row, q: Row) -> PositionLaw:
        return laws.refilled(p, q, lambda pv, qv: (pv > self.bar(p)).astype(float), lambda pv, qv: pv)
