"""The rule matrix: what every rule would have done with this very block, its drafts and its coins.

No model runs. It is taken while the block's rows are whole and travels with the round, because a stored
row may have lost its tail. A rule that would have drawn its drafts in another way is judged on these all
the same.
"""

from __future__ import annotations

from collections.abc import Iterable

from engine.core import ending
from engine.core.coins import PhiloxCoins
from engine.core.events import Judged, Law
from engine.core.once import remembering
from engine.core.position_law import tv_to
from engine.core.types import Block, Rule


def judged(block: Block, rules: Iterable[Rule], seed: int, final: bool, n_tested: int) -> tuple[Judged, ...]:
    """One line a rule: how many drafts it accepts here, the token it puts after them, and its law at the
    first `n_tested` positions, None where it has none in closed form."""
    coins = PhiloxCoins(seed)
    with remembering():
        return tuple(_line(rule, block, coins, final, n_tested) for rule in rules)


def _line(rule: Rule, block: Block, coins: PhiloxCoins, final: bool, n_tested: int) -> Judged:
    verdict, _ = ending.close(block, rule.judge(block, coins), final)
    laws = tuple(_law(rule, block, i) for i in range(n_tested))
    return Judged(rule.id, verdict.n_accepted, verdict.next_token, verdict.next_source, laws, rule.changed)


def _law(rule: Rule, block: Block, i: int) -> Law | None:
    found = None if rule.looks_ahead else rule.position_law(block.p[i], block.q[i])
    return None if found is None else Law(tv_to(found, block.p[i]), found.acceptance)
