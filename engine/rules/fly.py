"""Forgive a miss at an ambiguous position when everything behind it agrees."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.core import rows
from engine.core.types import Block, Check, Coins, Param, Row, Rule, Verdict
from engine.rules import tokenwise


@dataclass(frozen=True)
class Fly(Rule):
    entropy: float = 0.3
    window: int = 2

    id = "fly"
    title = "FLy"
    meaning = "A rejected draft stands after all if the target was unsure there and the next drafts all pass."
    formula = "u q(x) < p(x), or: H(top 3) >= h, p(x) > 0 and the next W drafts pass; else norm((p - q)+)"
    source = "FLy, arXiv 2511.22972; vLLM's rejection_sample_method fly"
    closed_form = "at least sum min(p, q)"
    looks_ahead = True
    parameters = (
        Param("entropy", 0.3, 0.0, 2.0, "Least entropy of the target's top 3, in nats.", "vLLM's default"),
        Param(
            "window",
            2,
            1,
            64,
            "How many drafts behind the miss must pass.",
            "ours; vLLM's is wider",
        ),
    )

    def judge(self, block: Block, coins: Coins) -> Verdict:
        native = [tokenwise.ratio_test(block, coins, i) for i in range(block.k)]

        def test(i: int) -> Check:
            check = native[i]
            forgiven = not check.accepted and self.forgives(block, native, i)
            return Check(check.accept_prob, check.u, True) if forgiven else check

        return tokenwise.judge(block, coins, test, tokenwise.refill_from_residual(block, coins))

    def forgives(self, block: Block, native: list[Check], i: int) -> bool:
        """Whether a miss at draft i is overruled; a window that the block cuts short overrules nothing."""
        behind = native[i + 1 : i + 1 + self.window]
        agree = len(behind) == self.window and all(check.accepted for check in behind)
        possible = block.q_of(i) > 0 and block.p_of(i) > 0
        return agree and possible and entropy_of_top_3(block.p[i]) >= self.entropy


def entropy_of_top_3(p: Row) -> float:
    """Entropy in nats of the three most probable tokens, renormalised."""
    best = np.array([p.prob(i) for i in rows.top(p, 3).tolist()])
    best = best[best > 0] / best.sum()
    return float(-(best * np.log(best)).sum())
