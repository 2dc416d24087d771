"""What rules that decide token by token share: test each draft until one fails, then refill or go on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.core.types import Block, Check, Coins, Row, Verdict


@dataclass(frozen=True)
class Refill:
    """The token after a rejection, and the residual it was drawn from, if it was."""

    token: int
    residual: Row | None = None
    mass: float | None = None
    degenerate: bool = False


def judge(
    block: Block,
    coins: Coins,
    test: Callable[[int], Check],
    refill: Callable[[int], Refill],
    bonus: Callable[[int], int] | None = None,
) -> Verdict:
    """Run `test(i)` over the drafts until one fails, then `refill(i)` there; `bonus(k)` (by default a draw
    from the target's row) when all stand."""
    checks: list[Check] = []
    for i in range(block.k):
        checks.append(test(i))
        if not checks[-1].accepted:
            new = refill(i)
            return Verdict(tuple(checks), i, new.token, "corrected", new.residual, new.mass, new.degenerate)
    token = bonus(block.k) if bonus else target_draw(block, coins, block.k)
    return Verdict(tuple(checks), block.k, token, "bonus")


def target_draw(block: Block, coins: Coins, i: int) -> int:
    """The target's own draw at position i of the block."""
    return coins.choose(block.p[i], block.at("target", i))


def draw_residual(block: Block, coins: Coins, i: int, residual: tuple[Row | None, float]) -> Refill:
    """Draw from a residual (row, mass); one without mass (p = q up to rounding) gives way to p."""
    row, mass = residual
    degenerate = row is None
    row = block.p[i] if row is None else row
    return Refill(coins.choose(row, block.at("residual", i)), row, mass, degenerate)


def ratio_test(block: Block, coins: Coins, i: int) -> Check:
    """Accept iff u q(x) < p(x) (Leviathan et al. 2023, algorithm 1), without a division."""
    p, q = block.p_of(i), block.q_of(i)
    accepted, u = coins.flip(p, block.at("accept", i), per=q) if q > 0 else (False, None)
    return Check(min(1.0, p / q) if q > 0 else 0.0, u, accepted)
