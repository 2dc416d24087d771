"""A session's statistics: each rate with its own denominator, intervals as SciPy has them."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from engine.core import session_stats
from engine.core.events import Judged, Law, Measure, StageTimes
from engine.core.session_stats import Share
from engine.rules import get
from tests.core.rounds import made_round
from tests.core.toys import ToyDrafter, ToyScorer, plan, play, random_logits

ROUNDS = [made_round(n_accepted=n, index=i) for i, n in enumerate((0, 1, 2, 3))] + [
    made_round((), 0, index=4)
]


def with_measures(done, *measures):
    return replace(done, measures=tuple(Measure(*one) for one in measures))


@given(st.integers(0, 400), st.integers(1, 400))
def test_the_interval_of_a_share_is_wilsons(part, whole):
    part = min(part, whole)
    low, high = Share(part, whole).interval
    wilson = scipy_stats.binomtest(part, whole).proportion_ci(0.95, method="wilson")
    assert (low, high) == pytest.approx((wilson.low, wilson.high), abs=1e-12)
    assert low <= part / whole + 1e-12 and part / whole <= high + 1e-12


def test_an_empty_share_has_no_rate_and_no_interval():
    assert Share(0, 0).to_dict() == {"part": 0, "whole": 0, "rate": None, "low": None, "high": None}


def test_depth_counts_what_was_drafted_and_what_was_tested():
    found = session_stats.by_depth(ROUNDS, session_stats.tests(ROUNDS))
    counts = [(one["depth"], one["drafted"], one["whole"], one["part"]) for one in found]
    assert counts == [(1, 4, 4, 3), (2, 4, 3, 2), (3, 4, 2, 1)]


def test_lengths_add_up_to_the_rounds():
    found = session_stats.lengths(ROUNDS)
    assert [(one["accepted"], one["part"], one["whole"]) for one in found] == [
        (0, 2, 5),
        (1, 1, 5),
        (2, 1, 5),
        (3, 1, 5),
    ]


def test_sums_over_depths_and_lengths_are_the_counters():
    body = session_stats.describe(ROUNDS)
    assert sum(one["part"] for one in body["by_depth"]) == body["measured"]["part"] == 6
    assert sum(one["whole"] for one in body["by_depth"]) == body["measured"]["whole"] == 9
    assert sum(one["accepted"] * one["part"] for one in body["lengths"]) == 6
    assert sum(one["emitted"] for one in body["pace"]) == body["emitted"] == 11
    assert sum(one["whole"] for one in body["by_entropy"]) == 9
    assert (body["rounds"], body["proposed"]) == (5, 12)


def spread(n: int, seed: int = 0) -> list:
    """n one-draft rounds whose entropies and fates go together, loosely."""
    rng = np.random.default_rng(seed)
    entropies = rng.uniform(0, 5, n)
    kept = rng.uniform(0, 1, n) < 1 / (1 + entropies)
    return [
        with_measures(made_round((0,), int(a), index=i), (0.5, 0.25, float(h), 1.0))
        for i, (h, a) in enumerate(zip(entropies, kept, strict=True))
    ]


def test_the_correlation_and_its_interval_are_pearsons():
    rounds = spread(200)
    found = session_stats.correlation(session_stats.tests(rounds))
    entropy = [done.measures[0].entropy_p for done in rounds]
    accepted = [float(done.verdict.n_accepted) for done in rounds]
    right = scipy_stats.pearsonr(entropy, accepted)
    interval = right.confidence_interval(0.95)
    assert found["r"] == pytest.approx(right.statistic, abs=1e-12)
    assert (found["low"], found["high"]) == pytest.approx((interval.low, interval.high), abs=1e-9)
    assert found["n"] == 200 and found["r"] < 0


@pytest.mark.parametrize("rounds", [[], ROUNDS[:1], [made_round(n_accepted=3)], ROUNDS[:3]])
def test_no_correlation_where_one_side_never_varies(rounds):
    assert session_stats.correlation(session_stats.tests(rounds))["r"] is None


def test_cells_of_entropy_are_as_equal_as_can_be():
    found = session_stats.by_entropy(session_stats.tests(spread(80)))
    assert [one["whole"] for one in found] == [10] * 8
    assert all(a["to"] < b["from"] for a, b in itertools.pairwise(found))


def test_one_entropy_is_one_cell():
    same = [with_measures(made_round((0,), 1, index=i), (0.5, 0.25, 2.0, 1.0)) for i in range(30)]
    (only,) = session_stats.by_entropy(session_stats.tests(same))
    assert (only["from"], only["to"], only["whole"], only["part"]) == (2.0, 2.0, 30, 30)


def test_the_closed_forms_average_over_tested_drafts_alone():
    ceiling, product = session_stats.closed_forms(session_stats.tests([made_round(n_accepted=1)]))
    assert (ceiling["expected"], product["expected"]) == (0.625, 0.25)  # depths 0 and 1 of three
    assert (ceiling["accepted"], ceiling["tested"]) == (1, 2)


def test_an_expectation_has_the_spread_of_its_own_coins():
    chances = np.array([0.1, 0.9, 0.5, 1.0])
    found = session_stats.expectation("x", chances, np.array([False, True, True, True]))
    reach = 1.959963984540054 * np.sqrt(0.09 + 0.09 + 0.25) / 4
    assert found["expected"] == pytest.approx(0.625)
    assert (found["low"], found["high"]) == pytest.approx((0.625 - reach, min(1, 0.625 + reach)))
    certain = session_stats.expectation("x", np.array([1.0, 1.0]), np.array([True, True]))
    assert (certain["low"], certain["high"], certain["p_value"]) == (1.0, 1.0, 1.0)


def test_the_rules_own_line_of_the_matrix_is_its_expectation():
    laws = (Law(0.0, 0.75), Law(0.0, 0.5))
    done = replace(
        made_round(n_accepted=1),
        matrix=(Judged("block", 1, 2, "corrected"), Judged("lenient", 1, 2, "corrected", laws)),
    )
    own, *_ = session_stats.describe([done], "lenient")["closed_forms"]
    assert (own["name"], own["expected"], own["accepted"], own["tested"]) == ("lenient", 0.625, 1, 2)
    assert [one["name"] for one in session_stats.describe([done], "block")["closed_forms"]] == [
        "sum min(p, q)",
        "sum p q",
    ]


def test_stages_share_the_whole_time():
    slow = made_round(n_accepted=1, times=StageTimes(3.0, 10.0, 1.0, 2.0))
    found = {one["stage"]: one for one in session_stats.stages([made_round(), slow])}
    assert {name: one["ms"] for name, one in found.items()} == {
        "draft": 4,
        "target": 12,
        "judge": 4,
        "matrix": 2,
    }
    assert sum(one["share"] for one in found.values()) == pytest.approx(1)
    assert found["target"]["median"] == 6.0


def test_untimed_rounds_have_no_shares_and_no_speed():
    done = made_round(times=StageTimes())
    assert [one["share"] for one in session_stats.stages([done])] == [None] * 4
    assert session_stats.pace([done])[0]["per_second"] is None


def test_a_long_session_is_drawn_with_few_points_that_lose_no_round():
    rounds = [made_round(n_accepted=1, index=i) for i in range(3000)]
    found = session_stats.pace(rounds)
    assert len(found) <= session_stats.MOST_POINTS
    assert [one["from"] for one in found] == [0, *(one["to"] + 1 for one in found[:-1])]
    assert sum(one["passes"] for one in found) == 3000
    assert found[0]["per_second"] == pytest.approx(
        1e3 * 2 / 6
    )  # two tokens in 1 + 2 + 3 ms, not the matrix's


def test_a_session_without_rounds_has_every_field_and_no_rate():
    body = session_stats.describe([])
    assert body["measured"]["rate"] is None
    assert body["by_depth"] == body["by_entropy"] == body["pace"] == []
    assert body["lengths"] == [
        {"accepted": 0, "part": 0, "whole": 0, "rate": None, "low": None, "high": None}
    ]
    assert {one["expected"] for one in body["closed_forms"]} == {None}


@pytest.mark.parametrize("rule_id", ["stochastic", "sampler-match"])
def test_a_real_run_sits_on_its_own_closed_form_and_not_on_the_other(rule_id):
    """At 0.0001 on each side; with this many tests the wrong one is off by more."""
    p, q = random_logits(1, 6), random_logits(2, 6)
    rounds = []
    for seed in range(150):
        rounds += play(plan(get(rule_id), seed=seed), ToyDrafter(q), ToyScorer(p))
    ceiling, product = session_stats.describe(rounds)["closed_forms"]
    right, wrong = (ceiling, product) if rule_id == "stochastic" else (product, ceiling)
    assert right["p_value"] > 1e-4, right
    assert wrong["p_value"] < 1e-4, wrong
