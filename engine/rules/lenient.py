"""Rejection sampling with a handicap for the target: drafts are judged as if q were smaller."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.core import rows
from engine.core.types import Block, Check, Coins, Param, PositionLaw, Row, Rule, Verdict
from engine.rules import laws, tokenwise


@dataclass(frozen=True)
class Lenient(Rule):
    leniency: float = 0.5

    id = "lenient"
    title = "Lenience"
    meaning = "Divide q by more than it earned: more drafts stand, and the text leans towards the drafter."
    formula = "accept iff u l q(x) < p(x); else draw from norm((p/l - q)+)"
    source = "Leviathan et al. 2023, arXiv 2211.17192, lenience"
    closed_form = "sum min(p/l, q)"
    parameters = (
        Param("leniency", 0.5, 0.01, 1.0, "The factor l on q; 1 is exact.", "ours; the paper leaves it open"),
    )

    @property
    def lossless(self) -> bool:
        return self.leniency == 1.0

    def judge(self, block: Block, coins: Coins) -> Verdict:
        def test(i: int) -> Check:
            p, q = block.p_of(i), self.leniency * block.q_of(i)
            accepted, u = coins.flip(p, block.at("accept", i), per=q) if q > 0 else (False, None)
            return Check(min(1.0, p / q) if q > 0 else 0.0, u, accepted)

        def refill(i: int) -> tokenwise.Refill:
            residual = rows.residual(block.p[i], block.q[i], scale=1 / self.leniency)
            return tokenwise.draw_residual(block, coins, i, residual)

        return tokenwise.judge(block, coins, test, refill)

    def position_law(self, p: Row, q: Row) -> PositionLaw:
        def accept(p: np.ndarray, q: np.ndarray) -> np.ndarray:
            return laws.ratio(p, self.leniency * q)

        return laws.refilled(p, q, accept, lambda p, q: laws.positive(p / self.leniency - q, p))
