"""Coins: pinned values, one address one number, and draws that never fall beside the mass."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core import rows
from engine.core.coins import MAX_SEED, PhiloxCoins, RecordingCoins, uniform
from engine.core.types import PURPOSES, Address, Coin
from engine.errors import BadSetting

LAST = 1 - 2**-53

# for seed, at in ...: print(seed, at, uniform(seed, at).hex())
PINNED = [
    (0, Address("draft", 0, 0), "0x1.5e6529f6e3e04p-2"),
    (0, Address("accept", 0, 0), "0x1.bc44fdbfe7b81p-1"),
    (0, Address("target", 0, 0), "0x1.31fe0f43fd8fap-2"),
    (0, Address("residual", 0, 0), "0x1.bc84c9ba3e03dp-1"),
    (0, Address("xtc", 0, 0), "0x1.dc3340bb7545ep-1"),
    (1, Address("draft", 0, 0), "0x1.1462847d54618p-2"),
    (0, Address("draft", 1, 0), "0x1.cfc83c8da53fcp-2"),
    (0, Address("draft", 0, 1), "0x1.d390ff26aec82p-2"),
    (2**63 - 1, Address("accept", 99_999, 7), "0x1.5c1fb38748deep-1"),
]


@pytest.mark.parametrize(("seed", "at", "expected"), PINNED)
def test_the_number_at_an_address_never_changes(seed, at, expected):
    assert uniform(seed, at).hex() == expected


def test_purposes_keep_their_numbers():
    known = {"draft": 1, "accept": 2, "target": 3, "residual": 4, "xtc": 5}
    assert PURPOSES.items() >= known.items()
    assert len(set(PURPOSES.values())) == len(PURPOSES)


def philox_block(counter: list[int], key: list[int]) -> list[int]:
    """Philox 4x64-10, from the paper (Salmon et al. 2011, section 4.4): four 64-bit words."""
    word = 2**64 - 1
    a, b, c, d = counter
    k0, k1 = key
    for _ in range(10):
        high0, low0 = divmod(0xD2E7470EE14C6C93 * a, 2**64)
        high1, low1 = divmod(0xCA5A826395121157 * c, 2**64)
        a, b, c, d = high1 ^ b ^ k0, low1, high0 ^ d ^ k1, low0
        k0, k1 = (k0 + 0x9E3779B97F4A7C15) & word, (k1 + 0xBB67AE8584CAA73B) & word
    return [a, b, c, d]


def test_the_paper_s_own_known_answer():
    """Random123's kat_vectors, philox4x64 10, counter and key 0."""
    expected = [0x16554D9ECA36314C, 0xDB20FE9D672D0FDC, 0xD7E772CEE186176B, 0x7E68B68AEC7BA23B]
    assert philox_block([0, 0, 0, 0], [0, 0]) == expected


@pytest.mark.parametrize(("seed", "at", "_"), PINNED)
def test_the_number_is_philox_at_its_counter(seed, at, _):
    """Written out again without NumPy; its generator steps the counter before the first output."""
    first = philox_block([1, at.attempt, at.position, PURPOSES[at.purpose]], [seed, 0])[0]
    assert uniform(seed, at) == (first >> 11) * 2.0**-53


def test_neighbouring_addresses_have_numbers_of_their_own():
    addresses = [
        Address(purpose, position, attempt)
        for purpose in PURPOSES
        for position in range(12)
        for attempt in range(4)
    ]
    numbers = {uniform(seed, at) for seed in range(3) for at in addresses}
    assert len(numbers) == 3 * len(addresses)


def test_the_numbers_are_uniform_along_every_axis():
    """Mean of 3 000 numbers an axis: 5 standard errors, a false alarm in 6e-7 x 3 runs of another seed."""
    n = 3000
    axes = {
        "position": [uniform(1, Address("accept", i)) for i in range(n)],
        "attempt": [uniform(1, Address("accept", 0, i)) for i in range(n)],
        "seed": [uniform(i, Address("accept", 0)) for i in range(n)],
    }
    for axis, numbers in axes.items():
        assert all(0 <= u < 1 for u in numbers)
        off = abs(np.mean(numbers) - 0.5) * math.sqrt(12 * n)
        assert off < 5, f"{axis}: the mean lies {off:.1f} standard errors off"
        neighbours = abs(np.corrcoef(numbers[:-1], numbers[1:])[0, 1]) * math.sqrt(n)
        assert neighbours < 5, f"{axis}: neighbours correlate, {neighbours:.1f} standard errors"


@pytest.mark.parametrize("seed", [-1, MAX_SEED + 1])
def test_a_seed_outside_its_limits_is_refused(seed):
    with pytest.raises(BadSetting, match=f"seed is {seed}"):
        PhiloxCoins(seed)


AT = Address("accept", 4)


def test_a_flip_is_strict():
    u = uniform(0, AT)
    coins = PhiloxCoins(0)
    assert coins.flip(u, AT) == (False, u)
    assert coins.flip(np.nextafter(u, 1), AT) == (True, u)
    assert coins.flip(0.0, AT) == (False, u)


class At(PhiloxCoins):
    """Coins that all fall at one number."""

    def __init__(self, u: float) -> None:
        super().__init__(0)
        self.u = u

    def uniform(self, at: Address) -> float:
        return self.u


def test_a_flip_against_nothing_fails_at_u_0():
    assert At(0.0).flip(0.0, AT, per=0.5) == (False, 0.0)
    assert At(0.0).flip(1e-300, AT, per=0.5) == (True, 0.0)


@given(st.integers(0, 2**53 - 1), st.floats(1e-300, 1.0))
def test_the_ratio_test_takes_equal_masses_at_every_coin(n, mass):
    assert At(n * 2.0**-53).flip(mass, AT, per=mass)[0]


def wide_row():
    """V = 8193: mass on two ids in the middle, none at the end."""
    probs = np.zeros(8193)
    probs[[1000, 4000]] = 0.25, 0.75
    return rows.from_dense(probs)


@pytest.mark.parametrize(("u", "token"), [(0.0, 1000), (0.2499, 1000), (0.25, 4000), (LAST, 4000)])
def test_a_draw_is_the_inverse_cdf_in_ascending_id(u, token):
    assert At(u).choose(wide_row(), AT) == token


@given(
    st.lists(st.sampled_from([0.0, 1e-300, 1e-17, 0.1, 1.0, 3.0]), min_size=1, max_size=40).filter(any),
    st.one_of(st.sampled_from([0.0, LAST]), st.integers(0, 2**53 - 1).map(lambda n: n * 2.0**-53)),
)
def test_a_draw_is_always_an_id_with_mass(weights, u):
    probs = np.array(weights) / np.sum(weights)
    row = rows.from_dense(probs)
    assert probs[rows.quantile(row, u)] > 0


def test_a_row_cut_for_storage_is_drawn_from_by_what_it_kept():
    whole = rows.from_dense(np.array([0.5, 0.3, 0.1, 0.1]))
    part = rows.cut(whole, 2)
    assert (part.tail, part.exact) == (pytest.approx(0.2), False)
    assert rows.quantile(part, LAST) == 1


def test_recording_keeps_every_coin_once_in_order_and_forgets_on_take():
    coins = RecordingCoins(3)
    row = rows.from_dense(np.array([0.5, 0.5]))
    a, b = Address("accept", 0), Address("target", 0)
    accepted, u = coins.flip(0.7, a)
    token = coins.choose(row, b)
    assert coins.choose(row, b) == token
    assert coins.take() == (
        Coin(a, u, int(accepted)),
        Coin(b, uniform(3, b), token, *rows.quantile_slice(row, uniform(3, b))[1:]),
    )
    assert coins.take() == ()


def test_a_forced_token_is_no_coin():
    coins = RecordingCoins(3)
    assert coins.choose(rows.one_hot(7, 10), AT) == 7
    assert coins.race(rows.one_hot(7, 10), AT) == 7
    assert coins.take() == ()


def test_recording_changes_no_coin():
    plain, recording = PhiloxCoins(9), RecordingCoins(9)
    row = rows.from_dense(np.array([0.2, 0.5, 0.3]))
    for position in range(50):
        at = Address("target", position)
        assert plain.choose(row, at) == recording.choose(row, at)
        assert plain.flip(0.4, at) == recording.flip(0.4, at)
        assert plain.race(row, at) == recording.race(row, at)


def test_a_race_is_a_draw_from_its_row():
    """4 000 races on one row: chi-square, 2 degrees of freedom, below 27.6 but for one seed in a million."""
    row = rows.from_dense(np.array([0.2, 0.5, 0.3]))
    n = 4000
    counts = np.bincount([PhiloxCoins(1).race(row, Address("noise", i)) for i in range(n)], minlength=3)
    expected = n * rows.dense(row)
    assert ((counts - expected) ** 2 / expected).sum() < 27.6
    wrong = n * np.array([0.25, 0.45, 0.3])
    assert ((counts - wrong) ** 2 / wrong).sum() > 27.6, "the test has no power"


def test_races_at_one_address_share_their_noise():
    """Two rows that favour the same token more and less: the winner changes only towards the favoured."""
    low = rows.from_dense(np.array([0.4, 0.3, 0.3]))
    high = rows.from_dense(np.array([0.6, 0.2, 0.2]))
    for i in range(200):
        at = Address("noise", i)
        winners = PhiloxCoins(2).race(low, at), PhiloxCoins(2).race(high, at)
        assert winners[0] == winners[1] or winners[1] == 0
