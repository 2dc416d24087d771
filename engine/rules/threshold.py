"""Two bars on p: above one a draft stands without a coin, the other sweetens the coin."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.core.types import Block, Check, Coins, Param, PositionLaw, Row, Rule, Verdict
from engine.rules import laws, tokenwise


@dataclass(frozen=True)
class Threshold(Rule):
    single: float = 0.9
    accumulated: float = 0.9

    id = "threshold"
    title = "Thresholds"
    meaning = "Keep the draft for sure when p(x) clears one bar, else with probability p(x) over the other."
    formula = "accept iff p(x) > 0 and (u t_acc < p(x) or p(x) >= t_single); else norm(p - p(x) e_x)"
    source = "SGLang, speculative_accept_threshold_single and _acc, one draft chain"
    closed_form = "p(x)/t_acc, or 1 above t_single"
    parameters = (
        Param("single", 0.9, 0.01, 1.0, "Above this p(x) needs no coin.", "ours; SGLang's 1.0 is exact"),
        Param("accumulated", 0.9, 0.01, 1.0, "What p(x) is divided by.", "ours; SGLang's 1.0 is exact"),
    )

    @property
    def lossless(self) -> bool:
        return self.single == self.accumulated == 1.0

    def judge(self, block: Block, coins: Coins) -> Verdict:
        def test(i: int) -> Check:
            p = block.p_of(i)
            if p >= self.single:
                return Check(1.0, None, True)
            accepted, u = coins.flip(p, block.at("accept", i), per=self.accumulated)
            return Check(min(1.0, p / self.accumulated), u, accepted)

        return tokenwise.judge(block, coins, test, tokenwise.refill_without_draft(block, coins))

    def position_law(self, p: Row, q: Row) -> PositionLaw:
        def accept(p: np.ndarray, q: np.ndarray) -> np.ndarray:
            return np.where(p >= self.single, 1.0, np.minimum(1.0, p / self.accumulated))

        return laws.excluded(p, q, accept)
