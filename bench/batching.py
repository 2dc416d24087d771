"""What batching saves: six sessions over shared passes against the same six one by one.

    python -m bench.batching [--repeats 3] [--tokens 24]

One process, the bundled pair, both ways in turn, so that both meet the same moments of a busy machine. The
sessions differ in rule and seed. The tables have medians over the repeats, fastest and slowest, and the
ratio of the medians; then whether both ways gave the same tokens, and how far their rows are apart.
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
PROMPT = "What makes the sky blue? Answer in three sentences."
K = 4
PASSES = 3  # of each shape, in each repeat


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
    asked = [Request(PROMPT, rule=rule, seed=seed, k=K, max_tokens=tokens) for seed, rule in enumerate(RULES)]
    kept = [Kept() for _ in asked]
    return [(Run(session.plan(one), sink), sink) for one, sink in zip(asked, kept, strict=True)]


def timed(work: Callable[[], object]) -> float:
    """Seconds."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


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


def whole_sessions(models: Models, repeats: int, tokens: int) -> tuple[dict[str, list[float]], list[str]]:
    """Seconds of one session, of six one by one and of six together, and what the two ways gave."""
    seconds: dict[str, list[float]] = {"one": [], "six one by one": [], "six together": []}
    said = []
    for _ in range(repeats):
        singles, lanes = sessions(tokens), sessions(tokens)
        each = [timed(lambda run=run: execute(run, models)) for run, _ in singles]
        batch = Batch(tuple(run for run, _ in lanes), len(RULES))
        seconds["six together"].append(timed(lambda batch=batch: batch.execute(models)))
        assert not batch.unbatched, batch.unbatched
        seconds["one"] += each
        seconds["six one by one"].append(sum(each))
        equal, largest = apart([kept for _, kept in singles], [kept for _, kept in lanes])
        same = f"{equal} of {len(RULES)} sessions have the same tokens"
        said.append(f"{same}; their rows differ by at most {largest:.1e}")
    return seconds, said


def passes(models: Models, repeats: int) -> dict[tuple[int, int], list[float]]:
    """Seconds of a pass by (lanes, rows a lane), behind a prompt of 60 tokens."""
    pair = models.pair("bundled", "self:3bit", load.no_progress)
    cached = pair.scorer.cached
    prompt = tuple(range(100, 161))
    seconds: dict[tuple[int, int], list[float]] = {}
    six = LaneModel(CachedModel(cached.model, cached.name), len(RULES))
    for lane in range(len(RULES)):
        six.begin(lane, prompt)
    cached.begin(prompt)
    for _ in range(repeats * PASSES):
        for width in (1, K + 1):
            fed = prompt[:width]
            asks = [Ask(six, lane, fed) for lane in range(len(RULES))]
            seconds.setdefault((1, width), []).append(timed(lambda fed=fed: cached.feed(fed)))
            seconds.setdefault((len(RULES), width), []).append(timed(lambda asks=asks: six.feed(asks)))
            cached.rewind(width)
            for layer in six.layers:
                layer.lengths = [length - width for length in layer.lengths]
    return seconds


def told(values: list[float], unit: float) -> str:
    scaled = [value * unit for value in values]
    return f"{statistics.median(scaled):.3g} ({min(scaled):.3g}-{max(scaled):.3g})"


def table(seconds: dict[str, list[float]]) -> str:
    one = statistics.median(seconds["one"])
    lines = ["| sessions | seconds | against one |", "|---|---|---|"]
    lines += [
        f"| {name} | {told(values, 1)} | {statistics.median(values) / one:.2f} |"
        for name, values in seconds.items()
    ]
    return "\n".join(lines)


def passes_table(seconds: dict[tuple[int, int], list[float]]) -> str:
    lines = ["| pass | one lane, ms | six lanes, ms | ratio |", "|---|---|---|---|"]
    for width, name in ((1, "draft step, 1 row a lane"), (K + 1, f"verification, {K + 1} rows a lane")):
        one, six = seconds[1, width], seconds[len(RULES), width]
        ratio = statistics.median(six) / statistics.median(one)
        lines.append(f"| {name} | {told(one, 1e3)} | {told(six, 1e3)} | {ratio:.2f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--repeats", type=int, default=3, help="of both ways (default 3)")
    parser.add_argument("--tokens", type=int, default=24, help="of each session (default 24)")
    asked = parser.parse_args()
    models = Models()
    print(f"{BLAS.kind}; k = {K}, {asked.tokens} tokens, {asked.repeats} repeats; median (fastest-slowest)\n")
    print(passes_table(passes(models, asked.repeats)), "\n")
    seconds, said = whole_sessions(models, asked.repeats, asked.tokens)
    print(table(seconds), "\n")
    print("\n".join(said))
    models.close()


if __name__ == "__main__":
    main()
