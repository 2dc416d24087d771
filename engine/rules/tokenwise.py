"""What rules that decide token by token share: test each draft until one fails, then refill or go on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.core import rows
from engine.core.types import Block, Check, Coins, Row, Verdict


@dataclass(frozen=True)
class Refill:
    """The token after a rejection, and the residual it was drawn from, if it was."""

    token: int
    residual: Row | None = None
    mass: float | None = None
    degenerate: bool = False


#: What follows a rejection at position i of the block.
Refiller = Callable[[int], Refill]


def judge(
    block: Block,
    coins: Coins,
    test: Callable[[int], Check],
    refill: Refiller,
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


def refill_from_target(block: Block, coins: Coins) -> Refiller:
    """The target's own draw."""
    return lambda i: Refill(target_draw(block, coins, i))


def refill_from_residual(block: Block, coins: Coins) -> Refiller:
    """A draw from norm((p - q)+)."""
    return lambda i: draw_residual(block, coins, i, rows.residual(block.p[i], block.q[i]))


def refill_without_draft(block: Block, coins: Coins) -> Refiller:
    """A draw from norm(p - p(x) e_x): from p, but not the draft again."""
    return lambda i: draw_residual(block, coins, i, rows.without(block.p[i], block.tokens[i], block.p_of(i)))


def ratio_test(block: Block, coins: Coins, i: int) -> Check:
    """Accept iff u q(x) < p(x) (Leviathan et al. 2023, algorithm 1), without a division."""
    p, q = block.p_of(i), block.q_of(i)
    accepted, u = coins.flip(p, block.at("accept", i), per=q) if q > 0 else (False, None)
    return Check(min(1.0, p / q) if q > 0 else 0.0, u, accepted)
