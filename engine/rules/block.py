"""Block verification: judge the drafts together, and keep the longest prefix that its own test lets stand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.core import rows
from engine.core.types import Block, Check, Coins, Rule, Verdict
from engine.rules import tokenwise


@dataclass(frozen=True)
class BlockVerification(Rule):
    id = "block"
    title = "Block verification"
    meaning = "Weigh the whole block: a prefix can stand on the strength of what comes later."
    formula = (
        "r_0 = 1, r_i = min(1, r_(i-1) p(x_i)/q(x_i)); m_i = sum (r_i p - q)+; h_i = m_i/(m_i + 1 - r_i), "
        "h_k = r_k; keep the largest i with u_i < h_i; else draw from norm((r p - q)+)"
    )
    source = "Sun et al. 2024, arXiv 2403.10444"
    closed_form = "at least sum min(p, q)"
    lossless = True
    looks_ahead = True

    def judge(self, block: Block, coins: Coins) -> Verdict:
        r = prefix_ratios(block)
        checks = []
        for i in range(1, block.k + 1):
            h = r[i] if i == block.k else keep_probability(block, i, r[i])
            accepted, u = coins.flip(h, block.at("accept", i - 1))
            checks.append(Check(h, u, accepted))
        n = max((i for i, check in enumerate(checks, 1) if check.accepted), default=0)
        if n == block.k:
            return Verdict(tuple(checks), n, tokenwise.target_draw(block, coins, n), "bonus")
        new = tokenwise.draw_residual(block, coins, n, rows.residual(block.p[n], block.q[n], scale=r[n]))
        return Verdict(tuple(checks), n, new.token, "corrected", new.residual, new.mass, new.degenerate)


def prefix_ratios(block: Block) -> list[float]:
    """r_0 .. r_k: the running ratio of p to q along the drafts, capped at 1 at every step."""
    r = [1.0]
    for i in range(block.k):
        p, q = block.p_of(i), block.q_of(i)
        r.append(min(1.0, r[-1] * p / q) if q > 0 else 0.0)
    return r


def keep_probability(block: Block, i: int, r: float) -> float:
    """h_i of an inner prefix: how often stopping after i drafts keeps the law exact."""
    _, p, q = rows.pair(block.p[i], block.q[i])
    m = float(np.maximum(r * p - q, 0).sum())
    # In this order of adding, a mass of rounding alone neither vanishes nor lifts h above 1.
    return m / (m + (1 - r)) if m > 0 else 0.0
