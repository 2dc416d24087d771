"""What every lossless rule becomes when the target is greedy."""

from __future__ import annotations

from dataclasses import dataclass

from engine.core.types import Block, Coins, PositionLaw, Row, Rule, Verdict
from engine.rules import argmax


@dataclass(frozen=True)
class GreedyArgmax(Rule):
    id = "greedy-argmax"
    title = "Greedy"
    meaning = "The target's most probable token is the only right one; the draft stands if it is that one."
    formula = "accept iff x = argmax p; else emit argmax p"
    source = "the limit of every lossless rule at temperature 0"
    closed_form = "[argmax q = argmax p]"
    lossless = True
    greedy_only = True

    def judge(self, block: Block, coins: Coins) -> Verdict:
        return argmax.judge(block, coins)

    def position_law(self, p: Row, q: Row) -> PositionLaw:
        return argmax.law(p, q)
