"""Models as tables: a tuple of output tokens -> float64[V]. Every context has its own row."""

import numpy as np


def random_table(seed: int, vocab: int, zeros: float = 0.0):
    """Rows drawn per context; `zeros` is the chance of each token but one to have no mass."""

    def table(prefix: tuple[int, ...]) -> np.ndarray:
        rng = np.random.default_rng([seed, len(prefix), *prefix])
        weights = rng.exponential(size=vocab) + 0.02
        lost = rng.random(vocab) < zeros
        lost[rng.integers(vocab)] = False
        weights[lost] = 0.0
        return weights / weights.sum()

    return table


def one_hot_table(seed: int, vocab: int):
    """One certain token per context."""

    def table(prefix: tuple[int, ...]) -> np.ndarray:
        rng = np.random.default_rng([seed, len(prefix), *prefix])
        return np.eye(vocab)[rng.integers(vocab)]

    return table


def same_everywhere(*probs: float):
    """The same row after every prefix: independent positions."""
    row = np.array([float(prob) for prob in probs])
    return lambda prefix: row


def rows_by_length(*table_rows):
    """Row i after i tokens; the last row from there on."""
    arrays = [np.array([float(prob) for prob in probs]) for probs in table_rows]
    return lambda prefix: arrays[min(len(prefix), len(arrays) - 1)]


def disjoint_tables(seed: int, vocab: int):
    """Two tables that never agree: one lives on the first half of the ids, the other on the second."""
    whole, half = random_table(seed, vocab), vocab // 2

    def kept(prefix: tuple[int, ...], ids: slice) -> np.ndarray:
        row = np.zeros(vocab)
        row[ids] = whole(prefix)[ids]
        return row / row.sum()

    return lambda prefix: kept(prefix, slice(0, half)), lambda prefix: kept(prefix, slice(half, vocab))
