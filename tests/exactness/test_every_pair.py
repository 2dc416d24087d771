"""Re-judging is the beginning of the re-run for every pair of rules there are, over many seeds and samplings.

tests/core/test_replay.py has the quick half of it.
"""

from __future__ import annotations

import pytest

from engine.core.types import Sampling
from engine.rules import RULES, effective
from tests.core.test_replay import SAMPLING, begins_alike, ids, session

SEEDS = range(5, 15)


@pytest.mark.parametrize("own", SAMPLING, ids=ids)
def test_every_pair_over_many_seeds(own):
    for other in SAMPLING:
        runs = [(played(own.id, seed), played(other.id, seed), seed) for seed in SEEDS]
        begins_alike(own, other, runs)


@pytest.mark.parametrize("own", RULES.values(), ids=ids)
def test_every_pair_at_temperature_0(own):
    """The rules as they run there: every lossless one is the argmax."""
    greedy = Sampling(temperature=0.0)
    ran = effective(own, greedy)[0]
    for rule in {
        effective(other, greedy)[0].id: effective(other, greedy)[0] for other in RULES.values()
    }.values():
        runs = [
            (played(ran.id, s, temperature=0.0), played(rule.id, s, temperature=0.0), s) for s in range(3)
        ]
        begins_alike(ran, rule, runs)


_KEPT: dict = {}


def played(rule_id, seed, **settings):
    key = (rule_id, seed, *settings.items())
    if key not in _KEPT:
        _KEPT[key] = session(RULES[rule_id], seed, **settings)
    return _KEPT[key]
