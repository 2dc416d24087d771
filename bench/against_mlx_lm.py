"""Tokens per second of our loop beside mlx-lm's own `speculative_generate_step`.

    python -m bench.against_mlx_lm [--tokens 48] [--repeats 3]

Same pair in memory, same k, same sampling, one process, sides in turn; prompt reading and the first round
are left out. mlx-lm's loop is the sampler-match rule, so `sampler-match` is the like-for-like line. The
last line stores every round in SQLite, as the app does. Seeds differ a repeat, so texts do too.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from engine import rules, session
from engine.core import loop
from engine.core.events import PromptRead
from engine.core.types import Sampling
from engine.mlx_backend import BLAS, load
from storage import Store

K, TEMPERATURE = 4, 0.8
PROMPT = "Why is the sky blue?"


def stamps_of_mlx_lm(target: load.LoadedModel, draft, prompt: tuple[int, ...], tokens: int, seed: int):
    """The moment each token arrives."""
    import mlx.core as mx  # after engine.mlx_backend, which puts OpenBLAS in its way
    from mlx_lm.generate import speculative_generate_step
    from mlx_lm.sample_utils import make_sampler

    mx.random.seed(seed)
    step = speculative_generate_step(
        mx.array(prompt),
        target.model,
        draft.cached.model,
        num_draft_tokens=K,
        max_tokens=tokens,
        sampler=make_sampler(temp=TEMPERATURE),
    )
    for _ in step:
        yield time.perf_counter(), 1


def stamps_of_ours(
    target: load.LoadedModel,
    draft,
    scorer,
    prompt: tuple[int, ...],
    tokens: int,
    seed: int,
    rule: str,
    keep: Callable = lambda done: None,
) -> Iterator[tuple[float, int]]:
    """The moment each round arrives, and how many tokens it brings."""
    scorer.prefill(prompt)
    draft.start(prompt)
    plan = loop.Plan(prompt, rules.get(rule), Sampling(temperature=TEMPERATURE), seed, K, tokens)
    for done in loop.Generation(plan, draft, scorer):
        keep(done)
        yield time.perf_counter(), len(done.emitted)


def per_second(stamps: Iterator[tuple[float, int]]) -> float:
    """Tokens per second after the first arrival."""
    seen = list(stamps)
    return sum(n for _, n in seen[1:]) / (seen[-1][0] - seen[0][0])


def storing(store: Store, prompt: tuple[int, ...], target: load.LoadedModel) -> Callable:
    """A sink that writes each round in its own transaction."""
    session_id = store.create(session.plan(session.Request(PROMPT, rule="sampler-match")))
    store.append(session_id, PromptRead(prompt, 0.0, target.vocab, target.fingerprint))
    return lambda done: store.append(session_id, done)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--tokens", type=int, default=48)
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    target = load.load_target("bundled")
    scorer, draft = load.scorer(target), load.load_drafter("self:3bit", target)
    prompt = target.text.encode(PROMPT, raw=False)
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "bench.sqlite") as store:
        sides = {
            "mlx-lm speculative_generate_step": lambda seed: stamps_of_mlx_lm(
                target, draft, prompt, args.tokens, seed
            ),
            "ours, sampler-match": lambda seed: stamps_of_ours(
                target, draft, scorer, prompt, args.tokens, seed, "sampler-match"
            ),
            "ours, stochastic": lambda seed: stamps_of_ours(
                target, draft, scorer, prompt, args.tokens, seed, "stochastic"
            ),
            "ours, sampler-match, stored": lambda seed: stamps_of_ours(
                target,
                draft,
                scorer,
                prompt,
                args.tokens,
                seed,
                "sampler-match",
                storing(store, prompt, target),
            ),
        }
        rates = {name: [] for name in sides}
        for repeat in range(args.repeats + 1):
            for name, side in sides.items():
                rate = per_second(side(repeat))
                if repeat:  # the first turn warms up
                    rates[name].append(rate)
    base = statistics.median(next(iter(rates.values())))
    print(f"BLAS: {BLAS.kind}; k {K}, T {TEMPERATURE}, {args.tokens} tokens, {args.repeats} repeats\n")
    print("| loop | tokens/s, median (slowest-fastest) | against mlx-lm |\n|---|---|---|")
    for name, found in rates.items():
        middle = statistics.median(found)
        print(f"| {name} | {middle:.2f} ({min(found):.2f}-{max(found):.2f}) | {middle / base:.2f} |")


if __name__ == "__main__":
    main()
