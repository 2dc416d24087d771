"""What a finished run is compared by: speed, acceptance, faithfulness, and how likely its text was.

All are folds over its rounds. A score that a run does not have (no position tested, no law in closed form, a
token that p gave no mass) is None, never a stand-in.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from engine.core import stats
from engine.core.events import Law, Round
from engine.core.position_law import position_law, tv_to
from engine.core.types import Rule

#: The scores of a comparison, each with what it is, in the order tables show them.
SCORES: dict[str, str] = {
    "tokens_per_target_pass": "emitted tokens / target passes",
    "per_position_acceptance": "accepted / tested positions",
    "law_tv": "total variation of the rule's law to p, mean over tested positions",
    "rescued": "accepted drafts that the target's own draw would not have been / accepted drafts",
    "log_likelihood": "ln p of the emitted tokens, mean over tokens (nats)",
}


@dataclass(frozen=True)
class Likelihood:
    """ln p of a text: its sum over the tokens that have mass (nats), the tokens, and those without mass."""

    total: float
    tokens: int
    impossible: int

    @property
    def per_token(self) -> float | None:
        """None where a token had no mass (the sum is minus infinity), and for no tokens."""
        return self.total / self.tokens if self.tokens and not self.impossible else None


def likelihood(rounds: Sequence[Round]) -> Likelihood:
    """What the target's effective distribution said of each emitted token, at its place."""
    probs = [done.block.p[i].prob(token) for done in rounds for i, token in enumerate(done.emitted)]
    return Likelihood(
        math.fsum(math.log(prob) for prob in probs if prob > 0), len(probs), sum(prob <= 0 for prob in probs)
    )


def law_tv(rounds: Sequence[Round], rule: Rule) -> float | None:
    """The mean distance of the rule's law to p over tested positions. None where a position has no law."""
    found = laws(rounds, rule)
    return math.fsum(law.tv for law in found) / len(found) if found else None


def laws(rounds: Sequence[Round], rule: Rule) -> list[Law] | None:
    """The rule's law at every tested position, in order; None where one has none.

    The rounds' own matrix has the laws of the rules in it, taken while the rows were whole; others, and those
    with other parameters, are taken from the stored rows where these are whole.
    """
    found = [law for done in rounds for law in _laws(done, rule)]
    return None if None in found else found


def _laws(done: Round, rule: Rule) -> Sequence[Law | None]:
    for line in done.matrix:
        if (line.rule, line.params) == (rule.id, rule.changed) and len(line.laws) == done.n_tested:
            if None not in line.laws:
                return line.laws
            break
    return [_law(done, rule, i) for i in range(done.n_tested)]


def _law(done: Round, rule: Rule, i: int) -> Law | None:
    p, q = done.block.p[i], done.block.q[i]
    found = position_law(rule, p, q) if p.exact and q.exact else None
    return None if found is None else Law(tv_to(found, p), found.acceptance)


def scores(rounds: Sequence[Round], rule: Rule) -> dict[str, float | None]:
    """SCORES of one run."""
    counters = stats.counters(rounds)
    return {
        "tokens_per_target_pass": counters.tokens_per_target_pass,
        "per_position_acceptance": counters.per_position_acceptance,
        "law_tv": law_tv(rounds, rule),
        "rescued": stats.ratio(counters.rescued, counters.accepted),
        "log_likelihood": likelihood(rounds).per_token,
    }
