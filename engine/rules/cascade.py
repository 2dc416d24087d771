"""Defer to the drafter where it is sure enough, and verify the rest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.core import rows
from engine.core.types import Block, Check, Coins, Param, PositionLaw, Row, Rule, Verdict
from engine.rules import laws, tokenwise


@dataclass(frozen=True)
class Cascade(Rule):
    alpha: float = 0.5

    id = "cascade"
    title = "Speculative cascade"
    meaning = "Where the drafter is as sure as the target, less some slack, its draft stands unverified."
    formula = "keep x if max q >= max p - alpha TV(p, q); else accept iff u q(x) < p(x), norm((p - q)+)"
    source = "Narasimhan et al. 2024, arXiv 2405.19261"
    closed_form = "1 where the drafter is trusted, else sum min(p, q)"
    parameters = (
        Param("alpha", 0.5, 0.0, 10.0, "The slack, in units of TV(p, q).", "ours; the paper sweeps it"),
    )

    def trusts(self, p: Row, q: Row) -> bool:
        """Whether the drafter decides this position alone."""
        return bool(q.probs.max() >= p.probs.max() - self.alpha * rows.tv(p, q))

    def judge(self, block: Block, coins: Coins) -> Verdict:
        def test(i: int) -> Check:
            # No trust covers a token that q cannot have drawn, or that p rules out.
            possible = block.q_of(i) > 0 and block.p_of(i) > 0
            if possible and self.trusts(block.p[i], block.q[i]):
                return Check(1.0, None, True)
            return tokenwise.ratio_test(block, coins, i)

        return tokenwise.judge(block, coins, test, tokenwise.refill_from_residual(block, coins))

    def position_law(self, p: Row, q: Row) -> PositionLaw:
        def accept(pv: np.ndarray, qv: np.ndarray) -> np.ndarray:
            return (pv > 0).astype(float) if self.trusts(p, q) else laws.ratio(pv, qv)

        return laws.refilled(p, q, accept, laws.excess)
