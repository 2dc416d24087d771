"""What batching saves: sessions over shared passes, six at a time, against the same ones one by one.

    python -m bench.batching [--repeats 3] [--tokens 24]

One process, the bundled pair, both ways in turn, so that both meet the same moments of a busy machine. The
first table is of single passes, the second of whole sessions (six rules, two seeds), with everything a
session does besides. Both have medians over the repeats, fastest and slowest, and the ratio of the medians;
seconds of CPU are there because other programs disturb them less. Then it says whether both ways gave the
same tokens, and how far their rows are apart.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from engine import session
from engine.batch import Batch
from engine.core import rows
from engine.core.events import Event, Round
from engine.core.types import Row
from engine.mlx_backend import BLAS, load
from engine.mlx_backend.lanes import Ask, LaneModel
from engine.mlx_backend.scorer import CachedModel
from engine.models import Models
from engine.session import Request
from engine.worker import Run, execute

RULES = ("stochastic", "block", "sampler-match", "lenient", "typical", "cascade")
SEEDS = (0, 1)
LANES = 6
PROMPT = "What makes the sky blue? Answer in three sentences."
K = 4
PASSES = 4  # of each shape, in each repeat


@dataclass(frozen=True)
class Cost:
    """Seconds on the clock, and of CPU over all threads."""

    wall: float
    cpu: float


@dataclass
class Kept:
    """A sink that keeps the rounds."""

    rounds: list[Round] = field(default_factory=list)

    def tokenizer(self, fingerprint: str, pieces: Callable[[], dict[int, bytes]]) -> None:
        """Nobody reads the text."""

    def event(self, event: Event) -> None:
        if isinstance(event, Round):
            self.rounds.append(event)


def sessions(tokens: int) -> list[tuple[Run, Kept]]:
    asked = [
        Request(PROMPT, rule=rule, seed=seed, k=K, max_tokens=tokens) for seed in SEEDS for rule in RULES
    ]
    kept = [Kept() for _ in asked]
    return [(Run(session.plan(one), sink), sink) for one, sink in zip(asked, kept, strict=True)]


def cost(work: Callable[[], object]) -> Cost:
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return Cost(time.perf_counter() - wall, time.process_time() - cpu)


def gap(one: Row, other: Row) -> float:
    """The largest difference of a probability; both rows are whole."""
    _, ours, theirs = rows.pair(one, other)
    return float(np.abs(ours - theirs).max())


def apart(singles: list[Kept], lanes: list[Kept]) -> tuple[int, float]:
    """Sessions with the same tokens both ways, and the largest difference of a row while they are equal."""
    equal, largest = 0, 0.0
    for single, lane in zip(singles, lanes, strict=True):
        for x, y in zip(single.rounds, lane.rounds, strict=False):
            if x.block.tokens != y.block.tokens:
                break
            largest = max([largest, *map(gap, x.block.p, y.block.p), *map(gap, x.block.q, y.block.q)])
        equal += [done.emitted for done in single.rounds] == [done.emitted for done in lane.rounds]
    return equal, largest


def whole_sessions(models: Models, repeats: int, tokens: int) -> tuple[list[Cost], list[Cost], list[str]]:
    """What the sessions cost one by one and in lanes, and what the two ways gave."""
    alone, batched, said = [], [], []
    for _ in range(repeats):
        singles, lanes = sessions(tokens), sessions(tokens)
        alone.append(cost(lambda runs=singles: [execute(run, models) for run, _ in runs]))
        batch = Batch(tuple(run for run, _ in lanes), LANES)
        batched.append(cost(lambda batch=batch: batch.execute(models)))
        assert not batch.unbatched, batch.unbatched
        equal, largest = apart([kept for _, kept in singles], [kept for _, kept in lanes])
        same = f"{equal} of {len(lanes)} sessions have the same tokens"
        said.append(f"{same}; their rows differ by at most {largest:.1e}")
    return alone, batched, said


def passes(models: Models, repeats: int) -> dict[int, tuple[list[Cost], list[Cost]]]:
    """What a pass of one lane and of six costs, by rows a lane, behind a prompt of 60 tokens."""
    cached = models.pair("bundled", "self:3bit", load.no_progress).scorer.cached
    prompt = tuple(range(100, 161))
    six = LaneModel(CachedModel(cached.model, cached.name), LANES)
    for lane in range(LANES):
        six.begin(lane, prompt)
    cached.begin(prompt)
    found: dict[int, tuple[list[Cost], list[Cost]]] = {1: ([], []), K + 1: ([], [])}
    for _ in range(repeats * PASSES):
        for width, (alone, batched) in found.items():
            fed = prompt[:width]
            asks = [Ask(six, lane, fed) for lane in range(LANES)]
            alone.append(cost(lambda fed=fed: cached.feed(fed)))
            batched.append(cost(lambda asks=asks: six.feed(asks)))
            cached.rewind(width)
            for layer in six.layers:
                layer.lengths = [length - width for length in layer.lengths]
    return found


def told(values: list[float], unit: float = 1.0) -> str:
    scaled = [value * unit for value in values]
    return f"{statistics.median(scaled):.3g} ({min(scaled):.3g}-{max(scaled):.3g})"


def ratio(above: list[float], below: list[float]) -> float:
    return statistics.median(above) / statistics.median(below)


def passes_table(found: dict[int, tuple[list[Cost], list[Cost]]]) -> str:
    lines = [f"| pass | one lane, ms | {LANES} lanes, ms | ratio |", "|---|---|---|---|"]
    for width, (alone, batched) in found.items():
        name = "draft step, 1 row a lane" if width == 1 else f"verification, {width} rows a lane"
        for clock in ("wall", "cpu"):
            one, six = ([getattr(taken, clock) for taken in side] for side in (alone, batched))
            lines.append(f"| {name}, {clock} | {told(one, 1e3)} | {told(six, 1e3)} | {ratio(six, one):.2f} |")
    return "\n".join(lines)


def sessions_table(alone: list[Cost], batched: list[Cost]) -> str:
    """`six lanes against one`: what six sessions together cost, in sessions alone."""
    lines = [f"| {len(RULES) * len(SEEDS)} sessions | one by one, s | {LANES} at a time, s | saved |"]
    lines[0] += f" {LANES} lanes against one |"
    lines.append("|---|---|---|---|---|")
    for clock in ("wall", "cpu"):
        one, six = ([getattr(taken, clock) for taken in side] for side in (alone, batched))
        part = ratio(six, one)
        lines.append(f"| {clock} | {told(one)} | {told(six)} | {1 - part:.0%} | {LANES * part:.2f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--repeats", type=int, default=3, help="of both ways (default 3)")
    parser.add_argument("--tokens", type=int, default=24, help="of each session (default 24)")
    asked = parser.parse_args()
    models = Models()
    print(f"{BLAS.kind}; k = {K}, {asked.tokens} tokens, {asked.repeats} repeats; median (fastest-slowest)\n")
    print(passes_table(passes(models, asked.repeats)), "\n")
    alone, batched, said = whole_sessions(models, asked.repeats, asked.tokens)
    print(sessions_table(alone, batched), "\n")
    print("\n".join(said))
    models.close()


if __name__ == "__main__":
    main()
