"""Accept as if the target were a blend of both models, which is then what the text follows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.core.types import Block, Check, Coins, Param, PositionLaw, Row, Rule, Verdict
from engine.rules import laws, tokenwise


@dataclass(frozen=True)
class Ensemble(Rule):
    weight: float = 0.5

    id = "ensemble"
    title = "Ensemble"
    meaning = "The text follows the blend w p + (1 - w) q of target and drafter, where p(x) is not 0."
    formula = "accept iff u q(x) < (1 - w) q(x) + w p(x); else draw from norm((p - q)+)"
    source = "transformers, generation setting assistant_ensemble_weight"
    closed_form = "1 - w TV(p, q)"
    parameters = (
        Param("weight", 0.5, 0.0, 1.0, "The target's share w; 1 is exact.", "ours; transformers sets none"),
    )

    @property
    def lossless(self) -> bool:
        return self.weight == 1.0

    def judge(self, block: Block, coins: Coins) -> Verdict:
        def test(i: int) -> Check:
            p, q = block.p_of(i), block.q_of(i)
            blend = (1 - self.weight) * q + self.weight * p
            # p(x) = 0 is never accepted, whatever the blend says.
            possible = q > 0 and p > 0
            accepted, u = coins.flip(blend, block.at("accept", i), per=q) if possible else (False, None)
            return Check(min(1.0, blend / q) if possible else 0.0, u, accepted)

        return tokenwise.judge(block, coins, test, tokenwise.refill_from_residual(block, coins))

    def position_law(self, p: Row, q: Row) -> PositionLaw:
        def accept(p: np.ndarray, q: np.ndarray) -> np.ndarray:
            return np.where(p > 0, laws.ratio((1 - self.weight) * q + self.weight * p, q), 0.0)

        return laws.refilled(p, q, accept, laws.excess)
