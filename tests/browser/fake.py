"""A controller whose sessions come from the real loop and rules over two toy models: events as true as any,
in milliseconds, without MLX or SQLite. A gate lets a test hold a run at a round."""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field

import numpy as np

from engine.core import replay, warp
from engine.core.events import PromptRead, Round, SessionFinished, SessionStarted
from engine.core.loop import Cancelled, Generation, Plan
from engine.core.stats import counters
from engine.core.types import Address, Draft, Sampling
from engine.errors import BadSetting
from engine.rules import RULES, effective, get, with_own
from inspector import lane_lines, law_view, view_model
from inspector.lanes import asked_lanes, judged_lanes

TEXT = """The cat sat on the mat. The dog sat on the log. The cat saw the dog and the dog saw the cat.
A draft is a guess. The target reads the guess and keeps the words it would have said.
The coin falls below the line and the word stands. The coin falls above the line and the word is gone.
The target then draws a new word from the rest. The rest is what the target wants and the draft lacks.
The cat and the dog read the words. The words are the same words. The draft is fast and the target is slow.
A good guess is kept. A bad guess is gone. The draft sat on the log and the target sat on the mat.\n"""
HOSTILE = (
    b"<script>window.pwned=1</script>",
    b"${window.pwned=1}",
    b"{{value}}",
    "\u202eright to left\u202c".encode(),
    b"\x00",
    b"\xe2\x80",
    "\u05e9\u05dc\u05d5\u05dd".encode(),
    b"<img src=x onerror=window.pwned=1>",
    "z\u0336\u0335\u0334alg\u0489o".encode(),
    b"\t",
    b"x" * 10_000,
)
FILLERS = 400


def pieces_of_text() -> list[bytes]:
    words = TEXT.replace("\n", " \n ").replace(".", " . ").split(" ")
    return [(w if w in (".", "\n") else f" {w}").encode() for w in words if w]


TOKENS = pieces_of_text()
PIECES = [*dict.fromkeys(TOKENS), *HOSTILE, *(f" w{i}".encode() for i in range(FILLERS)), b"<|end|>"]
IDS = {piece: i for i, piece in enumerate(PIECES)}
END = len(PIECES) - 1


def shown_pieces(ids: Iterable[int]) -> dict[str, object]:
    return {str(i): view_model.piece_view(PIECES[i], i == END) for i in ids}


class Chain:
    """Next-word counts over TEXT as logits; `sharp` mixes two words of context in, `seed` adds a wobble."""

    def __init__(self, sharp: float, seed: int, hostile: float = 0.0) -> None:
        ids = [IDS[piece] for piece in TOKENS]
        self.sharp, self.seed, self.hostile = sharp, seed, hostile
        self.one: dict[int, Counter] = defaultdict(Counter)
        self.two: dict[tuple[int, int], Counter] = defaultdict(Counter)
        for a, b, c in zip(ids, ids[1:], ids[2:], strict=False):
            self.one[b][c] += 1
            self.two[a, b][c] += 1

    def logits(self, context: tuple[int, ...]) -> np.ndarray:
        weights = np.full(len(PIECES), 2e-4)
        weights[END] = 1e-6
        for offset in range(len(HOSTILE)):
            weights[IDS[HOSTILE[offset]]] += self.hostile
        for token, n in self.one[context[-1]].items():
            weights[token] += n
        for token, n in self.two[context[-2:]].items() if len(context) > 1 else ():
            weights[token] += self.sharp * n
        wobble = np.random.default_rng([self.seed, *context[-2:]]).normal(0, 0.7, len(PIECES))
        return (np.log(weights) + wobble).astype(np.float32)


class ToyScorer:
    vocab = len(PIECES)

    def __init__(self, chain: Chain) -> None:
        self.chain, self.cache = chain, ()

    def prefill(self, tokens: tuple[int, ...]) -> int:
        self.cache = tokens[:-1]
        return 0

    def score(self, tokens: tuple[int, ...]) -> np.ndarray:
        rows = []
        for token in tokens:
            self.cache += (token,)
            rows.append(self.chain.logits(self.cache))
        return np.stack(rows)

    def rewind(self, n: int) -> None:
        self.cache = self.cache[: len(self.cache) - n]


class ToyDrafter:
    kind = "toy"

    def __init__(self, chain: Chain) -> None:
        self.chain, self.prompt = chain, ()

    def start(self, prompt: tuple[int, ...]) -> None:
        self.prompt = prompt

    def propose(self, context, k, sampling, coins) -> Draft:
        tokens, rows, raw = [], [], []
        for i in range(k):
            logits = self.chain.logits((*self.prompt, *context, *tokens))
            rows.append(warp.effective(logits, sampling.mirrored()))
            raw.append(warp.raw(logits))
            tokens.append(coins.choose(rows[-1], Address("draft", len(context) + i)))
        return Draft(tuple(tokens), tuple(rows), tuple(raw) if sampling.filters else ())

    def commit(self, tokens: tuple[int, ...]) -> None:
        pass


@dataclass
class Session:
    record: dict
    started: SessionStarted
    prompt: PromptRead
    plan: Plan
    hostile: float
    rounds: list[Round] = field(default_factory=list)
    finished: SessionFinished | None = None
    status: str = "queued"
    stopping: threading.Event = field(default_factory=threading.Event)


class FakeStore:
    """What the report reads from the store."""

    def __init__(self, controller: FakeController) -> None:
        self.controller = controller

    def rounds(self, session_id: int, lo: int, hi: int) -> list[Round]:
        return self.controller.get(session_id).rounds[lo:hi]

    def pieces(self, tokenizer: str, ids: Iterable[int]) -> dict[int, bytes]:
        return {i: PIECES[i] for i in ids}


class FakeController:
    """The controller's methods over toy models. `pace` is seconds a round; `hold(n)` stops every run before
    round n until `release()`."""

    def __init__(self, pace: float = 0.0, hostile: float = 0.0) -> None:
        self.pace, self.hostile = pace, hostile
        self.all: dict[int, Session] = {}
        self.store = FakeStore(self)
        self.gate = threading.Condition()
        self.limit: int | None = None
        self.progress = ""
        self.warming = ""
        self.own_rules = True
        self.library = self

    def hold(self, n: int) -> None:
        self.limit = n

    def release(self) -> None:
        with self.gate:
            self.limit = None
            self.gate.notify_all()

    def start(self, form: dict) -> int:
        if not str(form["prompt"]).strip():
            raise BadSetting("The prompt is empty.", "Type a question, or choose a raw prompt.")
        if form["target"] != "toy":
            raise BadSetting(f"There is no model {form['target']!r}.", "Choose toy.")
        sampling = Sampling(form["temperature"], form["top_k"], form["top_p"], form["min_p"])
        return self.begin(form, form["rule"], sampling, parent=None)

    def begin(
        self, form: dict, asked: str, sampling: Sampling, parent: int | None, params: dict | None = None
    ) -> int:
        rule, reason = effective(get(asked, **(params or {})), sampling)
        session_id = max(self.all, default=0) + 1
        started = SessionStarted(
            prompt=form["prompt"],
            raw=form["raw"],
            target=form["target"],
            drafter=form["drafter"],
            rule=rule.id,
            params=rule.params,
            asked=asked,
            reason=reason,
            sampling=sampling,
            seed=int(form["seed"]),
            k=int(form["k"]),
            max_tokens=int(form["max_tokens"]),
        )
        prompt = PromptRead((IDS[b" The"],), 1.0, len(PIECES), "toy", (END,))
        plan = Plan(prompt.tokens, rule, sampling, started.seed, started.k, started.max_tokens)
        record = {
            "id": session_id,
            "parent_id": parent,
            "relation": None if parent is None else "rerun",
            "title": form["prompt"][:60],
            "created": time.time(),
            "starred": False,
        }
        self.all[session_id] = Session(record, started, prompt, plan, self.hostile)
        threading.Thread(target=self.work, args=(self.all[session_id],), daemon=True).start()
        return session_id

    def work(self, session: Session) -> None:
        generation = self.generation(session)
        session.status = "running"
        status, reason = "finished", f"{session.plan.max_tokens} tokens"
        try:
            for done in generation:
                self.wait(session, done.index)
                if session.stopping.is_set():
                    raise Cancelled
                self.tell(session.rounds.append, done)
                time.sleep(self.pace)
            if generation.output[-1] == END:
                reason = "end of text"
        except Cancelled:
            status, reason = "stopped", "stopped by you"
        session.finished = SessionFinished(status, reason, 1.0)
        self.tell(setattr, session, "status", status)

    def tell(self, change: Callable, *values: object) -> None:
        """Change something, and wake whoever waits for it."""
        with self.gate:
            change(*values)
            self.gate.notify_all()

    def until(self, holds: Callable[[], bool]) -> None:
        """Wait, without spinning: a test that spins takes the processor from what it waits for."""
        with self.gate:
            assert self.gate.wait_for(holds, timeout=60), "nothing came of it in a minute"

    def ended(self, *sessions: int) -> None:
        """Let the runs go, and wait for their ends."""
        self.release()
        self.until(lambda: all(self.count(one)[1] not in ("queued", "running") for one in sessions))

    def finished(self, **settings: object) -> int:
        """A session that has ended, started without the page."""
        session = self.start(self.choices()["defaults"] | {"stop": ""} | settings)
        self.ended(session)
        return session

    def wait(self, session: Session, index: int) -> None:
        with self.gate:
            self.gate.wait_for(lambda: self.limit is None or index < self.limit or session.stopping.is_set())

    def generation(self, session: Session) -> Generation:
        scorer = ToyScorer(Chain(9.0, 1, session.hostile))
        drafter = ToyDrafter(Chain(1.5, 2, session.hostile))
        scorer.prefill(session.plan.prompt)
        drafter.start(session.plan.prompt)
        ends = lambda output: output[-1] == END  # noqa: E731
        rules = with_own(session.plan.rule)
        return Generation(session.plan, drafter, scorer, ends, session.stopping.is_set, matrix_rules=rules)

    def stop(self, session_id: int) -> None:
        with self.gate:
            self.all[session_id].stopping.set()
            self.gate.notify_all()

    def rerun(self, session_id: int, lanes: list[str | dict]) -> list[int]:
        started = self.get(session_id).started
        begun = []
        for lane in asked_lanes(lanes, started):
            form = started.to_dict() | {"k": started.k if lane.k is None else lane.k}
            form["drafter"] = lane.drafter or started.drafter
            begun.append(self.begin(form, lane.rule, started.sampling, session_id, lane.params))
        return begun

    def rejudged(self, session_id: int, lanes: list[dict]) -> dict:
        session = self.get(session_id)
        found, pieces = [], {}
        for lane in judged_lanes(session.started, session.rounds, lanes):
            views = [view_model.round_view(done) for done in lane.judged.rounds]
            pieces |= shown_pieces(set().union(*map(view_model.tokens_of, views)))
            line = lane.named(session_id) | {"drafter": session.started.drafter, "k": session.started.k}
            line |= lane_lines.numbers(lane.judged.rounds, lane.rule) | lane.confirmed(session.rounds)
            found.append({"rounds": views, "line": line, "rule_title": lane.rule.title})
        return {"lanes": found, "pieces": pieces}

    def compared(self, session_ids: list[int]) -> dict:
        return {"columns": lane_lines.COLUMNS, "lines": [self.line(self.get(i)) for i in session_ids]}

    def line(self, session: Session) -> dict:
        started, record = session.started, session.record
        names = ("rule", "params", "asked", "drafter", "k", "seed")
        line = {name: getattr(started, name) for name in names}
        line |= {"session": record["id"], "mode": "run", "rule_reason": started.reason}
        line |= {"status": session.status, "reason": "", "parent_id": record["parent_id"]}
        line |= lane_lines.numbers(session.rounds, session.plan.rule)
        parent = self.all.get(record["parent_id"])
        if parent is not None and parent.started == started:
            difference = replay.difference(parent.rounds, session.rounds)
            line |= {"reproduced": not difference, "difference": difference, "row": None}
        return line

    def sessions(self, search: str = "", limit: int = 100, offset: int = 0) -> list[dict]:
        found = [s for s in self.all.values() if search.lower() in s.started.prompt.lower()]
        return [self.row(s) for s in sorted(found, key=lambda s: -s.record["id"])][offset : offset + limit]

    def page(self, filters: dict, limit: int) -> dict:
        rows = self.sessions(filters.get("search", ""), limit)
        return {"sessions": rows, "total": len(rows), "all": len(self.all), "bytes": 0, "facets": {}}

    def row(self, session: Session) -> dict:
        started, totals = session.started, counters(session.rounds)
        return session.record | {
            "rule": started.rule,
            "asked": started.asked,
            "drafter": started.drafter,
            "target": started.target,
            "seed": started.seed,
            "k": started.k,
            "temperature": started.sampling.temperature,
            "status": session.status,
            "emitted": totals.emitted,
            "rounds": totals.rounds,
            "per_position_acceptance": totals.per_position_acceptance,
        }

    def head(self, session_id: int) -> dict:
        session = self.get(session_id)
        rule = RULES[session.started.rule]
        more = {"prompt_pieces": shown_pieces(session.prompt.tokens), "rule_title": rule.title}
        return more | view_model.session_view(
            session.record | {"status": session.status},
            session.started,
            session.prompt,
            session.finished,
            counters(session.rounds).to_dict(),
            len(session.rounds),
            "" if session.rounds else self.progress,
        )

    def get(self, session_id: int) -> Session:
        if session_id not in self.all:
            raise BadSetting(f"There is no session {session_id}.", "Choose one from the list.")
        return self.all[session_id]

    def rounds(self, session_id: int, lo: int, hi: int, bars: int = view_model.BARS) -> dict:
        views = [view_model.round_view(done, bars) for done in self.get(session_id).rounds[lo:hi]]
        used = set().union(*map(view_model.tokens_of, views)) if views else set()
        return {"rounds": views, "pieces": shown_pieces(used)}

    def laws(self, session_id: int, index: int, i: int) -> dict:
        session = self.get(session_id)
        view = law_view.laws_at(session.rounds[index], i, session.plan.rule)
        return view | {"pieces": shown_pieces(view["tokens"])}

    def beginning(self, session_id: int) -> tuple[SessionStarted, PromptRead]:
        return self.get(session_id).started, self.get(session_id).prompt

    def count(self, session_id: int) -> tuple[int, str]:
        session = self.get(session_id)
        return len(session.rounds), session.status

    def choices(self) -> dict:
        rules = [
            {
                "drafts_otherwise": law_view.drafts_otherwise(r.id),
                "looks_ahead": r.looks_ahead,
                "greedy_only": r.greedy_only,
                "id": r.id,
                "title": r.title,
                "meaning": r.meaning,
                "formula": r.formula,
                "lossless": r.lossless,
                "faulty": r.faulty,
                "params": [],
                "parameters": [asdict(param) for param in r.parameters],
            }
            for r in RULES.values()
        ]
        defaults = {
            "prompt": "Tell me about the cat and the dog.",
            "raw": False,
            "target": "toy",
            "drafter": "toy",
            "rule": "stochastic",
            "seed": 7,
            "k": 4,
            "max_tokens": 64,
            "temperature": 0.8,
            "top_k": 0,
            "top_p": 0.95,
            "min_p": 0.0,
            "repetition_penalty": 1.0,
            "fault": "",
        }
        offered = {"targets": ["toy"], "drafters": ["toy", "lookup"], "rules": rules, "faults": []}
        return offered | {"defaults": defaults}
