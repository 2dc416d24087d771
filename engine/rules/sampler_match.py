"""Let the target draw its own token and keep the draft if it is the same one."""

from __future__ import annotations

from dataclasses import dataclass

from engine.core import rows
from engine.core.types import Block, Check, Coins, PositionLaw, Row, Rule, Verdict
from engine.rules import laws, tokenwise


@dataclass(frozen=True)
class SamplerMatch(Rule):
    id = "sampler-match"
    title = "Sampler match"
    meaning = "The target draws its own token; the draft stands if it is the same, else the draw replaces it."
    formula = "y ~ p; accept iff x = y; else emit y"
    source = "mlx-lm speculative_generate_step; llama.cpp common_sampler_sample_and_accept_n"
    closed_form = "sum p q"
    lossless = True

    def judge(self, block: Block, coins: Coins) -> Verdict:
        def test(i: int) -> Check:
            own = tokenwise.target_draw(block, coins, i)
            return Check(block.p_of(i), None, own == block.tokens[i])

        return tokenwise.judge(block, coins, test, refill=tokenwise.refill_from_target(block, coins))

    def position_law(self, p: Row, q: Row) -> PositionLaw:
        return laws.as_target(p, q, rows.product(p, q))
