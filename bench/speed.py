"""How long one target pass of the bundled model takes, with MLX's own BLAS and with OpenBLAS.

    python bench/speed.py [--rounds 3]

Each side runs in a process of its own, in turn, so that both meet the same moments of a busy machine;
the table has the median over all passes, the fastest and slowest, and the ratio of the medians.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

ROWS = (1, 2, 5, 8)
PASSES = 5
PROMPT = "What makes the sky blue? Answer in three sentences."


def measure(side: str) -> dict:
    """Milliseconds of every pass by rows, and what multiplied. `side` is "stock" or "openblas"."""
    if side == "stock":
        import mlx.core  # noqa: F401 - loaded first, it keeps its own BLAS
    from engine.mlx_backend import BLAS, load

    target = load.load_target("bundled")
    scorer = load.scorer(target)
    prompt = target.text.encode(PROMPT, raw=False)
    scorer.prefill(prompt)
    times = {}
    for rows in ROWS:
        times[rows] = []
        for _ in range(PASSES + 1):
            start = time.perf_counter()
            scorer.score((prompt[-1],) * rows)
            times[rows].append(1e3 * (time.perf_counter() - start))
            scorer.rewind(rows)
        times[rows].pop(0)  # the first pass of a shape also allocates
    return {"blas": f"{BLAS.kind}: {BLAS.detail}", "times": times}


def child(side: str) -> dict:
    command = [sys.executable, __file__, "--side", side]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def told(times: list[float]) -> str:
    return f"{statistics.median(times):.0f} ({min(times):.0f}-{max(times):.0f})"


def table(sides: dict[str, list[dict]]) -> str:
    """A Markdown table: milliseconds as median (fastest-slowest)."""
    lines = ["| rows in a pass | stock MLX, ms | OpenBLAS, ms | ratio |", "|---|---|---|---|"]
    for rows in map(str, ROWS):
        stock, ours = ([t for run in sides[s] for t in run["times"][rows]] for s in ("stock", "openblas"))
        ratio = statistics.median(stock) / statistics.median(ours)
        lines.append(f"| {rows} | {told(stock)} | {told(ours)} | {ratio:.1f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=3, help="processes a side (default 3)")
    parser.add_argument("--side", choices=("stock", "openblas"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.side:
        print(json.dumps(measure(asked.side)))
        return
    sides: dict[str, list[dict]] = {"stock": [], "openblas": []}
    for _ in range(asked.rounds):
        for side, runs in sides.items():
            runs.append(child(side))
    for side, runs in sides.items():
        print(f"{side}: {runs[0]['blas']}")
    print(f"{asked.rounds} processes a side, {PASSES} passes each\n")
    print(table(sides))


if __name__ == "__main__":
    main()
