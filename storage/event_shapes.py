"""What the body of each event may be in a file that comes from elsewhere.

The keys are those of `to_dict` in engine.core.events, in its order; a test holds the two together. How the
values of a round must fit each other is storage.import_checks' matter.
"""

from __future__ import annotations

from engine.core.coins import MAX_SEED
from engine.core.events import STATUSES, VERSION
from engine.core.types import ORDERS, PURPOSES, SAMPLING_LIMITS, SOURCES, Sampling
from storage.shapes import (
    Record,
    flag,
    listing,
    loose_text,
    mapping,
    maybe,
    number,
    one_of,
    sha256,
    text,
    tuple_of,
    whole,
)

#: The widest vocabulary, and the most tokens, drafts and rules that a file may speak of.
MAX_VOCAB = 2**21
MAX_OUTPUT = 10_000_000
MAX_K = 4096
MAX_RULES = 1000
#: The longest text, in characters: a prompt that fills a long context.
MAX_TEXT = 16_000_000
NAME = 1000

name = text(NAME)
token = whole(0, MAX_VOCAB - 1)
position = whole(0, MAX_OUTPUT)
count = whole(0, MAX_OUTPUT)
milliseconds = number(0)
#: A probability or a part of one, with room for the rounding of a long sum.
share = number(-1e-6, 1 + 1e-6)
nats = number(-1e-6)
versions = mapping(name, name, 100)

_NUMBERS = {
    field: whole(int(low), int(high)) if type(default) is int else number(low, high)
    for field, (low, high, _) in SAMPLING_LIMITS.items()
    for default in (getattr(Sampling(), field),)
}
_BIAS = tuple_of(token, number(), words="[token, number]")
_ATTEMPTS = tuple_of(position, count, words="[position, count]")
SAMPLING = Record(
    {
        field: _NUMBERS.get(field)
        or (one_of(*ORDERS) if field == "order" else listing(_BIAS, MAX_VOCAB, "a list of [token, number]"))
        for field in Sampling().to_dict()
    }
)

STARTED = Record(
    {
        "type": one_of("started"),
        "version": one_of(VERSION),
        "prompt": loose_text(MAX_TEXT),
        "raw": flag,
        "target": name,
        "drafter": name,
        "rule": name,
        "params": mapping(name, number(), 100),
        "asked": name,
        "reason": name,
        "sampling": SAMPLING,
        "seed": whole(0, MAX_SEED),
        "k": whole(0, MAX_K),
        "max_tokens": whole(1, MAX_OUTPUT),
        "stop": listing(loose_text(NAME), 1000),
        "forced": listing(token, MAX_OUTPUT),
        "attempts": listing(_ATTEMPTS, MAX_OUTPUT, "a list of [position, count]"),
        "fault": name,
    },
    frozenset({"forced", "attempts", "fault"}),
)

PROMPT = Record(
    {
        "type": one_of("prompt"),
        "version": one_of(VERSION),
        "tokens": listing(token, MAX_OUTPUT),
        "ms": milliseconds,
        "vocab": whole(1, MAX_VOCAB),
        "tokenizer": name,
        "special": listing(token, MAX_VOCAB),
        "versions": versions,
        "cached": count,
    }
)

_CHECK = tuple_of(share, maybe(share), flag, words="[accept_prob, u or null, accepted]")
_COIN = tuple_of(
    one_of(*PURPOSES),
    position,
    count,
    share,
    token,
    maybe(share),
    maybe(share),
    words="[purpose, position, attempt, u, outcome, low or null, high or null]",
    older=5,
)
_ADDRESS = tuple_of(one_of(*PURPOSES), position, count, words="[purpose, position, attempt]")
_MEASURE = tuple_of(share, share, nats, nats, words="[overlap, sum p q, entropy of p, entropy of q]")
_LAW = tuple_of(share, share, words="[TV to p, acceptance]")
_JUDGED = tuple_of(
    name,
    whole(0, MAX_K),
    maybe(token),
    one_of(*SOURCES),
    listing(maybe(_LAW), MAX_K),
    mapping(name, number(), 100),
    words="[rule, n_accepted, next_token or null, next_source, laws], and its parameters where they are not "
    "at their defaults",
    older=5,
)
_ROWS = listing(sha256, MAX_K + 1, f"a list: each {sha256.words}, of a row")
_TOKENS = listing(token, MAX_K + 1, "a list of tokens")

ROUND = Record(
    {
        "type": one_of("round"),
        "version": one_of(VERSION),
        "index": whole(0, MAX_OUTPUT),
        "start": position,
        "tokens": _TOKENS,
        "attempts": listing(count, MAX_K + 1, "a list of counts"),
        "q": _ROWS,
        "p": _ROWS,
        "raw_q": _ROWS,
        "raw_p": _ROWS,
        "checks": listing(_CHECK, MAX_K, f"a list of {_CHECK.words}"),
        "n_accepted": whole(0, MAX_K),
        "next_token": maybe(token),
        "next_source": one_of(*SOURCES),
        "residual": maybe(sha256),
        "mass": maybe(number(0)),
        "degenerate": flag,
        "emitted": _TOKENS,
        "own": _TOKENS,
        "coins": listing(_COIN, 8 * MAX_K, f"a list of {_COIN.words}"),
        "measures": listing(_MEASURE, MAX_K, f"a list of {_MEASURE.words}"),
        "entropy_bonus": nats,
        "times": Record({stage: milliseconds for stage in ("draft", "target", "judge", "matrix")}),
        "final": flag,
        "drew": maybe(_ADDRESS),
        "matrix": listing(_JUDGED, MAX_RULES, f"a list of {_JUDGED.words}"),
    }
)

FINISHED = Record(
    {
        "type": one_of("finished"),
        "version": one_of(VERSION),
        "status": one_of(*STATUSES),
        "reason": loose_text(100_000),
        "ms": milliseconds,
    }
)

BODIES = {"started": STARTED, "prompt": PROMPT, "round": ROUND, "finished": FINISHED}
