"""Accept at a rate given beforehand: for benchmarks of everything but the rule."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.core.types import Block, Check, Coins, Param, PositionLaw, Row, Rule, Verdict
from engine.rules import laws, tokenwise


@dataclass(frozen=True)
class Synthetic(Rule):
    rate: float = 0.7
    decay: float = 0.9

    id = "synthetic"
    title = "Synthetic rate"
    meaning = "Accept at a rate given beforehand, whatever the models say; a yardstick for speed, not a text."
    formula = "accept draft i iff u < c_i, c_i = rate decay^(i-1); else draw from p"
    source = "vLLM's synthetic rejection sampling; llama.cpp benchmarks"
    closed_form = "c_i"
    parameters = (
        Param("rate", 0.7, 0.0, 1.0, "How often the first draft of a round is accepted.", "ours"),
        Param("decay", 0.9, 0.0, 1.0, "What each later draft's rate is multiplied by.", "ours"),
    )

    def judge(self, block: Block, coins: Coins) -> Verdict:
        def test(i: int) -> Check:
            possible = block.p_of(i) > 0
            rate = self.rate * self.decay**i if possible else 0.0
            accepted, u = coins.flip(rate, block.at("accept", i)) if possible else (False, None)
            return Check(rate, u, accepted)

        return tokenwise.judge(block, coins, test, tokenwise.refill_from_target(block, coins))

    def position_law(self, p: Row, q: Row) -> PositionLaw:
        """At the first position of a round."""
        return laws.refilled(p, q, lambda p, q: np.where(p > 0, self.rate, 0.0), lambda p, q: p)
