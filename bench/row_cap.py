"""What a cap on stored rows costs and hides: `python -m bench.row_cap` prints the table of docs/storage.md.

Rows are synthetic (49 152 tokens, mass near n^-slope), k = 4, one session of twelve rounds per cap.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np

from engine.core import rows
from engine.core.events import Round
from engine.core.types import Row
from storage import Store
from tests.storage.factories import rejecting_round, started, zipf

VOCAB, K, ROUNDS = 49_152, 4, 12


def perturbed(p: Row, rng: np.random.Generator) -> Row:
    """A drafter's row: p with log-normal noise on every probability."""
    weights = p.probs * np.exp(rng.normal(0, 1, len(p.probs)))
    return rows.from_dense(weights / weights.sum())


def some_rounds(slope: float) -> list[Round]:
    rng = np.random.default_rng(0)
    found = []
    for index in range(ROUNDS):
        p = tuple(zipf(VOCAB, rng, slope) for _ in range(K + 1))
        found.append(rejecting_round(index, p, tuple(perturbed(row, rng) for row in p[:K])))
    return found


def measure(rounds: list[Round], cap: int) -> tuple[float, float, float, float]:
    """KB a round, median ms to append one, ms a round to read back, mean tail of a p row."""
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "s.sqlite", row_cap=cap) as store:
        session_id = store.create(started(vocab=VOCAB))
        empty, times = store.size_bytes(), []
        for event in rounds:
            begun = time.perf_counter()
            store.append(session_id, event)
            times.append(time.perf_counter() - begun)
        begun = time.perf_counter()
        back = store.rounds(session_id, 0, ROUNDS)
        read_ms = (time.perf_counter() - begun) * 1e3 / ROUNDS
        tail = np.mean([row.tail for event in back for row in event.block.p])
        store.close()  # folds the write-ahead log into the file
        return (store.size_bytes() - empty) / 1e3 / ROUNDS, np.median(times) * 1e3, read_ms, float(tail)


def main() -> None:
    print(f"{'slope':>6}{'cap':>8}{'KB/round':>10}{'append ms':>11}{'read ms':>9}{'tail':>8}")
    for slope in (1.1, 1.5):
        rounds = some_rounds(slope)
        for cap in (512, 1024, 4096, VOCAB):
            kb, append_ms, read_ms, tail = measure(rounds, cap)
            print(f"{slope:6}{cap:8}{kb:10.0f}{append_ms:11.1f}{read_ms:9.2f}{tail:8.3f}")


if __name__ == "__main__":
    main()
