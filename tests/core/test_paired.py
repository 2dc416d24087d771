"""Intervals against scipy, and that they hold what they should as often as they say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special
from scipy import stats as scipy_stats

from engine.core import paired

DOFS = (1, 2, 3, 5, 10, 29, 100, 1000, 100_000)


@pytest.mark.parametrize("dof", DOFS)
@pytest.mark.parametrize("prob", [0.001, 0.025, 0.3, 0.5, 0.6, 0.9, 0.975, 0.995, 0.99999])
def test_quantiles_are_scipys(prob, dof):
    assert paired.t_quantile(prob, dof) == pytest.approx(scipy_stats.t.ppf(prob, dof), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("dof", DOFS)
@pytest.mark.parametrize("t", [-50.0, -3.0, -0.1, 0.0, 1e-9, 0.7, 2.0, 12.0, 300.0])
def test_tails_are_scipys(t, dof):
    assert paired.t_cdf(t, dof) == pytest.approx(scipy_stats.t.cdf(t, dof), rel=1e-9, abs=1e-15)


@given(a=st.floats(0.5, 200), b=st.floats(0.5, 200), x=st.floats(0, 1))
def test_the_incomplete_beta_function_is_scipys(a, b, x):
    assert paired.incomplete_beta(a, b, x) == pytest.approx(special.betainc(a, b, x), rel=1e-8, abs=1e-13)


@pytest.mark.parametrize(("prob", "dof"), [(0, 3), (1, 3), (0.5, 0), (float("nan"), 3)])
def test_a_quantile_that_is_none_is_refused(prob, dof):
    with pytest.raises(ValueError):
        paired.t_quantile(prob, dof)


@given(st.lists(st.floats(-100, 100), min_size=2, max_size=30), st.sampled_from([0.5, 0.9, 0.95, 0.99]))
def test_an_interval_is_scipys(values, level):
    found = paired.mean(values, level)
    assert found.mean == pytest.approx(np.mean(values), abs=1e-9)
    error = scipy_stats.sem(values)
    if error > 1e-9:
        low, high = scipy_stats.t.interval(level, len(values) - 1, np.mean(values), error)
        assert (found.low, found.high) == (pytest.approx(low, rel=1e-6), pytest.approx(high, rel=1e-6))


def test_too_few_values_have_no_interval():
    assert paired.mean([]) == paired.Estimate(0, None, None, None)
    assert paired.mean([None, 2.0, None]) == paired.Estimate(1, 2.0, None, None)


def test_a_pair_that_lacks_one_is_left_out():
    found = paired.difference([1.0, None, 5.0, 4.0], [0.0, 3.0, None, 1.0])
    assert (found.n, found.mean) == (2, 2.0)


def test_pairs_must_be_pairs():
    with pytest.raises(ValueError):
        paired.difference([1.0], [1.0, 2.0])


def test_a_difference_of_pairs_is_surer_than_either_mean():
    rng = np.random.default_rng(0)
    base = rng.normal(0, 10, 40)
    more = base + 0.5 + rng.normal(0, 0.1, 40)
    found = paired.difference(more.tolist(), base.tolist())
    assert found.low < 0.5 < found.high and found.high - found.low < 0.1
    alone = paired.mean(more.tolist())
    assert alone.high - alone.low > 3


def test_intervals_hold_the_mean_as_often_as_they_say():
    """2 000 intervals at 95 %: their share is within five standard deviations (2.4 points) of it, which a
    right interval misses less than once in a million; one with the normal quantile at n = 4 holds 85 %."""
    rng = np.random.default_rng(1)
    samples = rng.normal(3.0, 2.0, (2000, 4)).tolist()
    held = np.mean([e.low <= 3.0 <= e.high for e in map(paired.mean, samples)])
    assert abs(held - 0.95) < 0.0244
    width = 1.96 / paired.t_quantile(0.975, 3)
    normal = np.mean([abs(e.mean - 3.0) <= width * (e.high - e.mean) for e in map(paired.mean, samples)])
    assert normal < 0.90
