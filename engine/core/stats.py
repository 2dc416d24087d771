"""Counters and closed forms, folded from rounds; nothing here is ever stored as truth.

Two acceptance rates, never confused: per_position_acceptance = accepted / positions_tested is the one
theory predicts; acceptance_rate = accepted / proposed falls with k by truncation alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from engine.core.events import Event, PromptRead, Round, SessionStarted


def ratio(a: float, b: float) -> float | None:
    """a / b, None where there is nothing to divide by."""
    return a / b if b else None


@dataclass(frozen=True)
class Counters:
    """What the rounds so far add up to. `rescued`: accepted although the target's own draw was another."""

    rounds: int = 0
    proposed: int = 0
    positions_tested: int = 0
    accepted: int = 0
    emitted: int = 0
    rescued: int = 0
    sum_min: float = 0.0  # over tested positions
    sum_prod: float = 0.0  # over tested positions

    def plus(self, done: Round) -> Counters:
        """The counters after one more round."""
        n = done.verdict.n_accepted
        tested = done.measures[: done.n_tested]
        return Counters(
            rounds=self.rounds + 1,
            proposed=self.proposed + done.block.k,
            positions_tested=self.positions_tested + done.n_tested,
            accepted=self.accepted + n,
            emitted=self.emitted + len(done.emitted),
            rescued=self.rescued + sum(done.own[i] != done.block.tokens[i] for i in range(n)),
            sum_min=self.sum_min + sum(m.overlap for m in tested),
            sum_prod=self.sum_prod + sum(m.product for m in tested),
        )

    @property
    def per_position_acceptance(self) -> float | None:
        return ratio(self.accepted, self.positions_tested)

    @property
    def acceptance_rate(self) -> float | None:
        return ratio(self.accepted, self.proposed)

    @property
    def mean_accepted_len(self) -> float | None:
        return ratio(self.accepted, self.rounds)

    @property
    def tokens_per_target_pass(self) -> float | None:
        return ratio(self.emitted, self.rounds)

    @property
    def closed_form_sum_min(self) -> float | None:
        """sum min(p, q), averaged over tested positions."""
        return ratio(self.sum_min, self.positions_tested)

    @property
    def closed_form_sum_prod(self) -> float | None:
        """sum p q, averaged over tested positions."""
        return ratio(self.sum_prod, self.positions_tested)

    def to_dict(self) -> dict:
        names = ("rounds", "proposed", "positions_tested", "accepted", "emitted", "rescued")
        rates = (
            "per_position_acceptance",
            "acceptance_rate",
            "mean_accepted_len",
            "tokens_per_target_pass",
        )
        return {name: getattr(self, name) for name in names + rates}


def counters(events: Iterable[Event]) -> Counters:
    """Fold the rounds among the events."""
    total = Counters()
    for event in events:
        if isinstance(event, Round):
            total = total.plus(event)
    return total


def acceptance_line(rule: str, c: Counters, fault: str = "") -> str:
    """The line a finished session prints; the same keys, in the same order, as servers that log one. One that
    was faulty on purpose has its `fault` at the end."""
    rates = {
        "per_position_acceptance": c.per_position_acceptance,
        "acceptance_rate": c.acceptance_rate,
        "mean_accepted_len": c.mean_accepted_len,
    }
    counts = {
        "rule": rule,
        "rounds": c.rounds,
        "proposed": c.proposed,
        "positions_tested": c.positions_tested,
        "accepted": c.accepted,
    }
    shown = counts | {key: "n/a" if value is None else f"{value:.4f}" for key, value in rates.items()}
    shown |= {"fault": fault} if fault else {}
    return "[Speculative acceptance] " + " ".join(f"{key}={value}" for key, value in shown.items())


def timings(events: Iterable[Event]) -> dict:
    """llama-server's `timings` object, with its draft fields when a drafter ran. Model loading is in none."""
    total = Counters()
    cache_n, prompt_n, prompt_ms, predicted_ms, kind = 0, 0, 0.0, 0.0, ""
    for event in events:
        if isinstance(event, SessionStarted):
            kind, prompt_n = event.drafter, len(event.forced)
        elif isinstance(event, PromptRead):
            cache_n, prompt_ms = event.cached, event.ms
            prompt_n += len(event.tokens) - cache_n
        elif isinstance(event, Round):
            total = total.plus(event)
            predicted_ms += event.times.draft + event.times.target + event.times.judge
    body = {
        "cache_n": cache_n,
        **_rates("prompt", prompt_n, prompt_ms),
        **_rates("predicted", total.emitted, predicted_ms),
    }
    if kind != "none":
        body |= {
            "draft_n": total.proposed,
            "draft_n_accepted": total.accepted,
            "draft_rounds": total.rounds,
            "draft_kind": kind,
        }
    return body


def _rates(name: str, n: int, ms: float) -> dict:
    return {
        f"{name}_n": n,
        f"{name}_ms": ms,
        f"{name}_per_token_ms": ratio(ms, n),
        f"{name}_per_second": ratio(1e3 * n, ms),
    }
