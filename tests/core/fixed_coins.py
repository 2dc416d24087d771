"""Coins that fall as a test says."""

from engine.core import rows
from engine.core.coins import arrivals
from engine.core.types import Address, Row


class FixedCoins:
    """`us` gives the u of a (purpose, position); the rest fall at `default`. `asked` keeps every address."""

    def __init__(self, default: float = 0.0, **us: dict[int, float]) -> None:
        self.default = default
        self.us = us
        self.asked: list[Address] = []

    def uniform(self, at: Address) -> float:
        self.asked.append(at)
        return self.us.get(at.purpose, {}).get(at.position, self.default)

    def flip(self, prob: float, at: Address, per: float = 1.0) -> tuple[bool, float]:
        u = self.uniform(at)
        return u * per < prob, u

    def choose(self, row: Row, at: Address) -> int:
        return rows.quantile(row, self.uniform(at))

    def race(self, row: Row, at: Address) -> int:
        self.asked.append(at)
        return int(row.ids[(arrivals(0, at, row.ids) / row.probs).argmin()])
