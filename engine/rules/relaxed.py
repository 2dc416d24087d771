"""Keep a draft that comes close enough to the target's argmax."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.core import rows
from engine.core.types import Block, Check, Coins, Param, PositionLaw, Row, Rule, Verdict
from engine.rules import laws, tokenwise


@dataclass(frozen=True)
class Relaxed(Rule):
    top: int = 10
    delta: float = 0.6

    id = "relaxed"
    title = "Relaxed acceptance"
    meaning = "Keep the draft if it is among the target's top tokens and not far below the best one."
    formula = "accept iff x in top N of p and p(x) >= max p - delta; else emit argmax p"
    source = "TensorRT-LLM, relaxed_topk and relaxed_delta"
    closed_form = "sum of q over the tokens that are close enough"
    parameters = (
        Param(
            "top", 10, 1, 1000, "How many of the target's top tokens count.", "TensorRT-LLM's guide for R1"
        ),
        Param("delta", 0.6, 0.0, 1.0, "How far below the best p(x) may lie.", "TensorRT-LLM's guide for R1"),
    )

    def close_enough(self, p: Row) -> np.ndarray:
        """The ids that stand as drafts: uint32[n]."""
        best = rows.top(p, self.top)
        least = p.prob(int(best[0])) - self.delta
        return np.array([i for i in best.tolist() if p.prob(i) >= least], dtype=np.uint32)

    def judge(self, block: Block, coins: Coins) -> Verdict:
        def test(i: int) -> Check:
            close = block.tokens[i] in self.close_enough(block.p[i])
            return Check(float(close), None, close)

        def best(i: int) -> int:
            return rows.argmax(block.p[i])

        return tokenwise.judge(block, coins, test, lambda i: tokenwise.Refill(best(i)), bonus=best)

    def position_law(self, p: Row, q: Row) -> PositionLaw:
        ids, _, _ = rows.pair(p, q)
        close = np.isin(ids, self.close_enough(p)).astype(float)
        return laws.refilled(p, q, lambda p, q: close, laws.argmax_hot)
