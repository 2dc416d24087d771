"""Sharing models between samples changes what they cost, and nothing else."""

import numpy as np
import pytest

from engine.core import replay
from engine.core.kept import Kept
from engine.core.loop import Generation, Plan
from engine.core.sharing import SharedDrafter, SharedGeneration, SharedScorer
from engine.core.types import Sampling
from engine.rules import RULES
from tests.core.toys import PROMPT, ToyDrafter, ToyScorer, random_logits

VOCAB, K, LENGTH, SEEDS = 5, 3, 6, 6
WARM = Sampling(temperature=1.0, top_k=4)
SAMPLED = [rule for rule in RULES.values() if not rule.greedy_only]


def models():
    return ToyScorer(random_logits(1, VOCAB)), ToyDrafter(random_logits(2, VOCAB))


def rounds(make, rule, seed, scorer, drafter, **kept):
    scorer.prefill(PROMPT)
    drafter.start(PROMPT)
    return list(make(Plan(PROMPT, rule, WARM, seed, K, LENGTH), drafter, scorer, **kept))


@pytest.mark.parametrize("room", [2**20, 1], ids=["all kept", "next to nothing kept"])
@pytest.mark.parametrize("rule", SAMPLED, ids=lambda rule: rule.id)
def test_a_shared_run_is_the_bare_run_to_the_last_coin(rule, room):
    scorer, drafter = models()
    shared_scorer, shared_drafter = SharedScorer(ToyScorer(scorer.logits)), SharedDrafter(models()[1])
    shared_scorer.known, shared_drafter.known, known = Kept(room), Kept(room), Kept(room)
    for seed in range(SEEDS):
        bare = rounds(Generation, rule, seed, scorer, drafter)
        shared = rounds(SharedGeneration, rule, seed, shared_scorer, shared_drafter, known=known)
        assert replay.difference(bare, shared) == ""
        assert [done.block.p for done in bare] == [done.block.p for done in shared]
        assert [done.block.q for done in bare] == [done.block.q for done in shared]


def test_what_is_known_is_not_asked_again():
    inner = ToyScorer(random_logits(1, VOCAB))
    scorer, drafter = SharedScorer(inner), SharedDrafter(models()[1])
    rule = RULES["stochastic"]
    for _ in range(2):
        rounds(SharedGeneration, rule, 7, scorer, drafter)
        passes = scorer.passes, drafter.passes
    assert passes == (scorer.passes, drafter.passes)
    assert scorer.passes == len(inner.widths)


def test_a_context_has_one_row_whatever_pass_computed_it():
    class Jittery(ToyScorer):
        """A row's last bits depend on how wide the pass was, as they do on real hardware."""

        def score(self, tokens):
            return super().score(tokens) + np.float32(1e-6) * len(tokens)

    scorer = SharedScorer(Jittery(random_logits(1, VOCAB)))
    scorer.prefill(PROMPT)
    wide = scorer.score((PROMPT[-1], 3, 4))
    scorer.prefill(PROMPT)
    assert np.array_equal(scorer.score(PROMPT[-1:]), wide[:1])
    assert np.array_equal(scorer.score((3,)), wide[1:2])


def test_what_was_used_longest_ago_is_forgotten_first():
    kept = Kept(room=10)
    kept.put("a", 1, 4)
    kept.put("b", 2, 4)
    assert kept.get("a") == 1
    kept.put("c", 3, 4)
    assert (kept.get("a"), kept.get("b"), kept.get("c")) == (1, None, 3)
    kept.put("d", 4, 99)
    assert (kept.get("a"), kept.get("d")) == (None, 4)


def test_a_drafter_that_stops_early_is_remembered_stopping():
    class Short(ToyDrafter):
        def propose(self, context, k, sampling, coins):
            return super().propose(context, min(k, 1), sampling, coins)

    drafter = SharedDrafter(Short(random_logits(2, VOCAB)))
    scorer = SharedScorer(ToyScorer(random_logits(1, VOCAB)))
    lengths = [
        [done.block.k for done in rounds(SharedGeneration, RULES["stochastic"], 3, scorer, drafter)]
        for _ in range(2)
    ]
    assert lengths[0] == lengths[1]
    assert set(lengths[0]) == {1}
