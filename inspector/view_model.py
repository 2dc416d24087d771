"""What a screen shows, as plain JSON types: one dict a round, one a session, one a token.

Nothing is decided here. Every number is read from the event that decided, so a screen cannot disagree
with the engine; what a stored row no longer holds (it was cut to its top) is None, never a guess.
Positions in a view count from the start of the output, as in the events.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from engine.core import rows
from engine.core.events import Judged, PromptRead, Round, SessionFinished, SessionStarted
from engine.core.types import Coin, Row

#: How many tokens a position lists: by the larger of p and q, then those a filter cut, by raw probability.
#: A screen gets FIRST_BARS of every round and the others when it shows more.
BARS = 32
FIRST_BARS = 8
CUT_BARS = 6
RESIDUAL_BARS = 12


def piece_view(data: bytes, special: bool = False) -> str | dict[str, str]:
    """A token for the browser: its text; {"hex"} where its bytes are no UTF-8 by themselves; {"special"}.

    Whitespace and control characters stay as they are: making them visible is the screen's work.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return {"hex": data.hex(" ")}
    return {"special": text} if special else text


def round_view(done: Round, bars: int = BARS) -> dict:
    """One round: its drafted positions, the token that follows the accepted ones, and the times. A position
    lists `bars` tokens, and those that the round is about.

    `positions` has one entry a draft (see `position_view`); `next` is None when the output ended before
    it (see `next_view`). `times` is milliseconds: draft, target pass, judge. `beyond` is the bonus that
    waited behind the block and was not reached: the target's own draw there, None where it was reached.
    `matrix` is what every rule would have done with these drafts (see `matrix_view`).
    """
    verdict = done.verdict
    coins = {(coin.at.purpose, coin.at.position): coin for coin in done.coins}
    return {
        "i": done.index,
        "start": done.block.start,
        "k": done.block.k,
        "tested": done.n_tested,
        "accepted": verdict.n_accepted,
        "emitted": len(done.emitted),
        "source": verdict.next_source,
        "positions": [position_view(done, i, coins, bars) for i in range(done.block.k)],
        "next": None if verdict.next_token is None else next_view(done, coins, bars),
        "beyond": beyond_view(done, coins),
        "matrix": matrix_view(done),
        "times": [round(ms, 3) for ms in (done.times.draft, done.times.target, done.times.judge)],
    }


def beyond_view(done: Round, coins: Coins) -> dict | None:
    """The target's own draw behind the whole block, where the block did not stand; None elsewhere, and
    where the output would have ended with the block."""
    k = done.block.k
    if done.verdict.n_accepted == k or done.final:
        return None
    return draw_view(done.own[k], own_coin(coins, done.block.start + k))


#: Below this a law's distance to p is the rounding of a sum.
ROUNDING_TV = 1e-9


def matrix_view(done: Round) -> list[list]:
    """One [rule, accepted, next token or None, summed TV or None] a rule, over the round's own drafts.

    The sum runs over the drafts that this session tested, the TV is that of the rule's law there to p;
    None where the rule has no law by itself. A list, not a dict: it is in every round a page loads. A rule
    with parameters of its own ends its line with them.
    """
    return [
        [one.rule, one.n_accepted, one.next_token, summed_tv(one), *([one.params] if one.params else [])]
        for one in done.matrix
    ]


def summed_tv(one: Judged) -> float | None:
    if not one.laws or any(law is None for law in one.laws):
        return None
    total = sum(law.tv for law in one.laws)
    return short(total) if total > ROUNDING_TV else 0.0


#: The coins of a round by (purpose, position).
Coins = dict[tuple[str, int], Coin]


def position_view(done: Round, i: int, coins: Coins, bars: int) -> dict:
    """Draft i: the token x, its fate, p(x), q(x), the rule's own test and coin, and both rows' top.

    `logprob` is ln p(x) where x was emitted, None elsewhere. `accept_prob` and `u` are the rule's, None
    where it made no test or tossed no coin; `passed` is that test's outcome, which a rule that looks ahead
    may overrule. `tv` is the distance between the rows,
    `overlap` 1 - tv, `product` sum p q; entropies are in nats.
    """
    block, verdict, measure = done.block, done.verdict, done.measures[i]
    x, p, q = block.tokens[i], block.p[i], block.q[i]
    check = verdict.checks[i] if i < len(verdict.checks) else None
    fate = done.fate(i)
    wanted = [x, done.own[i]]
    if i == verdict.n_accepted and verdict.next_token is not None:
        wanted.append(verdict.next_token)
    return {
        "x": x,
        "at": block.start + i,
        "attempt": block.attempts[i],
        "fate": fate,
        "p": known(p, x),
        "q": known(q, x),
        "logprob": rows.log_prob(p, x) if fate == "accepted" else None,
        "accept_prob": None if check is None else check.accept_prob,
        "u": None if check is None else check.u,
        "passed": None if check is None else check.accepted,
        "own": draw_view(done.own[i], own_coin(coins, block.start + i)),
        "draw": draw_view(x, coins.get(("draft", block.start + i)) or coins.get(("noise", block.start + i))),
        "rescued": fate == "accepted" and done.own[i] != x,
        "tv": max(0.0, round(1.0 - measure.overlap, 12)),  # less is the rounding of a sum of V terms
        "overlap": measure.overlap,
        "product": measure.product,
        "entropy": [measure.entropy_p, measure.entropy_q],
        **bars_view(p, q, raw_row(done.raw_p, i), raw_row(done.raw_q, i), wanted, bars),
    }


def next_view(done: Round, coins: Coins, bars: int) -> dict:
    """The token after the accepted drafts: where it came from, the draw that chose it, the residual.

    A bonus has the target's row in `bars`; a corrected token's row is the residual, whose `mass` is what
    it summed to before it was normalised.
    """
    block, verdict = done.block, done.verdict
    i, token = verdict.n_accepted, verdict.next_token
    from_residual = verdict.residual is not None
    view = {
        "token": token,
        "at": block.start + i,
        "source": verdict.next_source,
        "purpose": done.drew.purpose if done.drew else None,
        "p": known(block.p[i], token),
        "q": known(block.q[i], token) if i < block.k else None,
        "logprob": rows.log_prob(block.p[i], token),
        "draw": draw_view(token, done.draw),
        "residual": residual_view(done) if from_residual else None,
    }
    if i == block.k:
        own = draw_view(done.own[i], own_coin(coins, block.start + i))
        view |= {"own": own, "entropy": [done.entropy_bonus, None]}
        raw = raw_row(done.raw_p, i)
        view |= bars_view(block.p[i], None, raw, None, [token, done.own[i]], bars)
    return view


def own_coin(coins: Coins, position: int) -> Coin | None:
    """The coin of the target's own draw: its own address, or the noise it shares with the draft."""
    return coins.get(("target", position)) or coins.get(("noise", position))


def draw_view(token: int, coin: Coin | None) -> dict:
    """A draw by inverse CDF: the token, its coin u, and the slice [lo, hi) of [0, 1) that belongs to it.

    u is None when no coin chose the token (the row had one token, or the rule took it without a draw);
    the slice is None for a draw by shared noise.
    """
    if coin is None or coin.outcome != token:
        return {"token": token, "u": None, "slice": None}
    return {"token": token, "u": coin.u, "slice": None if coin.low is None else [coin.low, coin.high]}


def residual_view(done: Round) -> dict:
    """The residual that was drawn from: its mass, its top [id, probability] and what the rest sums to."""
    verdict, row = done.verdict, done.verdict.residual
    shown = rows.top(row, RESIDUAL_BARS).tolist()
    if verdict.next_token not in shown and row.prob(verdict.next_token) > 0:
        shown[-1] = verdict.next_token
    top = [[token, short(row.prob(token))] for token in shown]
    rest = float(row.probs.sum()) + row.tail - sum(row.prob(token) for token in shown)
    return {
        "mass": verdict.mass,
        "degenerate": verdict.degenerate,
        "top": top,
        "rest": [short(max(0.0, rest)), len(row.ids) - len(shown)],
    }


def bars_view(
    p: Row, q: Row | None, raw_p: Row | None, raw_q: Row | None, wanted: Iterable[int], n: int
) -> dict:
    """The rows side by side: `bars` [id, p, q] (and [.., raw p, raw q] where filters cut), and `rest`. The n
    most probable tokens are listed, the most probable of each row and the `wanted` ones.

    q is None where nothing was drafted. `rest` is [p, q, n]: the mass of both and the number of tokens
    that have some but are not listed.
    """
    both = (p,) if q is None else (p, q)
    tops = [int(rows.top(row, 1)[0]) for row in both]
    shown = list(dict.fromkeys([*highest(both, n), *tops, *wanted]))
    cut = [token for token in cut_tokens(both, raw_p, raw_q) if token not in shown][: max(2, n // 4)]
    raws = (raw_p, raw_q) if raw_p is not None or raw_q is not None else ()
    tokens = np.array([*shown, *cut], dtype=np.uint32)
    columns = [tokens.tolist(), *(numbers(row, tokens) for row in (p, q, *raws))]
    listed = tokens[: len(shown)]
    rest = [rest_of(p, listed), None if q is None else rest_of(q, listed)]
    hidden = number_of_tokens(both) - int(
        np.logical_or.reduce([places(row, listed)[0] for row in both]).sum()
    )
    return {"bars": [list(bar) for bar in zip(*columns, strict=True)], "rest": [*map(short, rest), hidden]}


def highest(both: tuple[Row, ...], n: int) -> list[int]:
    """The n tokens of the largest probability in any of the rows, largest first, ties by id. Each of them
    is among the n largest of its own row, so no row is read in full."""
    tokens = np.unique(np.concatenate([rows.top(row, n) for row in both]))
    peak = np.maximum.reduce([probs_of(row, tokens) for row in both])
    return tokens[np.lexsort((tokens, -peak))[:n]].tolist()


def number_of_tokens(both: tuple[Row, ...]) -> int:
    """How many tokens the rows list between them."""
    shared = int(places(both[0], both[1].ids)[0].sum()) if len(both) == 2 else 0
    return sum(len(row.ids) for row in both) - shared


def probs_of(row: Row, tokens: np.ndarray) -> np.ndarray:
    """The row's probabilities of many tokens, 0 where it lists none: float64[n]."""
    found, at = places(row, tokens)
    return np.where(found, row.probs[at], 0.0)


def cut_tokens(both: tuple[Row, ...], raw_p: Row | None, raw_q: Row | None) -> list[int]:
    """The most probable tokens of the raw rows that have no mass left in either row."""
    best: dict[int, float] = {}
    for raw in (raw_p, raw_q):
        if raw is not None:
            gone = ~np.logical_or.reduce([places(row, raw.ids)[0] for row in both])
            for token, prob in zip(raw.ids[gone].tolist(), raw.probs[gone].tolist(), strict=True):
                best[token] = max(prob, best.get(token, 0.0))
    return sorted(best, key=lambda token: (-best[token], token))[:CUT_BARS]


def rest_of(row: Row, listed: np.ndarray) -> float:
    """The mass of a row's tokens that are not listed, the stored tail among them."""
    found, at = places(row, listed)
    left = len(row.ids) - int(found.sum())
    return row.tail + (max(0.0, float(row.probs.sum() - row.probs[at[found]].sum())) if left else 0.0)


def places(row: Row, tokens: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each token whether the row lists it, and where: bool[n], int[n]."""
    at = np.minimum(np.searchsorted(row.ids, tokens), len(row.ids) - 1)
    return row.ids[at] == tokens, at


def numbers(row: Row | None, tokens: np.ndarray) -> list[float | None]:
    """The row's probabilities of many tokens, shortened; None as in `known`, or where there is no row."""
    if row is None:
        return [None] * len(tokens)
    found, at = places(row, tokens)
    absent = 0.0 if row.exact else None
    values = zip(found.tolist(), shorts(row.probs[at]), strict=True)
    return [prob if listed else absent for listed, prob in values]


def known(row: Row, token: int) -> float | None:
    """The row's probability of a token; None when the token may be in the tail that was cut off."""
    prob = row.prob(token)
    return None if prob == 0 and not row.exact else prob


def short(value: float | None) -> float | None:
    """Four significant digits: enough for a bar, a third of the bytes."""
    return None if value is None else float(f"{value:.4g}")


def shorts(values: np.ndarray) -> list[float]:
    """`short` of many numbers in [0, 1]: an integer over an exact power of ten is the nearest number to that
    decimal. The last digit may differ where the number lies half-way between two."""
    digits = 3 - np.floor(np.log10(np.maximum(values, 1e-18))).astype(int)
    scale = _POWERS[digits]
    found = (np.rint(values * scale) / scale).tolist()
    return [a if value >= 1e-18 else short(value) for a, value in zip(found, values.tolist(), strict=True)]


#: 10^0 to 10^22, every one a float exactly.
_POWERS = np.array([float(10**n) for n in range(23)])


def raw_row(raw: tuple[Row, ...], i: int) -> Row | None:
    return raw[i] if raw else None


def tokens_of(view: dict) -> set[int]:
    """Every token id a round view names: the pieces the browser needs with it."""
    found: set[int] = set()
    for place in (*view["positions"], *([view["next"]] if view["next"] else ())):
        found.add(place["x"] if "x" in place else place["token"])
        found.update(bar[0] for bar in place.get("bars", ()))
        found.update(draw["token"] for draw in (place.get("own"), place.get("draw")) if draw)
        found.update(token for token, _ in (place.get("residual") or {"top": ()})["top"])
    found.update(line[2] for line in view["matrix"] if line[2] is not None)
    if view["beyond"]:
        found.add(view["beyond"]["token"])
    return found


def session_view(
    record: dict,
    started: SessionStarted,
    prompt: PromptRead | None,
    finished: SessionFinished | None,
    counters: dict,
    rounds: int,
    progress: str = "",
) -> dict:
    """A session's head: what was asked, what really runs, how far it is.

    `record` is the store's own part (id, parent_id, title, created, status, ...) and wins where names
    meet; `counters` are RULES' counters; `progress` is a sentence for the time before the first round.
    """
    body = started.to_dict()
    del body["type"], body["version"]
    return body | {
        "prompt_tokens": [] if prompt is None else list(prompt.tokens),
        "prompt_ms": None if prompt is None else prompt.ms,
        "status": "running" if finished is None else finished.status,
        "end_reason": "" if finished is None else finished.reason,
        "ms": None if finished is None else finished.ms,
        "counters": counters,
        "rounds": rounds,
        "progress": progress,
        **record,
    }


def first_divergence(a: Sequence[int], b: Sequence[int]) -> int | None:
    """The first position where both outputs have a token and the tokens differ; None if there is none.

    A lane that is merely shorter (still running, stopped) has not diverged.
    """
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), None)


def align(lanes: Sequence[Sequence[int]]) -> list[dict]:
    """Outputs side by side: one entry a position, with each lane's token (None where it has none yet).

    `differs` says whether a lane's token there is another than the first lane's.
    """
    table = []
    for at in range(max(map(len, lanes), default=0)):
        tokens = [lane[at] if at < len(lane) else None for lane in lanes]
        differs = any(token is not None and tokens[0] is not None and token != tokens[0] for token in tokens)
        table.append({"at": at, "tokens": tokens, "differs": differs})
    return table
