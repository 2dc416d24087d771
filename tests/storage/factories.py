"""Events for storage tests: small, complete, and honest about their arithmetic."""

from __future__ import annotations

import numpy as np

from engine.core import rows
from engine.core.events import Measure, PromptRead, Round, SessionFinished, SessionStarted, StageTimes
from engine.core.types import Address, Block, Check, Coin, Row, Sampling, Verdict

VOCAB = 6


def started(**changes) -> SessionStarted:
    fields = {
        "prompt": "Why is the sky blue?",
        "raw": False,
        "target": "bundled",
        "drafter": "self:3bit",
        "rule": "stochastic",
        "params": {},
        "asked": "stochastic",
        "reason": "",
        "sampling": Sampling(),
        "seed": 7,
        "k": 3,
        "max_tokens": 64,
    }
    return SessionStarted(**fields | changes)


def prompt_read(tokens: tuple[int, ...] = (1, 2, 3)) -> PromptRead:
    return PromptRead(tokens, 12.5, VOCAB, "toy", (0,), {"draftscope": "0.1.0"})


def finished(status: str = "finished", reason: str = "end of text") -> SessionFinished:
    return SessionFinished(status, reason, 125.0)


def row(*probs: float) -> Row:
    return rows.from_dense(np.array(probs) / sum(probs))


def zipf(vocab: int, rng: np.random.Generator, slope: float = 1.1) -> Row:
    """A full-support row whose n-th most probable token has mass about n^-slope, with some noise."""
    weights = np.arange(1, vocab + 1, dtype=np.float64) ** -slope * np.exp(rng.normal(0, 0.3, vocab))
    rng.shuffle(weights)
    return rows.from_dense(weights / weights.sum())


def rejecting_round(index: int, p: tuple[Row, ...], q: tuple[Row, ...], start: int | None = None) -> Round:
    """Round `index` of drafts argmax q whose first is accepted, when there are two or more, and whose next
    is rejected; the corrected token and the target's own draws are argmaxes too."""
    k = len(q)
    drafted = tuple(rows.argmax(r) for r in q)
    n_accepted = min(1, k - 1)
    start = 2 * index if start is None else start
    block = Block(start, drafted, q, p, (0,) * (k + 1))
    residual, mass = rows.residual(p[n_accepted], q[n_accepted])
    degenerate = residual is None
    corrected = rows.argmax(p[n_accepted] if degenerate else residual)
    checks = tuple(
        Check(min(1.0, p[i].prob(x) / q[i].prob(x)), 0.25 + 0.5 * i, i < n_accepted)
        for i, x in enumerate(drafted[: n_accepted + 1])
    )
    return Round(
        index=index,
        block=block,
        verdict=Verdict(checks, n_accepted, corrected, "corrected", residual, mass, degenerate),
        emitted=(*drafted[:n_accepted], corrected),
        own=tuple(rows.argmax(r) for r in p),
        coins=(
            Coin(Address("accept", start, 0), 0.25, 1),
            Coin(Address("residual", start + 1, 0), 0.5, corrected),
        ),
        measures=tuple(
            Measure(rows.overlap(a, b), rows.product(a, b), rows.entropy(a), rows.entropy(b))
            for a, b in zip(p, q, strict=False)
        ),
        entropy_bonus=rows.entropy(p[k]),
        times=StageTimes(1.5, 20.25, 0.5),
    )


def round_at(index: int) -> Round:
    """A round on a vocabulary of six: three drafts, one accepted, one rejected, one untested."""
    tilt = 1.0 + index
    p = (
        row(1, 2, 3, tilt, 1, 1),
        row(3, 0, 0, tilt, 5, 1),
        row(0, 0, 0, 0, 0, tilt),
        row(2, tilt, 0, 0, 0, 0),
    )
    q = (row(1, 2, 6, tilt, 0, 1), row(tilt, 9, 0, 0, 0, 40), row(0, 0, 5, 0, 0, tilt))
    return rejecting_round(index, p, q)


def fill(store, session_id: int, rounds: int) -> None:
    """Append the prompt and `rounds` rounds."""
    store.append(session_id, prompt_read())
    for index in range(rounds):
        store.append(session_id, round_at(index))
