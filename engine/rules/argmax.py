"""Compare with the target's argmax although the target samples: fast, and not the target's distribution."""

from __future__ import annotations

from dataclasses import dataclass

from engine.core import rows
from engine.core.types import Block, Check, Coins, PositionLaw, Row, Rule, Verdict
from engine.rules import laws, tokenwise


@dataclass(frozen=True)
class Argmax(Rule):
    id = "argmax"
    title = "Argmax match"
    meaning = "Keep the draft if it is the target's most probable token, at every temperature."
    formula = "accept iff x = argmax p; else emit argmax p"
    source = "multi-token-prediction heads and block-diffusion drafters that verify by argmax"
    closed_form = "q(argmax p)"

    def judge(self, block: Block, coins: Coins) -> Verdict:
        return judge(block, coins)

    def position_law(self, p: Row, q: Row) -> PositionLaw:
        return law(p, q)


def judge(block: Block, coins: Coins) -> Verdict:
    """The argmax test, no coin; the token after the accepted ones is the argmax too."""

    def test(i: int) -> Check:
        hit = block.tokens[i] == rows.argmax(block.p[i])
        return Check(float(hit), None, hit)

    return tokenwise.judge(
        block,
        coins,
        test,
        refill=lambda i: tokenwise.Refill(rows.argmax(block.p[i])),
        bonus=lambda k: rows.argmax(block.p[k]),
    )


def law(p: Row, q: Row) -> PositionLaw:
    """The argmax of p, always; accepted as often as q proposes it."""
    return laws.refilled(p, q, laws.argmax_hot, laws.argmax_hot)
