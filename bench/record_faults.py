"""What each known fault does to the numbers: sessions and a probe of the law, healthy and faulty, same seeds.

Used by bench.record_tour. Every number is measured on the bundled pair; a healthy engine under the same
settings and seeds stands beside each fault.
"""

from __future__ import annotations

import threading
from dataclasses import asdict, replace

from engine import rules, verification, worker
from engine.batch import Batch
from engine.core import session_stats
from engine.core.ending import Ending
from engine.core.events import Round
from engine.core.exactness import ChiSquare
from engine.core.sharing import SharedDrafter, SharedScorer
from engine.core.types import Sampling
from engine.fault_probe import Probe, probe
from engine.models import Models
from engine.session import Request, plan
from engine.worker import Run
from inspector.controller import Controller
from inspector.faults import WORDS, title
from inspector.sinks import StoreSink, deaf
from inspector.view_model import piece_view
from storage import Store

PROMPT = "Write two sentences about the sea."
#: With commas in every round, so that a penalty has something to count.
LIST = "List twenty animals, separated by commas."
SEEDS = range(3)
TOKENS = 40
LANES = 6
SAMPLES = 3000
SHOWN = 8  # tokens of a law

#: Settings by group: what a fault needs in order to show. Sessions and probes share them, but for k.
GROUPS = {
    "plain": Sampling(temperature=1.0),
    "cool": Sampling(temperature=0.6),
    "filtered": Sampling(temperature=1.0, top_k=3),
    "penalty": Sampling(temperature=0.8, repetition_penalty=1.3),
}
#: A closer drafter where the penalty must fall on drafts that were accepted.
DRAFTERS = dict.fromkeys(GROUPS, "self:3bit") | {"penalty": "self:4bit"}
GROUP_OF = {"stale-penalties": "penalty", "drafter-at-t1": "cool", "unfiltered-q": "filtered"}


def recorded(controller: Controller) -> dict:
    """The gallery: `cases`, and `healthy` numbers by group."""
    cases = [("", "stochastic", group) for group in GROUPS]
    cases += [(*split(name), GROUP_OF.get(name, "plain")) for name in WORDS]
    sessions = run_all(controller, cases)
    probes = probe_all(cases)
    numbers = [
        numbers_of(controller.store, ids, found, pieces)
        for ids, (found, pieces) in zip(sessions, probes, strict=True)
    ]
    healthy = dict(zip(GROUPS, numbers, strict=False))
    shown = []
    for name, (_, _, group), faulty, ids in zip(
        WORDS, cases[len(GROUPS) :], numbers[len(GROUPS) :], sessions[len(GROUPS) :], strict=True
    ):
        base = sessions[list(GROUPS).index(group)]
        shown.append(
            {
                "id": name,
                "kind": "rule" if name in rules.RULES else "engine",
                "title": rules.RULES[name].title.removeprefix("Fault: ")
                if name in rules.RULES
                else title(name),
                "group": group,
                "divergence": divergence(controller, base[0], ids[0]),
                "faulty": faulty,
            }
        )
    settings = {group: f"{DRAFTERS[group]}, {said(sampling)}" for group, sampling in GROUPS.items()}
    return {
        "pair": "the bundled model and itself at fewer bits",
        "sessions": f"{len(SEEDS)} sessions of at most {TOKENS} tokens, k 4, seeds from {SEEDS[0]}",
        "samples": f"{SAMPLES} samples of two tokens, k 2, seeds from 0",
        "settings": settings,
        "healthy": healthy,
        "cases": shown,
    }


def worded(recording: dict) -> dict:
    """The recording with the words that go with each fault now."""
    return recording | {"cases": [case | asdict(WORDS[case["id"]]) for case in recording["cases"]]}


def split(name: str) -> tuple[str, str]:
    """A fault's name as (engine fault, rule)."""
    return ("", name) if name in rules.RULES else (name, "stochastic")


def said(sampling: Sampling) -> str:
    words = [f"T {sampling.temperature:g}"]
    words += [f"top-k {sampling.top_k}"] if sampling.top_k else []
    words += (
        [f"repetition penalty {sampling.repetition_penalty:g}"] if sampling.repetition_penalty != 1 else []
    )
    words += [f"frequency penalty {sampling.frequency_penalty:g}"] if sampling.frequency_penalty else []
    return ", ".join(words)


def run_all(controller: Controller, cases: list[tuple[str, str, str]]) -> list[list[int]]:
    """Every case under every seed, together through the models; the sessions' ids by case."""
    ids, runs = [], []
    for fault, rule, group in cases:
        ids.append([])
        for seed in SEEDS:
            request = Request(
                LIST if group == "penalty" else PROMPT,
                rule=rule,
                drafter=DRAFTERS[group],
                sampling=GROUPS[group],
                seed=seed,
                fault=fault,
            )
            started = plan(replace(request, max_tokens=TOKENS))
            session_id = controller.store.create(started)
            ids[-1].append(session_id)
            runs.append(Run(started, StoreSink(controller.store, session_id, deaf)))
    batch = Batch(tuple(runs), LANES)
    controller.worker.submit(batch)
    for run in runs:
        run.done.wait()
        print(f"{run.started.fault or run.started.rule}, seed {run.started.seed}", flush=True)
    batch.done.wait()
    return ids


def probe_all(cases: list[tuple[str, str, str]]) -> list[tuple[Probe, dict[int, bytes]]]:
    """The law of every case, measured on verify's own prompt, on a worker of its own."""
    task, own = Probes(cases), worker.Worker()
    own.submit(task)
    task.done.wait()
    own.close()
    if task.error:
        raise task.error
    return task.found


class Probes(worker.Task):
    """All probes, on the thread that owns the models."""

    def __init__(self, cases: list[tuple[str, str, str]]) -> None:
        self.cases, self.progress = cases, ""
        self.found: list[tuple[Probe, dict[int, bytes]]] = []
        self.scorer: SharedScorer | None = None  # one for all: logits know no sampling
        self.drafters: dict[tuple[str, bool], SharedDrafter] = {}
        self.error: Exception | None = None
        self.cancelled, self.done = threading.Event(), threading.Event()

    def execute(self, models: Models) -> None:
        try:
            for fault, rule, group in self.cases:
                self.found.append(self.one(models, fault, rule, group))
                print(f"probed {fault or rule}, {group}", flush=True)
        except Exception as error:
            self.error = error
        finally:
            self.done.set()

    def withdraw(self) -> None:
        self.done.set()

    def one(self, models: Models, fault: str, rule: str, group: str) -> tuple[Probe, dict[int, bytes]]:
        sampling = replace(GROUPS[group], top_k=GROUPS[group].top_k or verification.DEFAULTS.sampling.top_k)
        request = replace(verification.DEFAULTS, rule=rule, sampling=sampling, drafter=DRAFTERS[group])
        started = verification.planned(request, SAMPLES)
        pair = models.pair(started.target, started.drafter, lambda message, fraction: None)
        prompt = pair.target.text.encode(started.prompt, started.raw)
        asked = verification.question(started, prompt, SAMPLES)
        ends = Ending(pair.target.eos_ids, (), pair.target.text.pieces).reached
        self.scorer = self.scorer or SharedScorer(pair.scorer)
        # Rows that are asked for without their filters are others.
        drafter = self.drafters.setdefault((group, fault == "unfiltered-q"), SharedDrafter(pair.drafter))
        found = probe(asked, self.scorer, drafter, fault, ends)
        named = {*found.law.ids.tolist(), *found.firsts}
        return found, pair.target.text.pieces(named)


def numbers_of(store: Store, ids: list[int], found: Probe, pieces: dict[int, bytes]) -> dict:
    """What a page shows of one case."""
    rounds = [done for one in ids for done in store.rounds(one, 0, store.session(one).rounds)]
    stats = session_stats.describe(rounds)
    acceptance = found.acceptance
    top = sorted(found.law.ids.tolist(), key=lambda token: (-found.law.prob(token), token))[:SHOWN]
    return {
        "by_depth": [
            {name: one[name] for name in ("depth", "part", "whole", "rate", "low", "high")}
            for one in stats["by_depth"]
        ],
        "by_time": by_time([store.rounds(one, 0, store.session(one).rounds) for one in ids]),
        "measured": stats["measured"],
        "per_pass": stats["emitted"] / stats["rounds"],
        "ceiling": next(
            form["expected"] for form in stats["closed_forms"] if form["name"].startswith("sum min")
        ),
        "text": text_of(store, ids[0]),
        "first": test_of(found.first),
        "pairs": test_of(found.pairs),
        "drafts": None if found.drafts is None else test_of(found.drafts),
        "acceptance": {
            "accepted": acceptance.accepted,
            "tested": acceptance.tested,
            "expected": None if acceptance.expected is None else acceptance.expected / acceptance.tested,
            "p_value": acceptance.p_value,
            "fails": acceptance.fails,
        },
        "tv": found.tv,
        "first_draft": {
            "accepted": found.depths[0][0],
            "tested": found.depths[0][1],
            "ceiling": found.ceiling,
        },
        "law": [
            [piece_view(pieces[token]), found.law.prob(token), found.firsts[token] / found.samples]
            for token in top
        ],
    }


def test_of(test: ChiSquare) -> dict:
    return {"statistic": test.statistic, "dof": test.dof, "p_value": test.p_value, "fails": test.fails}


def by_time(sessions: list[list[Round]]) -> list[dict]:
    """Accepted of tested drafts in the first, middle and last third of the sessions' rounds."""
    thirds: list[list[Round]] = [[], [], []]
    for rounds in sessions:
        for done in rounds:
            thirds[min(2, 3 * done.index // len(rounds))].append(done)
    tested = [session_stats.share_of(session_stats.tests(part).accepted) for part in thirds]
    return [share.to_dict() for share in tested]


def text_of(store: Store, session_id: int) -> str:
    return Controller(store).text(session_id)


def divergence(controller: Controller, healthy: int, faulty: int) -> int | None:
    """Where the outputs of two sessions first part."""
    pairs = zip(controller.output(healthy), controller.output(faulty), strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), None)
