"""Where randomness comes from: every number has an address, so switching a rule never moves another draw.

Three sources stand behind the `Coins` protocol: `PhiloxCoins` computes a number from (seed, address),
`RecordingCoins` writes down what fell, and `engine.core.law` enumerates every way they could fall.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from engine.core import rows
from engine.core.types import PURPOSES, Address, Block, Coin, Row, Rule, Verdict
from engine.errors import BadSetting

MAX_SEED = 2**63 - 1


@lru_cache(maxsize=4096)
def uniform(seed: int, at: Address) -> float:
    """The number at an address under a seed, in [0, 1), a multiple of 2^-53.

    Philox 4x64-10 (Salmon et al. 2011) with key = seed, counter = [0, attempt, position, purpose], first
    output word, top 53 bits. NumPy steps the counter before its first output, so the block that is
    enciphered is [1, attempt, position, purpose].
    """
    counter = [0, at.attempt, at.position, PURPOSES[at.purpose]]
    raw = np.random.Philox(key=seed, counter=counter).random_raw()
    return (int(raw) >> 11) * 2.0**-53


class PhiloxCoins:
    """Addressed coins under one seed (0 to 2^63 - 1). Holds no state."""

    def __init__(self, seed: int) -> None:
        if not 0 <= seed <= MAX_SEED:
            raise BadSetting(f"seed is {seed}.", f"Give a whole number from 0 to {MAX_SEED}.")
        self.seed = seed

    def uniform(self, at: Address) -> float:
        return uniform(self.seed, at)

    def flip(self, prob: float, at: Address, per: float = 1.0) -> tuple[bool, float]:
        u = self.uniform(at)
        return u * per < prob, u

    def choose(self, row: Row, at: Address) -> int:
        return rows.quantile(row, self.uniform(at))

    def race(self, row: Row, at: Address) -> int:
        return int(row.ids[np.argmin(arrivals(self.seed, at, row.ids) / row.probs)])


def arrivals(seed: int, at: Address, ids: np.ndarray) -> np.ndarray:  # uint32[n] -> float64[n]
    """Each token's exponential clock at an address: the output words of the same Philox stream, one a
    token id, so that every row asked there meets the same noise (Daliri et al. 2024, arXiv 2408.07978)."""
    counter = [0, at.attempt, at.position, PURPOSES[at.purpose]]
    raw = np.random.Philox(key=seed, counter=counter).random_raw(int(ids[-1]) + 1)[ids]
    return -np.log(((raw >> np.uint64(11)) + 0.5) * 2.0**-53)


class RecordingCoins(PhiloxCoins):
    """Philox coins that keep each one as it fell, in order, once per address.

    A draw from a one-hot row is no coin (the token is forced), so it leaves no record: greedy sessions
    record nothing. `drew` is the address of the last draw from a row, None when that token was forced.
    """

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.fallen: dict[Address, Coin] = {}
        self.drew: Address | None = None

    def flip(self, prob: float, at: Address, per: float = 1.0) -> tuple[bool, float]:
        accepted, u = super().flip(prob, at, per)
        self.fallen[at] = Coin(at, u, int(accepted))
        return accepted, u

    def choose(self, row: Row, at: Address) -> int:
        self.drew = at if len(row.ids) > 1 else None
        if self.drew is None:
            return int(row.ids[0])
        u = self.uniform(at)
        token, low, high = rows.quantile_slice(row, u)
        self.fallen[at] = Coin(at, u, token, low, high)
        return token

    def race(self, row: Row, at: Address) -> int:
        self.drew = at if len(row.ids) > 1 else None
        if self.drew is None:
            return int(row.ids[0])
        token = super().race(row, at)
        (clock,) = arrivals(self.seed, at, np.array([token]))
        self.fallen[at] = Coin(at, float(np.exp(-clock)), token)
        return token

    def take(self) -> tuple[Coin, ...]:
        """The coins since the last take, and forget them."""
        coins = tuple(self.fallen.values())
        self.fallen.clear()
        return coins


def judge(rule: Rule, block: Block, coins: RecordingCoins) -> tuple[Verdict, Address | None]:
    """The rule's verdict, and the address of the coin that chose its next token: None where no coin did."""
    coins.drew = None
    verdict = rule.judge(block, coins)
    return verdict, coins.drew
