"""From logits to effective p: each step by hand, and the one order they come in.

Most rows below are logarithms of the weights (8, 4, 2, 1, 1): their softmax is 8/16, 4/16, 2/16, 1/16, 1/16.
"""

from dataclasses import fields

import numpy as np
import pytest

from engine.core import rows, warp
from engine.core.types import SAMPLING_LIMITS, Address, Sampling
from engine.errors import BadRow, BadSetting
from tests.core.fixed_coins import FixedCoins

WEIGHTS = (8, 4, 2, 1, 1)
AT = Address("xtc", 3)


def logits(*weights: float) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log(np.array(weights, dtype=float))


def effective(weights, *, coins=None, history=(), **sampling) -> np.ndarray:
    """float64[V]; temperature 1 unless given."""
    settings = Sampling(**{"temperature": 1.0} | sampling)
    return rows.dense(warp.effective(logits(*weights), settings, history, coins, AT))


def assert_weights(found: np.ndarray, *weights: float) -> None:
    """The row is these weights over their sum, and has mass nowhere else."""
    np.testing.assert_allclose(found, np.array(weights) / sum(weights), rtol=1e-12, atol=0)


def test_without_settings_it_is_the_softmax():
    assert_weights(effective(WEIGHTS), *WEIGHTS)


def test_temperature_raises_to_its_reciprocal():
    assert_weights(effective(WEIGHTS, temperature=0.5), 64, 16, 4, 1, 1)
    assert_weights(effective((16, 4, 1), temperature=2.0), 4, 2, 1)


def test_top_k_keeps_the_best_and_of_a_tie_the_lowest_ids():
    assert_weights(effective(WEIGHTS, top_k=2), 8, 4, 0, 0, 0)
    assert_weights(effective(WEIGHTS, top_k=4), 8, 4, 2, 1, 0)
    assert_weights(effective((1, 1, 1, 1), top_k=2), 1, 1, 0, 0)
    assert_weights(effective(WEIGHTS, top_k=99), *WEIGHTS)


def test_top_p_keeps_the_fewest_that_reach_it_and_of_a_tie_the_lowest_ids():
    assert_weights(effective(WEIGHTS, top_p=0.49), 8, 0, 0, 0, 0)
    assert_weights(effective(WEIGHTS, top_p=0.51), 8, 4, 0, 0, 0)
    assert_weights(effective(WEIGHTS, top_p=0.9), 8, 4, 2, 1, 0)
    assert_weights(effective((1, 1, 1, 1), top_p=0.3), 1, 1, 0, 0)
    assert_weights(effective(WEIGHTS, top_p=1e-9), 8, 0, 0, 0, 0)


def test_top_p_does_not_keep_a_token_behind_a_mass_that_is_reached():
    """Half the mass is there with the first token; a sum minus its last term would fall an ulp short."""
    probs = np.array([0.5, 0.5 - 1e-16, 1e-16])
    kept = warp.filtered(probs, Sampling(top_p=0.5))
    assert np.flatnonzero(kept).tolist() == [0]


def test_min_p_is_a_share_of_the_best_and_keeps_all_of_a_tie():
    assert_weights(effective(WEIGHTS, min_p=0.2), 8, 4, 2, 0, 0)
    assert_weights(effective(WEIGHTS, min_p=0.124), *WEIGHTS)
    assert_weights(effective((3, 3, 1), min_p=1.0), 1, 1, 0)


def test_top_p_is_taken_of_what_top_k_left():
    """(8, 4, 2)/14: 12/14 of it is two tokens. Of the whole row .8 would be three: 8/16 + 4/16 < .8."""
    assert_weights(effective(WEIGHTS, top_k=3, top_p=0.8), 8, 4, 0, 0, 0)
    assert_weights(effective(WEIGHTS, top_p=0.8), 8, 4, 2, 0, 0)


def test_min_p_comes_after_top_p():
    """Top-p .8 of the whole row keeps 8, 4, 2. Min-p first would leave (8, 4, 2)/14, and then top-p two."""
    assert_weights(effective(WEIGHTS, top_p=0.8, min_p=0.2), 8, 4, 2, 0, 0)


def test_temperature_comes_after_the_filters_unless_asked_to_come_first():
    """Top-p .7 of 8/16, 4/16 keeps two, then squares: 64, 16. Squared first, 64/86 alone reaches .7."""
    cold = {"temperature": 0.5, "top_p": 0.7}
    assert_weights(effective(WEIGHTS, **cold), 64, 16, 0, 0, 0)
    assert_weights(effective(WEIGHTS, **cold, order="temperature-first"), 1, 0, 0, 0, 0)


XTC = {"xtc_probability": 0.5, "xtc_threshold": 0.3}


def test_xtc_drops_the_top_choices_but_the_least_likely_when_its_coin_falls():
    falls, stays = FixedCoins(xtc={3: 0.49}), FixedCoins(xtc={3: 0.5})
    assert_weights(effective((5, 4, 1), coins=falls, **XTC), 0, 4, 1)
    assert_weights(effective((5, 4, 1), coins=stays, **XTC), 5, 4, 1)
    assert falls.asked == stays.asked == [AT]


def test_xtc_leaves_a_single_top_choice_alone_but_tosses_its_coin_all_the_same():
    coins = FixedCoins(0.0)
    assert_weights(effective((8, 1, 1), coins=coins, **XTC), 8, 1, 1)
    assert coins.asked == [AT]


def test_xtc_keeps_the_lowest_id_of_a_tie():
    assert_weights(effective((4, 4, 2), coins=FixedCoins(0.0), **XTC), 4, 0, 2)


def test_xtc_sees_the_filtered_row_before_temperature():
    """Top-k 2 leaves 2/3, 1/3: both above .3. In the whole row 4/16 is not; squared, 1/5 is not either."""
    settings = XTC | {"top_k": 2, "temperature": 0.5}
    assert_weights(effective(WEIGHTS, coins=FixedCoins(0.0), **settings), 0, 4, 0, 0, 0)
    assert_weights(effective(WEIGHTS, coins=FixedCoins(0.0), **XTC), *WEIGHTS)
    first = settings | {"order": "temperature-first"}
    assert_weights(effective(WEIGHTS, coins=FixedCoins(0.0), **first), 64, 16, 0, 0, 0)


def test_xtc_without_its_coin_is_an_error_and_no_coin_is_asked_without_xtc():
    with pytest.raises(ValueError, match="XTC needs coins"):
        effective(WEIGHTS, **XTC)
    coins = FixedCoins()
    effective(WEIGHTS, coins=coins, top_k=2)
    assert coins.asked == []


def scores(values, history=(), **sampling) -> np.ndarray:
    """Logits after bias and penalties."""
    settings = Sampling(**sampling)
    return warp.penalised(warp.biased(np.array(values, dtype=float), settings), settings, history)


def test_bias_adds_to_the_logit():
    assert scores([1, 2], logit_bias=((0, 0.5), (1, -3))).tolist() == [1.5, -1.0]


def test_the_repetition_penalty_divides_what_is_positive_and_multiplies_what_is_not():
    assert scores([3, -3, 3], history=(0, 1, 0), repetition_penalty=1.5).tolist() == [2.0, -4.5, 3.0]


def test_presence_counts_once_and_frequency_every_time():
    history = (0, 0, 0, 1)
    assert scores([1, 1, 1], history, presence_penalty=0.5).tolist() == [0.5, 0.5, 1.0]
    assert scores([1, 1, 1], history, frequency_penalty=0.5).tolist() == [-0.5, 0.5, 1.0]
    both = {"presence_penalty": 0.25, "frequency_penalty": 0.5, "repetition_penalty": 2.0}
    assert scores([1, 1, 1], history, **both).tolist() == [0.5 - 0.25 - 1.5, 0.5 - 0.25 - 0.5, 1.0]


def test_the_window_looks_back_from_the_row():
    history = (0, 1, 2)
    assert scores([1, 1, 1], history, presence_penalty=1.0, penalty_window=2).tolist() == [1, 0, 0]
    assert scores([1, 1, 1], history, presence_penalty=1.0).tolist() == [0, 0, 0]


def test_bias_comes_before_the_penalties():
    """-1 + 5 = 4, halved is 2; the other way round -1 doubled is -2, and 3 with the bias."""
    assert scores([-1, 0], (0,), logit_bias=((0, 5),), repetition_penalty=2.0).tolist() == [2, 0]


def test_penalties_come_before_the_filters():
    assert_weights(effective((8, 4, 2), history=(0,), presence_penalty=np.log(8), top_k=1), 0, 1, 0)
    assert_weights(effective((8, 4, 2), history=(0,), presence_penalty=np.log(8), top_k=2), 0, 4, 2)


@pytest.mark.parametrize("order", ["filters-then-temperature", "temperature-first"])
@pytest.mark.parametrize("temperature", [0.0, 1.0, 100.0])
def test_a_bias_of_minus_100_bans_at_every_logit_and_temperature(temperature, order):
    row = warp.effective(
        np.array([500.0, 1.0, 0.0]),
        Sampling(temperature=temperature, logit_bias=((0, -100.0),), order=order),
    )
    assert row.prob(0) == 0 and 0 not in row.ids


def test_a_bias_short_of_that_is_only_a_bias():
    row = warp.effective(np.array([0.0, 0.0]), Sampling(temperature=100.0, logit_bias=((0, -99.0),)))
    assert row.prob(0) == pytest.approx(1 / (1 + np.exp(0.99)))


def test_a_bias_on_an_id_that_is_not_there_changes_nothing():
    assert scores([1, 2], logit_bias=((2, 5), (-1, 5))).tolist() == [1, 2]


@pytest.mark.parametrize("greedy", [{"temperature": 0.0}, {"top_k": 1}])
def test_greedy_is_the_argmax_and_of_a_tie_the_lowest_id(greedy):
    settings = Sampling(**greedy, **XTC)
    assert settings.greedy
    assert warp.effective(np.array([1.0, 3.0, 3.0]), settings) == rows.one_hot(1, 3)
    biased = Sampling(**greedy, logit_bias=((2, 0.5),))
    assert warp.effective(np.array([1.0, 3.0, 3.0]), biased) == rows.one_hot(2, 3)


@pytest.mark.parametrize("order", ["filters-then-temperature", "temperature-first"])
def test_a_temperature_too_small_to_divide_by_is_the_argmax(order):
    row = warp.effective(np.array([90.0, 80.0, -3.0]), Sampling(temperature=1e-310, order=order))
    assert row == rows.one_hot(0, 3)


@pytest.mark.parametrize("sampling", [Sampling(), Sampling(temperature=0.0)])
@pytest.mark.parametrize(
    ("values", "what"),
    [
        ([np.nan, 1.0], "NaN"),
        ([np.nan, np.nan], "NaN"),
        ([np.inf, 1.0], "infinity"),
        ([-np.inf, -np.inf], "probability 0"),
    ],
)
def test_a_row_that_is_none_is_refused(values, what, sampling):
    with pytest.raises(BadRow, match=what):
        warp.effective(np.array(values), sampling)
    with pytest.raises(BadRow, match=what):
        warp.raw(np.array(values))


def test_minus_infinity_is_a_mask():
    row = warp.effective(np.array([-np.inf, 1.0, 1.0]), Sampling(temperature=0.3))
    assert (row.ids.tolist(), row.probs.tolist()) == ([1, 2], [0.5, 0.5])


def test_banning_every_token_is_refused():
    bans = tuple((i, -100.0) for i in range(2))
    for temperature in (0.0, 1.0):
        with pytest.raises(BadRow, match="probability 0"):
            warp.effective(np.zeros(2), Sampling(temperature=temperature, logit_bias=bans))


@pytest.mark.parametrize("bias", [np.nan, np.inf, -np.inf])
def test_a_bias_that_is_no_number_is_refused(bias):
    with pytest.raises(BadSetting, match="logit_bias of token 7"):
        Sampling(logit_bias=((7, bias),))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_logits_are_left_as_they_were(dtype):
    given = np.array([1.0, 2.0, 3.0], dtype=dtype)
    given.setflags(write=False)
    warp.effective(given, Sampling(logit_bias=((0, 9),), presence_penalty=1.0), history=(1,))
    warp.raw(given)
    assert given.tolist() == [1.0, 2.0, 3.0]


def test_the_raw_row_is_the_softmax_before_everything_and_keeps_what_is_named():
    row = warp.raw(logits(*WEIGHTS), keep=(4,), n=2)
    assert row.ids.tolist() == [0, 1, 4]
    np.testing.assert_allclose(row.probs, [8 / 16, 4 / 16, 1 / 16], rtol=1e-12)
    assert row.tail == pytest.approx(3 / 16)


def test_drafter_and_target_share_temperature_and_truncation_alone():
    sampling = Sampling(
        temperature=0.5,
        top_k=5,
        top_p=0.9,
        min_p=0.05,
        logit_bias=((1, 2.0),),
        repetition_penalty=1.1,
        presence_penalty=0.1,
        frequency_penalty=0.2,
        penalty_window=64,
        xtc_probability=0.5,
        xtc_threshold=0.2,
        order="temperature-first",
    )
    assert sampling.mirrored() == Sampling(
        temperature=0.5, top_k=5, top_p=0.9, min_p=0.05, order="temperature-first"
    )
    assert Sampling.from_dict(sampling.to_dict()) == sampling


@pytest.mark.parametrize("name", SAMPLING_LIMITS)
def test_every_number_keeps_its_limits(name):
    low, high, _ = SAMPLING_LIMITS[name]
    Sampling(**{name: high})
    for value in (low - 1, high + 1, float("nan")):
        with pytest.raises(BadSetting, match=f"{name} is"):
            Sampling(**{name: value})


def test_every_setting_is_limited_somewhere():
    assert {field.name for field in fields(Sampling)} == {*SAMPLING_LIMITS, "logit_bias", "order"}
    with pytest.raises(BadSetting, match="top_p is 0"):
        Sampling(top_p=0.0)
    with pytest.raises(BadSetting, match="order is 'sideways'"):
        Sampling(order="sideways")
