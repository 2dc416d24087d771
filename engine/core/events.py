"""What a session says while it runs. Everything a screen, a log or a replay shows is a fold over these.

Events are values: no session id, no wall-clock date. `to_dict` gives plain JSON types; rows go through
`put_row`, so that a store can keep each row once and write its hash instead. `VERSION` changes when a
stored event would read differently; a new field whose default says what every older event meant does not
change it. `from_dict` refuses a version it does not know.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, astuple, dataclass, field

import numpy as np

from engine.core.types import Address, Block, Check, Coin, Row, Sampling, Verdict
from engine.errors import EngineError

VERSION = 1

PutRow = Callable[[Row], object]
GetRow = Callable[[object], Row]


def row_to_dict(row: Row) -> dict:
    return {
        "ids": row.ids.tolist(),
        "probs": row.probs.tolist(),
        "vocab": row.vocab,
        "tail": row.tail,
    }


def row_from_dict(body: dict) -> Row:
    return Row(
        np.array(body["ids"], dtype=np.uint32),
        np.array(body["probs"], dtype=np.float64),
        int(body["vocab"]),
        float(body["tail"]),
    )


@dataclass(frozen=True)
class SessionStarted:
    """All that decides a session: with it and the same models, a re-run is the same to the last coin.

    `rule` is the rule that really runs; `asked` is what was asked for and `reason` says why they differ
    (empty when they do not). A branch starts with its output given: `forced` holds those tokens, the last
    of them the one that was chosen by hand; `attempts` says how often positions behind them were drafted
    before, as (position, count), where the tokens before depend on those drafts. `max_tokens` counts the
    forced tokens too. `fault` names the fault of engine.faults that is switched on, on purpose; "" for none.
    """

    prompt: str
    raw: bool  # True: the prompt's text as it is; False: wrapped in the model's chat template
    target: str
    drafter: str
    rule: str
    params: dict[str, float]
    asked: str
    reason: str
    sampling: Sampling
    seed: int
    k: int
    max_tokens: int
    stop: tuple[str, ...] = ()
    forced: tuple[int, ...] = ()
    attempts: tuple[tuple[int, int], ...] = ()
    fault: str = ""
    type = "started"

    def to_dict(self, put_row: PutRow = row_to_dict) -> dict:
        lists = {"stop": list(self.stop), "forced": list(self.forced)}
        lists["attempts"] = [list(pair) for pair in self.attempts]
        body = asdict(self) | {"sampling": self.sampling.to_dict()} | lists
        return {"type": self.type, "version": VERSION} | body

    @classmethod
    def read(cls, body: dict, get_row: GetRow) -> SessionStarted:
        body = body | {"sampling": Sampling.from_dict(body["sampling"]), "stop": tuple(body["stop"])}
        body["forced"] = tuple(body.get("forced", ()))
        body["attempts"] = tuple((int(at), int(n)) for at, n in body.get("attempts", ()))
        return cls(**body)


@dataclass(frozen=True)
class PromptRead:
    """The models are there and have read the prompt.

    `tokens` are its ids, `ms` how long target and drafter took to read them (loading is not in it), and
    `cached` how many the target still held from the session before.
    `tokenizer` names the tokenizer by its content, `special` its control tokens, `vocab` the width of the
    target's rows; `versions` is all that a re-run must share to be sure of repeating the session.
    """

    tokens: tuple[int, ...]
    ms: float
    vocab: int
    tokenizer: str
    special: tuple[int, ...] = ()
    versions: dict[str, str] = field(default_factory=dict)
    cached: int = 0
    type = "prompt"

    def to_dict(self, put_row: PutRow = row_to_dict) -> dict:
        lists = {"tokens": list(self.tokens), "special": list(self.special)}
        return {"type": self.type, "version": VERSION} | asdict(self) | lists

    @classmethod
    def read(cls, body: dict, get_row: GetRow) -> PromptRead:
        return cls(**body | {"tokens": tuple(body["tokens"]), "special": tuple(body["special"])})


@dataclass(frozen=True)
class Measure:
    """Numbers of one position that need its whole rows: taken when the round ran, before any row is cut."""

    overlap: float  # sum min(p, q) = 1 - TV(p, q)
    product: float  # sum p q
    entropy_p: float  # nats
    entropy_q: float  # nats


@dataclass(frozen=True)
class Law:
    """A rule's exact law at one position: its total variation distance to p, and its mean acceptance."""

    tv: float
    acceptance: float


@dataclass(frozen=True)
class Judged:
    """What a rule would have done with a round's block (see Verdict).

    `laws` has an entry for each tested draft: None for a rule that looks ahead, whose law belongs to the
    block, and for one without a closed form. `params` are the rule's parameters that are not at their
    defaults.
    """

    rule: str
    n_accepted: int
    next_token: int | None
    next_source: str
    laws: tuple[Law | None, ...] = ()
    params: dict[str, float] = field(default_factory=dict)

    def to_list(self) -> list:
        laws = [None if law is None else [law.tv, law.acceptance] for law in self.laws]
        line = [self.rule, self.n_accepted, self.next_token, self.next_source, laws]
        return [*line, self.params] if self.params else line

    @classmethod
    def from_list(cls, body: list) -> Judged:
        laws = tuple(None if law is None else Law(*law) for law in body[4])
        return cls(*body[:4], laws, *body[5:])


@dataclass(frozen=True)
class StageTimes:
    """Milliseconds of one round by stage."""

    draft: float = 0.0
    target: float = 0.0
    judge: float = 0.0
    matrix: float = 0.0


@dataclass(frozen=True)
class Round:
    """One round, as decided: the block, the verdict, every coin that fell, and what was emitted.

    `final` says that accepting the whole block ends the output (its budget, EOS or a stop string), so
    nothing is drawn behind it. `own` is the target's own draw at each position ("target" address), the
    token plain sampling would have emitted there; `drew` is the address of the coin that chose the token
    after the accepted drafts. `raw_p` and `raw_q` are the softmax before truncation
    and temperature, top part only, for show; empty when the filters cut nothing. `matrix` is what every
    other rule would have done with this very block.
    """

    index: int
    block: Block
    verdict: Verdict
    emitted: tuple[int, ...]
    own: tuple[int, ...]  # [k + 1]
    coins: tuple[Coin, ...]
    measures: tuple[Measure, ...]  # [k]
    entropy_bonus: float  # nats, of p at position k
    times: StageTimes = StageTimes()
    final: bool = False
    drew: Address | None = None
    raw_p: tuple[Row, ...] = ()  # [k + 1] or []
    raw_q: tuple[Row, ...] = ()  # [k] or []
    matrix: tuple[Judged, ...] = ()
    type = "round"

    @property
    def draw(self) -> Coin | None:
        """The coin that chose the token after the accepted drafts; None where no coin did."""
        return next((coin for coin in self.coins if coin.at == self.drew), None)

    @property
    def n_tested(self) -> int:
        """Drafts that were accepted, and the one that was rejected."""
        return min(self.verdict.n_accepted + 1, self.block.k)

    def fate(self, i: int) -> str:
        """The fate of draft i: accepted, rejected or untested."""
        n = self.verdict.n_accepted
        return "accepted" if i < n else "rejected" if i == n else "untested"

    def to_dict(self, put_row: PutRow = row_to_dict) -> dict:
        block, verdict = self.block, self.verdict
        return {
            "type": self.type,
            "version": VERSION,
            "index": self.index,
            "start": block.start,
            "tokens": list(block.tokens),
            "attempts": list(block.attempts),
            "q": [put_row(row) for row in block.q],
            "p": [put_row(row) for row in block.p],
            "raw_q": [put_row(row) for row in self.raw_q],
            "raw_p": [put_row(row) for row in self.raw_p],
            "checks": [[check.accept_prob, check.u, check.accepted] for check in verdict.checks],
            "n_accepted": verdict.n_accepted,
            "next_token": verdict.next_token,
            "next_source": verdict.next_source,
            "residual": None if verdict.residual is None else put_row(verdict.residual),
            "mass": verdict.mass,
            "degenerate": verdict.degenerate,
            "emitted": list(self.emitted),
            "own": list(self.own),
            "coins": [[*astuple(c.at), c.u, c.outcome, c.low, c.high] for c in self.coins],
            "measures": [[m.overlap, m.product, m.entropy_p, m.entropy_q] for m in self.measures],
            "entropy_bonus": self.entropy_bonus,
            "times": asdict(self.times),
            "final": self.final,
            "drew": None if self.drew is None else list(astuple(self.drew)),
            "matrix": [line.to_list() for line in self.matrix],
        }

    @classmethod
    def read(cls, body: dict, get_row: GetRow) -> Round:
        def row_list(name: str) -> tuple[Row, ...]:
            return tuple(get_row(ref) for ref in body[name])

        block = Block(
            body["start"], tuple(body["tokens"]), row_list("q"), row_list("p"), tuple(body["attempts"])
        )
        verdict = Verdict(
            tuple(Check(*check) for check in body["checks"]),
            body["n_accepted"],
            body["next_token"],
            body["next_source"],
            None if body["residual"] is None else get_row(body["residual"]),
            body["mass"],
            body["degenerate"],
        )
        return cls(
            index=body["index"],
            block=block,
            verdict=verdict,
            emitted=tuple(body["emitted"]),
            own=tuple(body["own"]),
            coins=tuple(Coin(Address(*coin[:3]), *coin[3:]) for coin in body["coins"]),
            measures=tuple(Measure(*measure) for measure in body["measures"]),
            entropy_bonus=body["entropy_bonus"],
            times=StageTimes(**body["times"]),
            final=body["final"],
            drew=Address(*body["drew"]) if body.get("drew") else None,
            raw_p=row_list("raw_p"),
            raw_q=row_list("raw_q"),
            matrix=tuple(map(Judged.from_list, body["matrix"])),
        )


#: How a session can end. "interrupted" is never emitted: a reader finds no SessionFinished and says so.
STATUSES = ("finished", "stopped", "failed")


@dataclass(frozen=True)
class SessionFinished:
    """The end: status, and the reason in one plain phrase ("end of text", "64 tokens", an error)."""

    status: str
    reason: str
    ms: float  # from the start of the prompt to the end
    type = "finished"

    def to_dict(self, put_row: PutRow = row_to_dict) -> dict:
        return {"type": self.type, "version": VERSION} | asdict(self)

    @classmethod
    def read(cls, body: dict, get_row: GetRow) -> SessionFinished:
        return cls(**body)


Event = SessionStarted | PromptRead | Round | SessionFinished
EVENTS: dict[str, type[Event]] = {e.type: e for e in (SessionStarted, PromptRead, Round, SessionFinished)}


def from_dict(body: dict, get_row: GetRow = row_from_dict) -> Event:
    """Read any event back. Raises EngineError for a type, a version or a shape this program does not know."""
    body = dict(body)
    kind, version = body.pop("type", None), body.pop("version", None)
    if kind not in EVENTS or version != VERSION:
        raise EngineError(
            f"An event has type {kind!r}, version {version!r}; this program reads {', '.join(EVENTS)} "
            f"at version {VERSION}.",
            "Open the session with the Draftscope that wrote it, or a newer one.",
        )
    try:
        return EVENTS[kind].read(body, get_row)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise EngineError(
            f"An event of type {kind!r} cannot be read: {type(error).__name__} {error}.",
            "Open the session with the Draftscope that wrote it, or a newer one.",
        ) from error
