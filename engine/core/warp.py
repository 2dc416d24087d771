"""From logits to the effective distribution, in the one documented order.

1. logit bias (-100 or less bans the token); 2. repetition, presence and frequency penalties over the row's
own history; 3. softmax without temperature, then top-k, top-p, min-p, each on the renormalised kept row;
4. XTC on what is left; 5. temperature over what is kept: p is proportional to exp(log-prob / T). With
order "temperature-first" step 5 comes before step 3. A temperature of 0, or top-k 1, means the argmax (lowest
id wins a tie) of step 2's logits, and no coin. All in float64.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from engine.core import rows
from engine.core.types import Address, Coins, Row, Sampling
from engine.errors import BadRow

#: A logit bias this low bans its token: no other logit, and no temperature, gives it mass again.
BAN = -100.0


def effective(
    logits: np.ndarray,  # float32[V]
    sampling: Sampling,
    history: Sequence[int] = (),
    coins: Coins | None = None,
    at: Address | None = None,
) -> Row:
    """The distribution a token is drawn from.

    `history` is every token before the row (prompt, output, drafts). `coins` and `at`, an "xtc" address,
    are needed only when sampling.xtc_probability > 0. Raises BadRow for NaN, +inf or a row without mass.
    """
    scores = penalised(biased(checked(logits), sampling), sampling, history)
    if scores.max() == -np.inf:
        raise BadRow("A row of logits gives every token probability 0.", "Check the logit bias.")
    if sampling.greedy:
        return rows.one_hot(int(np.argmax(scores)), len(scores))
    if sampling.order == "temperature-first":
        probs = softmax(over_temperature(scores, sampling.temperature))
        return rows.from_dense(xtc(filtered(probs, sampling), sampling, coins, at))
    kept = xtc(filtered(softmax(scores), sampling), sampling, coins, at)
    return rows.from_dense(tempered(kept, sampling.temperature))


def raw(logits: np.ndarray, keep: Iterable[int] = (), n: int = 48) -> Row:
    """The plain softmax, before truncation and temperature: its top n tokens and those in `keep`."""
    row = rows.from_dense(softmax(checked(logits)))
    return rows.cut(row, n, tuple(keep))


def checked(logits: np.ndarray) -> np.ndarray:  # float32[V] -> float64[V]
    """A copy of the logits, which the steps behind may write to. Raises BadRow for NaN, +inf or no mass."""
    scores = np.array(logits, dtype=np.float64)
    if np.isfinite(scores.max()):  # NaN goes through a maximum
        return scores
    if np.isnan(scores).any() or np.isposinf(scores).any():
        what = "NaN" if np.isnan(scores).any() else "infinity"
        raise BadRow(f"A row of logits holds {what}.", "Check the model's weights and number format.")
    raise BadRow("A row of logits gives every token probability 0.", "Check the model's weights.")


def softmax(scores: np.ndarray) -> np.ndarray:  # float64[V]
    weights = np.exp(scores - scores.max())
    return weights / weights.sum()


def biased(scores: np.ndarray, sampling: Sampling) -> np.ndarray:
    for token, bias in sampling.logit_bias:
        if 0 <= token < len(scores):
            scores[token] = -np.inf if bias <= BAN else scores[token] + bias
    return scores


def penalised(scores: np.ndarray, sampling: Sampling, history: Sequence[int]) -> np.ndarray:
    """Repetition (divide a positive logit, multiply a negative one), presence and frequency penalties."""
    s = sampling
    if (s.repetition_penalty, s.presence_penalty, s.frequency_penalty) == (1.0, 0.0, 0.0) or not history:
        return scores
    window = history[-s.penalty_window :] if s.penalty_window else history
    seen, counts = np.unique(np.asarray(window, dtype=np.int64), return_counts=True)
    old = scores[seen]
    repeated = np.where(old > 0, old / s.repetition_penalty, old * s.repetition_penalty)
    scores[seen] = repeated - s.presence_penalty - s.frequency_penalty * counts
    return scores


def filtered(probs: np.ndarray, sampling: Sampling) -> np.ndarray:  # float64[V] -> float64[V]
    """Top-k, then top-p, then min-p, each renormalised. A tie at the edge of top-k or top-p keeps its lowest
    ids; min-p, a bound, keeps all of a tie."""
    if 0 < sampling.top_k < len(probs):
        probs = kept_only(probs, descending(probs)[: sampling.top_k])
    if sampling.top_p < 1:
        order = descending(probs)
        before = np.concatenate(([0.0], np.cumsum(probs[order])[:-1]))  # mass of the more probable tokens
        probs = kept_only(probs, order[before < sampling.top_p])
    if sampling.min_p > 0:
        probs = kept_only(probs, np.flatnonzero(probs >= sampling.min_p * probs.max()))
    return probs


def descending(probs: np.ndarray) -> np.ndarray:
    """Ids by falling probability, ties by rising id."""
    return np.argsort(-probs, kind="stable")


def kept_only(probs: np.ndarray, ids: np.ndarray) -> np.ndarray:
    out = np.zeros_like(probs)
    out[ids] = probs[ids]
    return out / out.sum()


def xtc(probs: np.ndarray, sampling: Sampling, coins: Coins | None, at: Address | None) -> np.ndarray:
    """Exclude top choices: now and then, drop every token above the threshold but the least likely."""
    if sampling.xtc_probability == 0:
        return probs
    above = np.flatnonzero(probs > sampling.xtc_threshold)
    if coins is None or at is None:
        raise ValueError("XTC needs coins and an address")
    falls, _ = coins.flip(sampling.xtc_probability, at)
    if not falls or len(above) < 2:
        return probs
    least = above[np.lexsort((above, probs[above]))[0]]
    return kept_only(probs, np.setdiff1d(np.flatnonzero(probs), above[above != least]))


def tempered(probs: np.ndarray, temperature: float) -> np.ndarray:
    """probs ** (1 / T), renormalised, over the support alone."""
    if probs.min() > 0:
        return softmax(over_temperature(np.log(probs), temperature))
    out = np.zeros_like(probs)
    ids = np.flatnonzero(probs)
    out[ids] = softmax(over_temperature(np.log(probs[ids]), temperature))
    return out


def over_temperature(scores: np.ndarray, temperature: float) -> np.ndarray:
    """scores / T, counted from their maximum: however small T is, the maximum stays finite."""
    with np.errstate(over="ignore"):
        return (scores - scores.max()) / temperature
