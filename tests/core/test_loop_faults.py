"""Faults that other loops have had, as small inputs: filters, ties, ends, penalties, seeds, drafters."""

import numpy as np
import pytest

from engine.core import loop, rows, warp
from engine.core.types import Sampling
from engine.drafters.lookup import LookupDrafter
from engine.drafters.none import NoDrafter
from engine.rules import RULES
from tests.core.toys import PROMPT, TextDrafter, ToyDrafter, ToyScorer, output, plan, play, random_logits

V = 6
TARGET, DRAFT = random_logits(1, V), random_logits(2, V)
SAMPLING = [rule for rule in RULES.values() if not rule.greedy_only]
EVERY_ROW = [
    {"top_k": 2},
    {"top_p": 0.5},
    {"min_p": 0.4},
    {"temperature": 0.5},
    {"temperature": 0.5, "top_p": 0.6, "order": "temperature-first"},
    {"temperature": 1.7, "top_k": 4, "top_p": 0.9, "min_p": 0.1},
]


def seen_before(played, done, i):
    """Every token before row i of a round: prompt, output, drafts."""
    return PROMPT + output(done)[: played.block.start] + played.block.tokens[:i]


# One chain of filters


@pytest.mark.parametrize("sampling", EVERY_ROW, ids=str)
def test_one_chain_of_filters_makes_p_and_q(sampling):
    """Each row, the bonus's too, is the filtered row of its own model after its own tokens."""
    done = play(plan(RULES["stochastic"], max_tokens=24, **sampling), ToyDrafter(DRAFT), ToyScorer(TARGET))
    settings = Sampling(**{"temperature": 1.0} | sampling)
    for played in done:
        for i, p in enumerate(played.block.p):
            seen = seen_before(played, done, i)
            assert p == warp.effective(TARGET(seen), settings)
            if i < played.block.k:
                assert played.block.q[i] == warp.effective(DRAFT(seen), settings)


@pytest.mark.parametrize("sampling", EVERY_ROW, ids=str)
@pytest.mark.parametrize("rule_id", ["stochastic", "block"])
def test_an_equal_drafter_is_always_accepted_behind_every_filter(rule_id, sampling):
    done = play(plan(RULES[rule_id], max_tokens=24, **sampling), ToyDrafter(TARGET), ToyScorer(TARGET))
    assert all(played.verdict.n_accepted == played.block.k for played in done)


@pytest.mark.parametrize("rule", SAMPLING, ids=lambda rule: rule.id)
def test_no_rule_emits_a_token_that_the_targets_filters_removed(rule):
    """Also the faulty ones, and with a drafter that keeps other tokens."""
    done = play(plan(rule, max_tokens=40, top_k=2), ToyDrafter(DRAFT), ToyScorer(TARGET))
    settings = Sampling(temperature=1.0, top_k=2)
    for position, token in enumerate(output(done)):
        row = warp.effective(TARGET(PROMPT + output(done)[:position]), settings)
        assert row.prob(token) > 0, f"token {token} at {position}"


def test_temperature_reaches_every_verified_row():
    """T = .5 at seed 1: p is the softmax squared, at the drafts' rows as at the bonus's."""
    done = play(plan(RULES["stochastic"], seed=1, temperature=0.5), ToyDrafter(DRAFT), ToyScorer(TARGET))
    for played in done:
        for i, p in enumerate(played.block.p):
            bare = warp.softmax(np.float64(TARGET(seen_before(played, done, i))))
            np.testing.assert_allclose(rows.dense(p), bare**2 / (bare**2).sum(), rtol=1e-14)


# Seeds


def decided(done):
    return [(d.block.tokens, d.coins, d.verdict, d.emitted, d.own) for d in done]


@pytest.mark.parametrize("rule", SAMPLING, ids=lambda rule: rule.id)
def test_no_clock_and_no_global_generator_decides_anything(rule):
    """Other times, and a generator in another state: the same session, and two seeds are two sessions."""
    asked = plan(rule, seed=1, temperature=0.5, max_tokens=20)
    np.random.seed(3)
    first = play(asked, ToyDrafter(DRAFT), ToyScorer(TARGET))
    ticks = iter(np.random.default_rng(9).random(10_000).cumsum())
    np.random.seed(4)
    again = play(asked, ToyDrafter(DRAFT), ToyScorer(TARGET), clock=lambda: float(next(ticks)))
    assert decided(first) == decided(again)
    other = play(plan(rule, seed=2, temperature=0.5, max_tokens=20), ToyDrafter(DRAFT), ToyScorer(TARGET))
    assert decided(first) != decided(other)


# Ties


def tied(tokens):
    """The two highest logits are equal to the last bit, on other ids after each length."""
    row = np.zeros(V, dtype=np.float32)
    row[[1 + len(tokens) % 2, 4]] = 3.5
    return row


@pytest.mark.parametrize("greedy", [{"temperature": 0.0}, {"top_k": 1}], ids=str)
def test_a_tie_goes_to_the_lowest_id_on_both_sides(greedy):
    """Else a drafter that is the target would be rejected where logits are equal."""
    done = play(plan(RULES["greedy-argmax"], max_tokens=12, **greedy), ToyDrafter(tied), ToyScorer(tied))
    lowest = tuple(1 + (len(PROMPT) + i) % 2 for i in range(12))
    assert output(done) == lowest
    drafted = [(d.block.start + i, x) for d in done for i, x in enumerate(d.block.tokens)]
    assert all(x == lowest[position] for position, x in drafted)
    assert all(d.verdict.n_accepted == d.block.k for d in done)


@pytest.mark.parametrize("rule_id", ["argmax", "relaxed", "greedy-argmax"])
def test_the_bonus_and_the_corrected_token_break_ties_alike(rule_id):
    sampling = {"temperature": 0.0} if rule_id == "greedy-argmax" else {}
    wrong = TextDrafter((5,) * 12, V)
    done = play(plan(RULES[rule_id], k=1, max_tokens=4, **sampling), wrong, ToyScorer(tied))
    emitted = output(done)
    if rule_id != "relaxed":  # it keeps any draft close to the best
        assert emitted == tuple(1 + (len(PROMPT) + i) % 2 for i in range(4))
    done = play(plan(RULES[rule_id], k=0, max_tokens=4, **sampling), wrong, ToyScorer(tied))
    assert output(done) == tuple(1 + (len(PROMPT) + i) % 2 for i in range(4))


# Ends and budgets


def test_an_end_and_a_budget_at_any_place_of_a_block_cut_there():
    """Every place of the end, every k and budget around it: never a token, a coin or a row behind it."""
    text = (3, 4, 2, 1, 3, 4, 2, 1)
    for place in range(8):
        ended = (*text[:place], 5, *text[place + 1 :])
        for k in (1, 2, 4, 9):
            for budget in (place, place + 1, 8):
                if budget == 0:
                    continue
                scorer = ToyScorer(lambda tokens, said=ended: certain(tokens, said))
                asked = plan(RULES["greedy-argmax"], k=k, max_tokens=budget, temperature=0.0)
                done = play(asked, TextDrafter(ended, V), scorer, ends=lambda out: out[-1] == 5)
                assert output(done) == ended[: min(budget, place + 1)]
                assert len(scorer.held) <= len(PROMPT) + min(budget, place + 1)


def certain(tokens, text):
    row = np.zeros(V, dtype=np.float32)
    row[text[min(len(tokens) - len(PROMPT), len(text) - 1)]] = 9.0
    return row


# Penalties and bias


@pytest.mark.parametrize("k", [1, 2, 5])
def test_three_equal_tokens_accepted_in_one_round_count_three_times(k):
    """However the drafts fall into rounds, row j has counted every token before it, once each."""
    same = np.array([0.0, 6.0, 1.0], dtype=np.float32)
    penalty = {"frequency_penalty": 0.5}
    drafter = TextDrafter((1,) * 12, 3)
    done = play(
        plan(RULES["one-hot"], k=k, max_tokens=12, prompt=(2, 1), **penalty),
        drafter,
        ToyScorer(lambda t: same),
    )
    emitted, prompt = output(done), (2, 1)
    for played in done:
        for i, row in enumerate(played.block.p):
            before = prompt + emitted[: played.block.start] + played.block.tokens[:i]
            bare = np.exp([float(same[t]) - 0.5 * before.count(t) for t in range(3)])
            np.testing.assert_allclose(rows.dense(row), bare / bare.sum(), rtol=1e-13)
    assert max(played.verdict.n_accepted for played in done) >= min(k, 3), "no three of them in one round"


@pytest.mark.parametrize("rule", SAMPLING, ids=lambda rule: rule.id)
def test_under_every_rule_a_banned_token_is_never_emitted_and_never_has_mass(rule):
    done = play(
        plan(rule, max_tokens=30, logit_bias=((1, -100.0),)),
        ToyDrafter(lambda tokens: DRAFT(tokens) + 4.0 * (np.arange(V) == 1)),
        ToyScorer(TARGET),
    )
    assert 1 not in output(done) and all(1 not in d.own for d in done)
    assert any(1 in d.block.tokens for d in done), "the drafter knows nothing of the ban"
    assert not any(1 in row.ids for d in done for row in d.block.p)


# Drafters that must not matter


def runs(rule_id, **sampling):
    """The same seed under several drafters and every k."""
    for k in (0, 1, 3, 7):
        for name, drafter in {
            "another model": ToyDrafter(DRAFT),
            "the target": ToyDrafter(TARGET),
            "a text": TextDrafter((3, 1, 4, 1, 5, 2) * 6, V),
            "lookup": LookupDrafter(V),
            "none": NoDrafter(),
        }.items():
            asked = plan(RULES[rule_id], k=k, max_tokens=18, seed=11, **sampling)
            yield (name, k), spoken(asked, drafter)


def spoken(asked, drafter):
    if isinstance(drafter, ToyDrafter):
        return output(play(asked, drafter, ToyScorer(TARGET)))
    scorer = ToyScorer(TARGET)
    scorer.prefill(asked.prompt)
    drafter.start(asked.prompt)
    return output(list(loop.Generation(asked, drafter, scorer)))


@pytest.mark.parametrize(
    "sampling", [{}, {"top_k": 3, "temperature": 0.7}, {"presence_penalty": 0.7, "top_p": 0.8}], ids=str
)
@pytest.mark.parametrize("rule_id", ["gumbel", "sampler-match"])
def test_the_output_is_the_same_for_every_drafter_and_every_k(rule_id, sampling):
    texts = dict(runs(rule_id, **sampling))
    assert len(set(texts.values())) == 1, texts
    other = {
        output(
            play(
                plan(RULES[rule_id], max_tokens=18, seed=12, **sampling), ToyDrafter(DRAFT), ToyScorer(TARGET)
            )
        )
    }
    assert other.isdisjoint(texts.values()), "another seed is another text"


def test_other_rules_do_let_the_drafter_matter():
    """The power of the test above."""
    assert len(set(dict(runs("stochastic")).values())) > 5
