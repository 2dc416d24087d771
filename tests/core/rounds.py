"""Rounds made by hand, for folds that need no model."""

import numpy as np

from engine.core import rows
from engine.core.events import Measure, Round, StageTimes
from engine.core.types import Address, Block, Check, Coin, Verdict

P = rows.from_dense(np.array([0.25, 0.25, 0.5]))
TIMES = StageTimes(1.0, 2.0, 3.0)
Q = rows.from_dense(np.array([0.5, 0.25, 0.25]))


def made_round(tokens=(0, 1, 2), n_accepted=1, own=None, start=0, index=0, ended=False, times=TIMES) -> Round:
    """k drafts of which some are accepted, then token 2 from its residual or as a bonus, unless it ended."""
    k = len(tokens)
    source = "ended" if ended else "bonus" if n_accepted == k else "corrected"
    token = None if ended else 2
    tested = min(n_accepted + 1, k)
    checks = tuple(Check(0.5, 0.25, i < n_accepted) for i in range(tested))
    return Round(
        index=index,
        block=Block(start, tuple(tokens), (Q,) * k, (P,) * (k + 1), (0,) * (k + 1)),
        verdict=Verdict(checks, n_accepted, token, source),
        emitted=(*tokens[:n_accepted], *(() if ended else (2,))),
        own=(*tokens, 2) if own is None else own,
        coins=tuple(Coin(Address("accept", start + i), 0.25, i < n_accepted) for i in range(tested)),
        # Other numbers at each depth, so that a sum over the wrong positions shows.
        measures=tuple(Measure(0.5 + 0.25 * i, 0.125 + 0.25 * i, 1.0, 2.0) for i in range(k)),
        entropy_bonus=0.5,
        times=times,
    )
