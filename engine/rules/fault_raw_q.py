"""A known bug: the draft is drawn from a filtered row, the ratio uses the unfiltered one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.core import rows
from engine.core.types import Address, Block, Coins, Param, PositionLaw, Row, Rule, Verdict
from engine.rules import laws, tokenwise


@dataclass(frozen=True)
class FaultRawQ(Rule):
    top: int = 2

    id = "fault-raw-q"
    title = "Fault: unfiltered q"
    meaning = "The draft comes from the drafter's top tokens, but is judged by the row before that filter."
    formula = "x ~ top N of q, renormalised; accept iff u q(x) < p(x) with all of q; else norm((p - q)+)"
    source = "a candidate-generation bug report; kept to be seen failing"
    closed_form = "sum over the top N of q'(x) min(1, p(x)/q(x))"
    faulty = True
    parameters = (Param("top", 2, 1, 1000, "How many tokens are drawn from.", "the report's example"),)

    def filtered(self, row: Row) -> Row:
        """The row that is really drawn from."""
        kept = np.isin(row.ids, rows.top(row, self.top))
        return Row(row.ids[kept], row.probs[kept] / row.probs[kept].sum(), row.vocab)

    def draft(self, row: Row, coins: Coins, at: Address) -> int:
        return coins.choose(self.filtered(row), at)

    def judge(self, block: Block, coins: Coins) -> Verdict:
        return tokenwise.judge(
            block,
            coins,
            lambda i: tokenwise.ratio_test(block, coins, i),
            tokenwise.refill_from_residual(block, coins),
        )

    def position_law(self, p: Row, q: Row) -> PositionLaw:
        ids, _, _ = rows.pair(p, q)
        drawn = rows.dense(self.filtered(q), max(p.vocab, q.vocab))[ids]
        return laws.refilled(p, q, laws.ratio, laws.excess, drawn=lambda p, q: drawn)
