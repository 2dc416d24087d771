"""A branch: a session that goes on from another one's output, with one token chosen by hand.

Positions stay absolute and coins keep their addresses, so a branch and its parent are aligned, and where
both see the same rows they meet the same coins. A rule that looks ahead has let the coins behind a position
decide the tokens before it. Those coins must not be met again, so the branch begins with their attempts
counted (docs/compare.md); a rule that does not look ahead has used none of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from engine.core.events import Round, SessionStarted
from engine.core.types import Rule
from engine.errors import BadSetting


def output(started: SessionStarted, rounds: Iterable[Round]) -> list[int]:
    """A session's whole output by absolute position: a branch's forced tokens, then what it emitted."""
    return [*started.forced, *(token for done in rounds for token in done.emitted)]


def branched(
    started: SessionStarted,
    rule: Rule,
    rounds: Sequence[Round],
    position: int,
    token: int,
    max_tokens: int | None = None,
) -> SessionStarted:
    """The session that forces `token` at `position` of the output of (started, rounds), run by `rule`.

    `max_tokens` is the branch's whole budget, forced tokens included; by default its parent's. Raises
    BadSetting for a position without a token, and for a budget that leaves nothing to generate.
    """
    whole = output(started, rounds)
    if not 0 <= position < len(whole):
        raise BadSetting(
            f"The branch would start at position {position}; the session has {len(whole)} tokens.",
            f"Give a position from 0 to {len(whole) - 1}." if whole else "It has no token to replace.",
        )
    forced = (*whole[:position], token)
    budget = started.max_tokens if max_tokens is None else max_tokens
    if budget <= len(forced):
        raise BadSetting(
            f"max_tokens is {budget}, and the branch starts with {len(forced)} tokens.",
            f"Ask for {len(forced) + 1} tokens or more.",
        )
    drafted = drafted_before(started, rule, rounds, position)
    return replace(started, forced=forced, attempts=drafted, max_tokens=budget)


def drafted_before(
    started: SessionStarted, rule: Rule, rounds: Iterable[Round], position: int
) -> tuple[tuple[int, int], ...]:
    """How often each position behind `position` was drafted while the tokens before it were decided.

    Only drafts that decided something count: those of a rule that looks ahead, in rounds that began before
    `position`, and what the session itself began with.
    """
    times = Counter(dict(started.attempts))
    if rule.looks_ahead:
        for done in rounds:
            if done.block.start < position:
                times.update(range(done.block.start, done.block.start + done.block.k))
    return tuple(sorted((at, n) for at, n in times.items() if at > position))
