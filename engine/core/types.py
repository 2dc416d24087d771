"""The values everything else passes around: frozen, comparable, without identity, time or storage.

Letters, as in Leviathan et al. 2023 (arXiv 2211.17192): p is the target's effective distribution at a
position, q the distribution the draft token was really drawn from, x the drafted token, u a coin in
[0, 1), k the number of drafted tokens. A position is an index into the output; 0 is the first token
after the prompt.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from typing import ClassVar, Protocol

import numpy as np

from engine.errors import BadSetting

#: What a random number is for. The numbers are part of every coin's address and never change.
PURPOSES = {"draft": 1, "accept": 2, "target": 3, "residual": 4, "xtc": 5, "noise": 6}

#: The two documented orders of effective p (docs/maths.md).
ORDERS = ("filters-then-temperature", "temperature-first")


@dataclass(frozen=True, slots=True)
class Address:
    """Where a random number lives: its purpose, the output position, and how often that position was
    drafted before (0 for rules that do not look ahead)."""

    purpose: str
    position: int
    attempt: int = 0


#: Each number of Sampling: its least and greatest value, and what it does.
SAMPLING_LIMITS: dict[str, tuple[float, float, str]] = {
    "temperature": (
        0,
        100,
        "Flattens (above 1) or sharpens (below 1) what the filters kept; 0 takes the argmax.",
    ),
    "top_k": (0, 1_000_000, "Keep the k most probable tokens; 0 keeps all, 1 takes the argmax."),
    "top_p": (0, 1, "Keep the fewest most probable tokens that reach this mass; 1 keeps all."),
    "min_p": (0, 1, "Keep tokens at least this fraction as probable as the most probable; 0 keeps all."),
    "repetition_penalty": (
        0.01,
        100,
        "Divides the positive logits of seen tokens, multiplies the negative ones.",
    ),
    "presence_penalty": (-100, 100, "Taken once from the logit of every seen token."),
    "frequency_penalty": (-100, 100, "Taken from a token's logit for each time it was seen."),
    "penalty_window": (0, 1_000_000, "How many tokens back the penalties look; 0 looks at all."),
    "xtc_probability": (0, 1, "How often the top choices are excluded (XTC); 0 never."),
    "xtc_threshold": (0, 1, "XTC drops every token above this probability but the least probable of them."),
}


@dataclass(frozen=True, slots=True)
class Sampling:
    """How logits become the effective distribution. Defaults leave the model's softmax alone but for T.

    `penalty_window` counts tokens back from the row (0: all of them); `logit_bias` is ((id, bias), ...),
    and a bias of -100 or less bans its token.
    """

    temperature: float = 0.8
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    logit_bias: tuple[tuple[int, float], ...] = ()
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    penalty_window: int = 0
    xtc_probability: float = 0.0
    xtc_threshold: float = 0.1
    order: str = ORDERS[0]

    def __post_init__(self) -> None:
        for name, (low, high, _) in SAMPLING_LIMITS.items():
            within(name, getattr(self, name), low, high)
        if self.top_p == 0:
            raise BadSetting("top_p is 0, which keeps no token.", "Give a value above 0, up to 1.")
        for token, bias in self.logit_bias:
            if not math.isfinite(bias):
                raise BadSetting(
                    f"logit_bias of token {token} is {bias}.", "Give a finite number; -100 bans the token."
                )
        if self.order not in ORDERS:
            raise BadSetting(f"order is {self.order!r}.", f"Choose one of {', '.join(ORDERS)}.")

    @property
    def greedy(self) -> bool:
        """True when the effective row is one-hot on the argmax and no coin is needed."""
        return self.temperature == 0 or self.top_k == 1

    @property
    def filters(self) -> bool:
        """True when a token of the softmax can lose all its mass."""
        return self.greedy or self.top_k > 0 or self.top_p < 1 or self.min_p > 0 or self.xtc_probability > 0

    def mirrored(self) -> Sampling:
        """What a drafter copies from the target: temperature and truncation, nothing that needs history."""
        return Sampling(
            temperature=self.temperature,
            top_k=self.top_k,
            top_p=self.top_p,
            min_p=self.min_p,
            order=self.order,
        )

    def to_dict(self) -> dict:
        body = {f.name: getattr(self, f.name) for f in fields(self)}
        return body | {"logit_bias": [list(pair) for pair in self.logit_bias]}

    @classmethod
    def from_dict(cls, body: dict) -> Sampling:
        return cls(**body | {"logit_bias": tuple((int(i), float(b)) for i, b in body.get("logit_bias", ()))})


def within(name: str, value: float, low: float, high: float) -> None:
    """Raise BadSetting unless low <= value <= high (NaN is never within)."""
    if not low <= value <= high:
        raise BadSetting(f"{name} is {value}.", f"Give a value from {low:g} to {high:g}.")


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """A next-token distribution: the ids with mass and their probabilities, in ascending id order.

    `tail` is the mass of tokens left out of `ids` (storage keeps the top of a wide row); a row is exact
    iff tail == 0, and every row that decides something is exact.
    """

    ids: np.ndarray  # uint32[n], strictly ascending
    probs: np.ndarray  # float64[n]
    vocab: int
    tail: float = 0.0

    def __post_init__(self) -> None:
        self.ids.setflags(write=False)
        self.probs.setflags(write=False)

    @property
    def exact(self) -> bool:
        return self.tail == 0.0

    def prob(self, token: int) -> float:
        """The probability of one token, 0 where the row has none."""
        if len(self.ids) == self.vocab:  # every id stands at its own place
            return float(self.probs[token]) if token < self.vocab else 0.0
        i = int(np.searchsorted(self.ids, token))
        return float(self.probs[i]) if i < len(self.ids) and self.ids[i] == token else 0.0

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Row)
            and (self.vocab, self.tail) == (other.vocab, other.tail)
            and np.array_equal(self.ids, other.ids)
            and np.array_equal(self.probs, other.probs)
        )

    __hash__ = None


@dataclass(frozen=True, slots=True)
class Draft:
    """What a drafter proposes: k tokens and, for each, the very row it was drawn from.

    `raw` holds the softmax before truncation and temperature, for show; empty when nothing was cut.
    """

    tokens: tuple[int, ...]
    rows: tuple[Row, ...]  # [k]
    raw: tuple[Row, ...] = ()  # [k] or []


@dataclass(frozen=True, slots=True)
class Block:
    """What a rule judges: k drafted tokens from output position `start` on, with the rows of both sides."""

    start: int
    tokens: tuple[int, ...]  # [k]
    q: tuple[Row, ...]  # [k]
    p: tuple[Row, ...]  # [k + 1]
    attempts: tuple[int, ...]  # [k + 1]

    def __post_init__(self) -> None:
        k = len(self.tokens)
        if (len(self.q), len(self.p), len(self.attempts)) != (k, k + 1, k + 1):
            raise ValueError(
                f"a block of {k} drafts needs {k} q rows, {k + 1} p rows and {k + 1} attempts, "
                f"got {len(self.q)}, {len(self.p)}, {len(self.attempts)}"
            )

    @property
    def k(self) -> int:
        return len(self.tokens)

    def p_of(self, i: int) -> float:
        """p(x) of draft i."""
        return self.p[i].prob(self.tokens[i])

    def q_of(self, i: int) -> float:
        """q(x) of draft i."""
        return self.q[i].prob(self.tokens[i])

    def at(self, purpose: str, i: int) -> Address:
        """The address of the coin for `purpose` at the i-th position of the block (i = k: the bonus)."""
        return Address(purpose, self.start + i, self.attempts[i])


@dataclass(frozen=True, slots=True)
class Check:
    """One test of one draft. `u` is None when the rule tosses no coin there."""

    accept_prob: float
    u: float | None
    accepted: bool


#: Where the token after the accepted ones came from. "ended": the output ended inside the block.
SOURCES = ("corrected", "bonus", "ended")


@dataclass(frozen=True, slots=True)
class Verdict:
    """A rule's decision on a block.

    `checks` has one entry per draft the rule looked at. `next_token` follows the accepted drafts; it is
    None (with next_source "ended") when the output ended before it. After a rejection that draws from a
    residual, `residual` is the normalised row that was drawn from and `mass` what it summed to before;
    `degenerate` marks a residual without mass, replaced by p.
    """

    checks: tuple[Check, ...]
    n_accepted: int
    next_token: int | None
    next_source: str
    residual: Row | None = None
    mass: float | None = None
    degenerate: bool = False


@dataclass(frozen=True, slots=True)
class Coin:
    """A random number as it fell: `outcome` is 1 or 0 for a flip, the token id for a draw from a row.

    A draw by inverse CDF also keeps the slice [low, high) of [0, 1) that belongs to its outcome.
    """

    at: Address
    u: float
    outcome: int
    low: float | None = None
    high: float | None = None


class Coins(Protocol):
    """The only door to randomness. See engine.core.coins for the sources behind it."""

    def flip(self, prob: float, at: Address, per: float = 1.0) -> tuple[bool, float]:
        """Accept iff u * per < prob, strictly and without a division; also returns u."""

    def choose(self, row: Row, at: Address) -> int:
        """A token drawn from `row` by inverse CDF in ascending id order."""

    def race(self, row: Row, at: Address) -> int:
        """A token drawn from `row` by Gumbel noise: argmax of log-probability plus the noise that each
        token id has at this address, the same for every row asked there."""


@dataclass(frozen=True, slots=True)
class Param:
    """A rule's parameter: its default with the default's origin, its limits, and what it does."""

    name: str
    default: float
    low: float
    high: float
    meaning: str
    origin: str


@dataclass(frozen=True, slots=True, eq=False)
class PositionLaw:
    """What a rule emits at one position whose rows are p and q, over both fates of the draft.

    `acceptance` is how often the draft is accepted. A rule that looks ahead has no such law by itself.
    """

    ids: np.ndarray  # uint32[m], ascending
    probs: np.ndarray  # float64[m]
    acceptance: float


@dataclass(frozen=True)
class Rule(ABC):
    """An acceptance rule. A subclass sets the class attributes, adds its parameters as fields and writes
    `judge`; everything that lists, checks, documents or replays rules works from these.

    `lossless` claims that every emitted token is a draw from p given what precedes it; the tests prove
    it by enumeration. `greedy_only` marks a rule that keeps its claim for one-hot rows alone.
    `looks_ahead` says that a decision at a position depends on coins or drafts behind it, which makes
    the true attempt number part of its coins' addresses. `closed_form` is the mean acceptance at one
    position, in words of p and q.
    """

    id: ClassVar[str]
    title: ClassVar[str]
    meaning: ClassVar[str]
    formula: ClassVar[str]
    source: ClassVar[str]
    closed_form: ClassVar[str]
    lossless: ClassVar[bool] = False
    greedy_only: ClassVar[bool] = False
    looks_ahead: ClassVar[bool] = False
    faulty: ClassVar[bool] = False
    parameters: ClassVar[tuple[Param, ...]] = ()

    def __post_init__(self) -> None:
        for param in self.parameters:
            within(f"{self.id}: {param.name}", getattr(self, param.name), param.low, param.high)

    @property
    def params(self) -> dict[str, float]:
        return {param.name: getattr(self, param.name) for param in self.parameters}

    @property
    def changed(self) -> dict[str, float]:
        """The parameters that are not at their defaults."""
        values = self.params
        return {
            param.name: values[param.name] for param in self.parameters if values[param.name] != param.default
        }

    def with_params(self, values: dict[str, float]) -> Rule:
        """The same rule with some parameters changed; raises BadSetting for an unknown name."""
        unknown = sorted(set(values) - {param.name for param in self.parameters})
        if unknown:
            known = ", ".join(param.name for param in self.parameters) or "no parameters"
            raise BadSetting(f"{self.id} has no parameter {unknown[0]!r}.", f"It takes {known}.")
        whole = {param.name for param in self.parameters if isinstance(param.default, int)}
        for name in whole & values.keys():
            if not float(values[name]).is_integer():
                raise BadSetting(f"{self.id}: {name} is {values[name]}.", "Give a whole number.")
        return replace(self, **{k: int(v) if k in whole else float(v) for k, v in values.items()})

    def draft(self, row: Row, coins: Coins, at: Address) -> int:
        """Draw the draft token from q. Most rules need x ~ q; the few that do not say so here."""
        return coins.choose(row, at)

    def target_draw(self, row: Row, coins: Coins, at: Address) -> int:
        """The target's own draw at a "target" address: what plain sampling would have emitted there."""
        return coins.choose(row, at)

    def position_law(self, p: Row, q: Row) -> PositionLaw | None:
        """The law of one position in closed form, for rows too wide to enumerate; None if there is none.
        The tests hold it equal to the enumeration of `judge`."""
        return None

    @abstractmethod
    def judge(self, block: Block, coins: Coins) -> Verdict:
        """Decide which drafts of the block survive, and the token that follows them."""


class Drafter(Protocol):
    """Proposes tokens. `context` below is the output so far, without the prompt."""

    kind: str

    def start(self, prompt: tuple[int, ...]) -> None:
        """Begin a session; forget the one before."""

    def propose(self, context: tuple[int, ...], k: int, sampling: Sampling, coins: Coins) -> Draft:
        """Up to k tokens after the context, each drawn by `coins.choose(q, at)` with `at` the "draft"
        address of its output position. The rows returned are the arrays that were drawn from."""

    def commit(self, tokens: tuple[int, ...]) -> None:
        """The tokens the round emitted; the drafter's state must now follow exactly these."""


class Scorer(Protocol):
    """The target model with its cache. The cache holds every token of the sequence but the last."""

    vocab: int

    def prefill(self, tokens: tuple[int, ...]) -> int:
        """Begin a session: read all tokens of the prompt but the last, which the first score feeds.
        Returns how many of them a cache still held from the session before."""

    def score(self, tokens: tuple[int, ...]) -> np.ndarray:
        """Feed [last, x_1, ..., x_k]; return the logits float32[k + 1, V] after each of them."""

    def rewind(self, n: int) -> None:
        """Drop the newest n cache entries; raises ModelError unless exactly n were dropped."""
