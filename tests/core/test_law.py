"""The enumeration itself: coins that branch, ways that meet again, and real sessions that agree with it."""

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction as F

import numpy as np
import pytest

from engine.core import law, race, rows, warp
from engine.core.types import Address, Check, Rule
from engine.rules import RULES, tokenwise
from engine.rules.block import BlockVerification
from tests.core.tables import random_table, same_everywhere
from tests.core.toys import PROMPT, ToyDrafter, ToyScorer, output, plan, play, random_logits

A, B = Address("accept", 0), Address("accept", 1)


def law_of(run) -> dict:
    found = Counter()
    for result, weight in law.branches(run):
        found[result] += weight
    return {result: pytest.approx(weight, abs=1e-15) for result, weight in found.items()}


def test_two_addresses_are_independent():
    both = law_of(lambda coins: (coins.flip(0.5, A)[0], coins.flip(0.25, B)[0]))
    assert both == {(True, True): 0.125, (True, False): 0.375, (False, True): 0.125, (False, False): 0.375}


def test_one_address_asked_twice_is_one_coin():
    twice = law_of(lambda coins: (coins.flip(0.5, A)[0], coins.flip(0.7, A)[0]))
    assert twice == {(True, True): 0.5, (False, True): 0.2, (False, False): 0.3}


def test_a_flip_and_a_draw_at_one_address_share_its_u():
    row = rows.from_dense(np.array([0.25, 0.25, 0.5]))
    shared = law_of(lambda coins: (coins.choose(row, A), coins.flip(0.3, A)[0]))
    assert shared == {(0, True): 0.25, (1, True): 0.05, (1, False): 0.2, (2, False): 0.5}


def test_certain_answers_branch_nothing():
    sure = list(law.branches(lambda c: (c.flip(1.0, A)[0], c.flip(0.0, B)[0], c.flip(0.3, A, per=0.3)[0])))
    assert sure == [((True, False, True), 1.0)]


def test_the_u_of_a_flip_says_how_it_fell():
    for (accepted, u), _ in law.branches(lambda coins: coins.flip(0.5, A)):
        assert accepted == (u < 0.5)


@pytest.mark.parametrize("probs", [(0.2, 0.5, 0.3), (0.0, 1.0), (1e-6, 0.5, 0.5 - 1e-6)])
def test_a_race_is_won_by_each_token_with_its_probability(probs):
    row = rows.from_dense(np.array(probs))
    won = law_of(lambda coins: coins.race(row, A))
    assert won == {int(token): prob for token, prob in zip(row.ids, row.probs, strict=True)}


def test_a_race_run_twice_on_one_noise_has_one_winner():
    row = rows.from_dense(np.array([0.2, 0.5, 0.3]))
    assert all(a == b for a, b in law_of(lambda coins: (coins.race(row, A), coins.race(row, A))))


def test_winning_regions_fill_the_simplex():
    probs = np.array([0.1, 0.6, 0.05, 0.25])
    parts = [race.volume(race.where_wins(race.simplex(4), probs, winner)) for winner in range(4)]
    np.testing.assert_allclose(parts, probs, rtol=1e-12)


def test_the_targets_law_is_the_product_along_the_way():
    p = random_table(0, 2)
    expected = {(a, b): p(())[a] * p((a,))[b] for a in range(2) for b in range(2)}
    assert law.target_law(p, 2) == pytest.approx(expected)
    assert law.target_law(p, 0) == {(): 1.0}


def test_tv_of_two_laws():
    assert law.law_tv({(0,): 0.5, (1,): 0.5}, {(0,): 0.75, (2,): 0.25}) == pytest.approx(0.5)
    assert law.law_tv({(0,): 1.0}, {(0,): 1.0}) == 0.0


@pytest.mark.parametrize("k", [0, 1, 2])
@pytest.mark.parametrize("length", [0, 1, 3])
def test_a_law_sums_to_1_and_its_keys_are_plain_tuples_of_that_length(k, length):
    emitted = law.emitted_law(RULES["stochastic"], random_table(1, 3), random_table(2, 3), k, length)
    assert sum(emitted.values()) == pytest.approx(1, abs=1e-12)
    assert {len(tokens) for tokens in emitted} == {length}
    assert all(type(token) is int for tokens in emitted for token in tokens)


@dataclass(frozen=True)
class OneCoinForAll(Rule):
    """The ratio test with the coin of position 0, for the whole session."""

    id = "one-coin-for-all"

    def judge(self, block, coins):
        def test(i: int) -> Check:
            p, q = block.p_of(i), block.q_of(i)
            accepted, u = coins.flip(p, Address("accept", 0), per=q)
            return Check(min(1.0, p / q), u, accepted)

        return tokenwise.judge(block, coins, test, tokenwise.refill_from_residual(block, coins))


def test_a_rule_that_goes_back_to_an_old_coin_still_meets_the_same_u():
    """p = (1/3, 2/3), q = (2/3, 1/3), k = 1. With u < 1/2 every draft stands: q(a) p(b). Else a drafted 0
    is corrected to 1, in round after round; a drafted 1 stands and p(b) follows:
    (0, 0) = 1/2 2/3 1/3, (0, 1) = 1/2 2/3 2/3, (1, 0) = 1/2 1/3 1/3 + 1/2 1/3 1/3, (1, 1) the rest.
    """
    p, q = same_everywhere(1 / 3, 2 / 3), same_everywhere(2 / 3, 1 / 3)
    emitted = law.emitted_law(OneCoinForAll(), p, q, 1, 2)
    expected = {(0, 0): F(1, 9), (0, 1): F(2, 9), (1, 0): F(1, 9), (1, 1): F(5, 9)}
    assert emitted == pytest.approx({tokens: float(weight) for tokens, weight in expected.items()})


@pytest.mark.parametrize("rule", [RULES["stochastic"], RULES["one-hot"], RULES["block"]], ids=lambda r: r.id)
def test_following_each_state_once_changes_nothing(rule):
    """The same law from every single way, with nothing merged and nothing forgotten."""
    p, q = random_table(3, 2), random_table(4, 2)
    merged = law.emitted_law(rule, p, q, 2, 3)
    unmerged = law._emitted_law(rule, law._rows_of(p), law._rows_of(q), 2, 3, law._ever_asked)
    assert law.law_tv(merged, unmerged) < 1e-12


# Real sessions

LENGTH = 3
#: Chi-square on 7 degrees of freedom exceeds this once in a million seeds.
LIMIT = 40.5

CONTEXTUAL = random_logits(21, 2), random_logits(24, 2)
LOG_THIRDS = np.log(np.array([1 / 3, 2 / 3], dtype=np.float32))
THIRDS = (lambda tokens: LOG_THIRDS.copy()), (lambda tokens: LOG_THIRDS[::-1].copy())


@dataclass(frozen=True)
class BlockWithoutAttempts(BlockVerification):
    looks_ahead = False


def sessions(rule, models, n: int) -> Counter:
    """What toy sessions under the seeds 0, 1, 2, ... emitted."""
    target, draft = models
    drafter, scorer = ToyDrafter(draft), ToyScorer(target)
    return Counter(
        output(play(plan(rule, k=2, max_tokens=LENGTH, seed=seed), drafter, scorer)) for seed in range(n)
    )


def chi_square(counts: Counter, expected: dict) -> float:
    n = counts.total()
    assert len(expected) == 2**LENGTH
    return sum((counts[tokens] - n * prob) ** 2 / (n * prob) for tokens, prob in expected.items())


def tables(models):
    return [lambda tokens, m=m: warp.softmax(np.float64(m(PROMPT + tokens))) for m in models]


@pytest.mark.parametrize("rule_id", ["stochastic", "sampler-match", "block", "gumbel"])
def test_sessions_follow_the_enumerated_law(rule_id):
    counts = sessions(RULES[rule_id], CONTEXTUAL, 500)
    found = chi_square(counts, law.emitted_law(RULES[rule_id], *tables(CONTEXTUAL), 2, LENGTH))
    assert found < LIMIT, f"chi-square {found:.1f} on 7 df; a right rule exceeds {LIMIT} at one seed in 10^6"


@pytest.mark.parametrize("rule", [RULES["fault-residual-from-p"], BlockWithoutAttempts()], ids=lambda r: r.id)
def test_sessions_of_a_wrong_rule_follow_their_own_law_and_leave_the_target_s(rule):
    """The power of the test above. Block verification that shares coins is enumerated sharing and all."""
    p, q = tables(THIRDS)
    counts = sessions(rule, THIRDS, 1000)
    assert chi_square(counts, law.emitted_law(rule, p, q, 2, LENGTH)) < LIMIT
    wrong = chi_square(counts, law.target_law(p, LENGTH))
    assert wrong > LIMIT, f"no power: a biased rule passes as the target with chi-square {wrong:.1f}"
