"""The same comparison over many prompts and seeds: what is stored already is not run again.

Every run is a session of its own: under each prompt and seed the first rule's is the parent, the others' are
its re-runs, so that any pair of them can be opened side by side. All carry a tag made from the settings they
share, and by it a second call finds what the first one finished.

Runs go through the models in batches, if asked for. A re-run waits until its parent has finished, so a batch
takes whatever is ready, in order.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice

from engine import rules, session
from engine.batch import MAX_LANES, Batch
from engine.core import paired
from engine.core.events import PromptRead, SessionStarted
from engine.core.scores import SCORES, scores
from engine.core.types import within
from engine.errors import BadSetting, EngineError
from engine.session import Request
from engine.worker import Run, Task, Worker
from inspector.faults import watermark
from inspector.sinks import StoreSink, deaf
from storage import SessionInfo, Store

MAX_RULES = 8
MAX_RUNS = 100_000
WAVE = 4

#: A rule as it is asked for: its id and the parameters that are not at their defaults.
Asked = tuple[str, dict[str, float]]


def repeated(values: tuple) -> object | None:
    """The first value that stood before; values may hold dicts."""
    seen = set()
    for value in values:
        key = json.dumps(value, sort_keys=True)
        if key in seen:
            return value
        seen.add(key)
    return None


@dataclass(frozen=True)
class Comparison:
    """What is compared: `settings` under every rule, for every prompt and seed. The first rule is the one the
    others are held against."""

    settings: Request
    rules: tuple[Asked, ...]
    prompts: tuple[str, ...]
    seeds: tuple[int, ...]

    def __post_init__(self) -> None:
        """Raises BadSetting for none or too many of anything, for one that stands twice, and for a fault."""
        if self.settings.fault:
            raise BadSetting(
                f"A comparison was asked for with the fault {self.settings.fault}.",
                "Compare rules without it; a session with it is run by itself.",
            )
        for name, values, most in (
            ("rules", self.rules, MAX_RULES),
            ("prompts", self.prompts, MAX_RUNS),
            ("seeds", self.seeds, MAX_RUNS),
        ):
            if not 1 <= len(values) <= most:
                raise BadSetting(f"{len(values)} {name} were named.", f"Name 1 to {most}.")
            twice = repeated(values)
            if twice is not None:
                raise BadSetting(f"{twice!r} stands twice among the {name}.", "Name each once.")
        if self.runs > MAX_RUNS:
            raise BadSetting(f"That makes {self.runs} runs.", f"Ask for at most {MAX_RUNS}.")

    @property
    def runs(self) -> int:
        return len(self.rules) * len(self.prompts) * len(self.seeds)

    @property
    def tag(self) -> str:
        """The name of the settings that all runs share, by their content. Rules, prompts and seeds are not
        in it: a wider comparison finds the runs of a narrower one."""
        shared = session.plan(replace(self.settings, prompt="-", seed=0, rule="argmax", params={})).to_dict()
        del shared["fault"]  # there is none, and older comparisons keep their name
        text = json.dumps(shared, sort_keys=True)
        return f"compare-{hashlib.sha256(text.encode()).hexdigest()[:12]}"

    @cached_property
    def groups(self) -> list[tuple[int, int, list[SessionStarted]]]:
        """Prompt number, seed, and one session a rule. Raises BadSetting for a setting outside its limits."""
        return list(self._groups())

    def _groups(self) -> Iterator[tuple[int, int, list[SessionStarted]]]:
        for number, prompt in enumerate(self.prompts):
            for seed in self.seeds:
                asked = replace(self.settings, prompt=prompt, seed=seed)
                lanes = [
                    session.plan(replace(asked, rule=rule, params=params)) for rule, params in self.rules
                ]
                yield number, seed, lanes


def label(asked: Asked) -> str:
    """A rule as it is typed: `lenient` or `lenient:leniency=0.5`."""
    rule, params = asked
    return ":".join((rule, *(f"{name}={value:g}" for name, value in params.items())))


@dataclass(frozen=True)
class Done:
    """One finished run: which it was, its session, and whether an earlier call had made it."""

    prompt: int
    seed: int
    rule: int
    session: int
    found: bool


@dataclass(frozen=True)
class Place:
    """One run of a comparison: prompt, seed and rule by number, its session, and the key of the one it
    re-runs ("" for the first rule's)."""

    prompt: int
    seed: int
    rule: int
    started: SessionStarted
    key: str
    parent: str

    @property
    def title(self) -> str:
        return f"prompt {self.prompt + 1}, seed {self.seed}"


@dataclass(frozen=True)
class Step:
    """The run that begins now: `number` of `total`."""

    number: int
    total: int
    prompt: int
    seed: int
    rule: str


class Many:
    """A comparison under way. `run` may be stopped and called again; `table` says what there is so far.

    `batch` is how many runs share the models' passes at most; `unbatched` says why they could not.
    Runs are handed to the worker WAVE times as many at once, so that a lane that is done finds another.
    """

    def __init__(
        self, store: Store, worker: Worker, comparison: Comparison, resume: bool = True, batch: int = 1
    ) -> None:
        within("batch", batch, 1, MAX_LANES)
        self.store, self.worker, self.comparison, self.batch = store, worker, comparison, batch
        self.unbatched = ""
        self.groups = comparison.groups
        self.lanes = self.groups[0][2]  # what rule runs, and why, is the same for every prompt and seed
        self.stored = self._stored() if resume else {}
        self.done: list[Done] = []
        self.stopped = threading.Event()
        self._before = frozenset(self.stored)
        self._running: Task | None = None
        self._taken: dict[int, dict[str, float | None]] = {}  # scores by session, which never change

    def run(self, note: Callable[[Step], None] = lambda step: None) -> bool:
        """Run what is missing, in order; True when all of it is done, False after `stop`.

        Raises EngineError for a run that fails; what was finished before it stays.
        """
        places = self._places()
        self.done[:] = [self._done(place) for place in places if place.key in self.stored]
        missing = [place for place in places if place.key not in self.stored]
        while missing and not self.stopped.is_set():
            ready = (place for place in missing if not place.parent or place.parent in self.stored)
            wave = list(islice(ready, self.batch if self.batch == 1 else WAVE * self.batch))
            if not self._run(wave, note):
                return False
            missing = [place for place in missing if place.key not in self.stored]
        return not missing

    def stop(self) -> None:
        """End the run under way within one draft step, and begin no other; returns when it has ended."""
        self.stopped.set()
        run = self._running
        if run is not None:
            self.worker.stop(run)
            run.done.wait()

    def table(self) -> dict:
        """Means and paired differences, a line a rule, over the runs that are done."""
        done = list(self.done)  # it may grow meanwhile
        found = {(one.prompt, one.seed, one.rule): one for one in done}
        pairs = [(prompt, seed) for prompt, seed, _ in self.groups]
        taken = {place: self.scores(one.session) for place, one in found.items()}
        columns = [
            [taken.get((*pair, number), {}) for pair in pairs] for number in range(len(self.comparison.rules))
        ]
        return {
            "comparison": self.comparison.tag,
            "prompts": list(self.comparison.prompts),
            "seeds": list(self.comparison.seeds),
            "runs": self.comparison.runs,
            "done": len(done),
            "found": sum(one.found for one in done),
            "complete": len(done) == self.comparison.runs,
            "level": paired.LEVEL,
            "scores": SCORES,
            "rules": [
                {"rule": label(asked), "runs": sum(map(bool, columns[number]))}
                | {"ran": self.lanes[number].rule, "rule_reason": self.lanes[number].reason}
                | {"watermark": watermark("", self.lanes[number].rule)}
                | {"scores": {name: estimates(columns, number, name) for name in SCORES}}
                for number, asked in enumerate(self.comparison.rules)
            ],
            "batch": self.batch,
            "unbatched": self.unbatched,
            "sessions": [
                {"prompt": one.prompt, "seed": one.seed, "rule": label(self.comparison.rules[one.rule])}
                | {"session": one.session, "found": one.found}
                for one in done
            ],
            "differing_versions": self._differing(done),
        }

    def _places(self) -> list[Place]:
        """All runs, in order."""
        return [
            Place(prompt, seed, number, started, key_of(started), key_of(lanes[0]) if number else "")
            for prompt, seed, lanes in self.groups
            for number, started in enumerate(lanes)
        ]

    def _done(self, place: Place) -> Done:
        found = place.key in self._before
        return Done(place.prompt, place.seed, place.rule, self.stored[place.key], found)

    def _step(self, place: Place, ahead: int) -> Step:
        rule = label(self.comparison.rules[place.rule])
        return Step(len(self.done) + ahead + 1, self.comparison.runs, place.prompt, place.seed, rule)

    def _run(self, wave: list[Place], note: Callable[[Step], None]) -> bool:
        """Run sessions to their end, together where there are several; False when they were stopped."""
        begun = [self._begun(place) for place in wave]
        runs = tuple(run for _, run in begun)
        task = runs[0] if len(runs) == 1 else Batch(runs, self.batch)
        self._running = task
        self.worker.submit(task)
        if self.stopped.is_set():
            self.worker.stop(task)
        try:
            self._follow(wave, runs, note)
            task.done.wait()
        except KeyboardInterrupt:
            self.stop()
        self._running = None
        if isinstance(task, Batch):
            self.unbatched = task.unbatched
        ends = [self._ended(place, session_id) for place, (session_id, _) in zip(wave, begun, strict=True)]
        for place, info in zip(wave, ends, strict=True):
            if info.status not in ("finished", "stopped"):
                where = f"{place.title}, {info.asked}"
                raise EngineError(f"{where}: {info.reason}", "What was finished before it is kept.")
        return all(info.status == "finished" for info in ends)

    def _follow(self, wave: list[Place], runs: tuple[Run, ...], note: Callable[[Step], None]) -> None:
        """Note each run that has begun: the first ones at once, another whenever one more has ended."""
        steps = [self._step(place, ahead) for ahead, place in enumerate(wave)]
        for step in steps[: self.batch]:
            note(step)
        for run, step in zip(runs, steps[self.batch :], strict=False):
            run.done.wait()
            if self.stopped.is_set():
                return
            note(step)

    def _begun(self, place: Place) -> tuple[int, Run]:
        """A new session and its run, with its parent's very tokens."""
        parent = self._parent(place)
        relation = None if parent is None else "rerun"
        tags = (self.comparison.tag,)
        session_id = self.store.create(place.started, parent, relation, place.title, tags)
        run = Run(place.started, StoreSink(self.store, session_id, deaf))
        if parent is not None:
            prompt = self._prompt(parent)
            run.prompt, run.tokenizer = prompt.tokens, prompt.tokenizer
        return session_id, run

    def _parent(self, place: Place) -> int | None:
        """The session it re-runs, which has finished; none for the first rule's."""
        if not place.parent:
            return None
        first = self.stored[place.parent]
        return self.store.session(first).parent_id or first

    def _ended(self, place: Place, session_id: int) -> SessionInfo:
        """Count a session that has finished; one without any round is deleted."""
        info = self.store.session(session_id)
        if info.status == "finished":
            self.stored[place.key] = session_id
            self.done.append(self._done(place))
        elif info.rounds == 0:
            self.store.delete(session_id)
        return info

    def _prompt(self, parent: int) -> PromptRead:
        return self.store.events(parent, limit=2)[1][1]

    def _stored(self) -> dict[str, int]:
        """Finished runs of these settings, by what decides them; imported ones are somebody else's."""
        mine = [info for info in self.store.tagged(self.comparison.tag) if info.imported is None]
        finished = [info for info in mine if info.status == "finished"]
        return {key_of(self.store.started(info.id)): info.id for info in finished}

    def scores(self, session_id: int) -> dict[str, float | None]:
        """SCORES of a finished run, folded once."""
        if session_id not in self._taken:
            info = self.store.session(session_id)
            rule, rounds = rules.get(info.rule, **info.params), self.store.rounds(session_id, 0, info.rounds)
            self._taken[session_id] = scores(rounds, rule)
        return self._taken[session_id]

    def _differing(self, done: list[Done]) -> list[str]:
        """What is not the same version in all runs: then their differences may not be the rules' alone.
        Batches do not count: their size depends on what was left to run, and moves last bits only."""
        infos: list[SessionInfo] = [self.store.session(one.session) for one in done]
        names = sorted({name for info in infos for name in info.versions} - {"batch"})
        return [name for name in names if len({info.versions.get(name) for info in infos}) > 1]


def key_of(started: SessionStarted) -> str:
    """All that decides a session, as one text."""
    return json.dumps(started.to_dict(), sort_keys=True)


def estimates(columns: list[list[dict]], number: int, name: str) -> dict:
    """A rule's mean of one score, and its paired difference from the first rule's (none for the first)."""
    own = [run.get(name) for run in columns[number]]
    line = {"mean": paired.mean(own).to_dict()}
    if number:
        first = [run.get(name) for run in columns[0]]
        line["difference"] = paired.difference(own, first).to_dict()
    return line
