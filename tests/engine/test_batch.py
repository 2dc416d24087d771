"""Sessions in a batch decide as they would alone, whatever the lanes beside them do."""

from __future__ import annotations

# OpenBLAS has to be in the process before mlx is.
from engine.mlx_backend import lanes, load, pairing

# isort: split
import threading
from dataclasses import dataclass, replace

import mlx.core as mx
import numpy as np
import pytest
from mlx_lm.models.cache import KVCache, RotatingKVCache

from engine import session
from engine.batch import Batch
from engine.core import rows
from engine.core.events import PromptRead
from engine.core.types import Sampling
from engine.drafters.lookup import LookupDrafter
from engine.drafters.none import NoDrafter
from engine.errors import BadSetting
from engine.mlx_backend.drafters import ModelDrafter
from engine.mlx_backend.scorer import CachedModel
from engine.models import Pair
from engine.session import Request
from engine.worker import Run, Worker, execute
from tests.engine.fakes import WAIT_S, Ear
from tests.mlx_backend import tiny

EOS = 260
SAMPLING = Sampling(temperature=1.0, logit_bias=((EOS, -100.0),))
RULES = ("stochastic", "block", "sampler-match", "argmax", "gumbel", "typical")
#: Most that a stored probability of these tests differs from the one of the session alone.
ROW_BOUND = 1e-5


def pair_of(kind: str = "model", model=None, name: str = "tiny") -> Pair:
    """A tiny random target, and a drafter of the kind."""
    model = model or tiny.random_model()
    target = load._finished(name, model, load.Text(tiny.tokenizer(), name), tiny.config(), "float32")
    drafter = {
        "model": lambda: ModelDrafter(
            "model", CachedModel(tiny.random_model(1), "draft", 2048), pairing.Shared.all_of(tiny.VOCAB)
        ),
        # The target's own weights: everything is accepted.
        "same": lambda: ModelDrafter(
            "same", CachedModel(model, "same", 2048), pairing.Shared.all_of(tiny.VOCAB)
        ),
        "lookup": lambda: LookupDrafter(tiny.VOCAB),
        "none": NoDrafter,
    }[kind]()
    return Pair(target, load.scorer(target), drafter, {"weights": "float32"})


@dataclass
class Loaded:
    """Stands where the worker keeps its Models."""

    found: Pair

    def pair(self, target, drafter, progress) -> Pair:
        return self.found

    def close(self) -> None:
        """Nothing to let go of."""


def asked(**changes) -> Run:
    base = {"prompt": "the theme then", "raw": True, "sampling": SAMPLING, "max_tokens": 20}
    return Run(session.plan(Request(**base | changes)), Ear())


def twin(run: Run) -> Run:
    return Run(run.started, Ear())


def alone(runs, pair) -> list[Run]:
    """The same sessions, each by itself."""
    singles = [twin(run) for run in runs]
    for run in singles:
        execute(run, Loaded(pair))
    return singles


def batched(runs, pair, n_lanes: int | None = None) -> Batch:
    batch = Batch(tuple(runs), n_lanes or len(runs))
    batch.execute(Loaded(pair))
    assert batch.done.is_set() and all(run.done.is_set() for run in runs)
    return batch


def ear(run: Run) -> Ear:
    return run.sink if isinstance(run.sink, Ear) else run.sink.sink


def decided(run: Run) -> list[tuple]:
    """All that the rounds decided, down to each coin's number and outcome."""
    return [
        (
            done.block.tokens,
            done.block.attempts,
            done.verdict.n_accepted,
            done.verdict.next_source,
            tuple((check.u, check.accepted) for check in done.verdict.checks),
            done.emitted,
            done.own,
            tuple((coin.at, coin.u, coin.outcome) for coin in done.coins),
        )
        for done in ear(run).rounds
    ]


def row_gap(one: Run, other: Run) -> float:
    """The largest difference between a stored probability of one session and the other's."""
    gaps = [0.0]
    for x, y in zip(ear(one).rounds, ear(other).rounds, strict=True):
        for a, b in zip((*x.block.p, *x.block.q), (*y.block.p, *y.block.q), strict=True):
            _, ours, theirs = rows.pair(a, b)
            gaps.append(np.abs(ours - theirs).max())
    return max(gaps)


def assert_equal_to_alone(runs, pair, n_lanes: int | None = None) -> None:
    singles = alone(runs, pair)
    batch = batched(runs, pair, n_lanes)
    assert batch.unbatched == ""
    for run, single in zip(runs, singles, strict=True):
        assert ear(run).end.status == "finished"
        assert (ear(run).end.status, ear(run).end.reason) == (ear(single).end.status, ear(single).end.reason)
        assert len(decided(run)) > 1
        assert decided(run) == decided(single)
        assert row_gap(run, single) < ROW_BOUND


@pytest.mark.parametrize("kind", ["model", "same", "lookup", "none"])
def test_six_rules_decide_as_they_would_alone(kind):
    runs = [asked(rule=rule, seed=7) for rule in RULES]
    assert_equal_to_alone(runs, pair_of(kind))


def test_lanes_of_different_prompts_seeds_lengths_and_k_do_not_meet():
    runs = [
        asked(seed=1, k=4),
        asked(seed=2, k=0),  # no round has a draft
        asked(seed=3, k=1, prompt="a"),
        asked(seed=4, k=7, prompt="another, longer prompt " * 30),  # its cache grows past one buffer
        asked(seed=5, k=4, max_tokens=3),
        asked(
            seed=6, k=3, rule="block", sampling=Sampling(temperature=0.7, top_p=0.9, logit_bias=((9, 2.0),))
        ),
    ]
    assert_equal_to_alone(runs, pair_of())


def test_a_lane_may_end_early():
    eager = replace(SAMPLING, logit_bias=((EOS, 4.0),))
    runs = [asked(seed=seed, sampling=eager if seed == 1 else SAMPLING) for seed in range(3)]
    assert_equal_to_alone(runs, pair_of())
    assert [ear(run).end.reason for run in runs] == ["20 tokens", "end of text", "20 tokens"]


def test_a_lane_whose_session_has_ended_takes_the_next():
    lengths = (6, 20, 3, 9, 12)
    runs = [asked(seed=seed, max_tokens=length) for seed, length in enumerate(lengths)]
    assert_equal_to_alone(runs, pair_of(), n_lanes=2)
    assert {ear(run).events[0].versions["batch"] for run in runs} == {"2 lanes"}
    assert set().union(*(ear(run).names for run in runs)) == {"draftscope-lane-0", "draftscope-lane-1"}
    assert ear(runs[1]).names.isdisjoint(ear(runs[2]).names)


def test_a_stop_ends_what_has_not_begun():
    runs = [asked(seed=seed) for seed in range(5)]
    batch = Batch(tuple(runs), 2)
    ear(runs[0]).on_event = lambda event: batch.cancelled.set()
    batch.execute(Loaded(pair_of()))
    assert all((ear(run).end.status, run.done.is_set()) == ("stopped", True) for run in runs)
    assert [len(ear(run).events) for run in runs[2:]] == [1, 1, 1]


def test_every_draft_is_accepted_where_both_models_are_one():
    runs = [asked(seed=seed, k=4) for seed in range(3)]
    batched(runs, pair_of("same"))
    assert {done.verdict.n_accepted - done.block.k for run in runs for done in ear(run).rounds} == {0}


def test_a_batch_says_so_and_one_session_alone_is_no_batch():
    pair = pair_of("none")
    runs, single = [asked(seed=seed) for seed in range(2)], asked()
    batched(runs, pair)
    batch = batched([single], pair)
    versions = [event.versions for run in (*runs, single) for event in ear(run).events[:1]]
    assert versions == [{"weights": "float32", "batch": "2 lanes"}] * 2 + [{"weights": "float32"}]
    assert batch.unbatched == ""


def test_a_lane_that_fails_leaves_the_others_alone():
    nothing = replace(SAMPLING, logit_bias=tuple((token, -100.0) for token in range(tiny.VOCAB)))
    runs = [asked(seed=0), asked(seed=1, sampling=nothing), asked(seed=2), asked(prompt="x" * 3000)]
    pair = pair_of()
    singles = alone(runs, pair)
    batched(runs, pair)
    assert [ear(run).end.status for run in runs] == ["finished", "failed", "finished", "failed"]
    assert "probability 0" in ear(runs[1]).end.reason and "2048" in ear(runs[3]).end.reason
    assert [decided(run) for run in runs] == [decided(run) for run in singles]


@pytest.mark.parametrize("stage", [0, 1], ids=["drafting", "verifying"])
def test_a_pass_that_fails_ends_the_sessions_that_were_in_it(stage, monkeypatch):
    feed = lanes.LaneModel.feed
    runs = [asked(seed=0, k=0, max_tokens=2), asked(seed=1), asked(seed=2)]

    def failing(self, asks):
        if self.stage == stage and all(len(ear(run).rounds) >= 2 for run in runs[1:]):
            raise RuntimeError("out of memory")
        return feed(self, asks)

    monkeypatch.setattr(lanes.LaneModel, "feed", failing)
    batched(runs, pair_of())
    assert [ear(run).end.status for run in runs] == ["finished", "failed", "failed"]
    assert "out of memory" in ear(runs[1]).end.reason
    assert all(len(ear(run).rounds) == 2 for run in runs)


def test_a_stop_ends_every_lane_and_keeps_finished_rounds():
    runs = [asked(seed=seed, max_tokens=40) for seed in range(3)]
    whole = [twin(run) for run in runs]
    batched(whole, pair_of())
    batch = Batch(tuple(runs), len(runs))

    def stop(event) -> None:
        if len(ear(runs[1]).rounds) == 3:
            batch.cancelled.set()

    ear(runs[1]).on_event = stop
    batch.execute(Loaded(pair_of()))
    assert all((ear(run).end.status, run.done.is_set()) == ("stopped", True) for run in runs)
    kept = [len(ear(run).rounds) for run in runs]
    assert kept[1] == 3 and all(2 <= n <= 4 for n in kept)
    for run, other in zip(runs, whole, strict=True):
        assert decided(run) == decided(other)[: len(ear(run).rounds)]


def test_a_sink_that_fails_does_not_hold_the_others_up(caplog):
    runs = [asked(seed=seed) for seed in range(2)]

    def full(event) -> None:
        raise OSError("the disk is full")

    ear(runs[0]).on_event = full
    batched(runs, pair_of())
    assert ear(runs[1]).end.status == "finished"
    assert "could not be finished" in caplog.text


def rotating(model) -> None:
    model.make_cache = lambda: [RotatingKVCache(max_size=64), KVCache()]


def test_a_model_with_another_cache_runs_one_by_one_and_says_why():
    model = tiny.random_model()
    rotating(model)
    runs = [asked(seed=seed) for seed in range(2)]
    pair = pair_of("none", model)
    singles = alone(runs, pair)
    batch = batched(runs, pair)
    assert batch.unbatched == "layer 0 of tiny keeps a RotatingKVCache"
    assert [decided(run) for run in runs] == [decided(run) for run in singles]
    assert all("batch" not in ear(run).events[0].versions for run in runs)


def test_the_draft_model_is_looked_at_too():
    pair = pair_of()
    rotating(pair.drafter.cached.model)
    pair.drafter.cached.reset()
    assert lanes.refusal(pair) == "layer 0 of draft keeps a RotatingKVCache"


class OnePosition(lanes.LaneCache):
    """What a model's code makes of lanes when it takes the first one's position for all."""

    @property
    def offset(self) -> int:
        return self.lengths[self.current.lanes[0]]


class NoPosition(lanes.LaneCache):
    @property
    def offset(self) -> int:
        raise TypeError("an int is wanted")


def test_a_model_that_takes_one_position_for_all_is_found_out(monkeypatch):
    assert lanes.refusal(pair_of()) == ""
    monkeypatch.setattr(lanes, "LaneCache", OnePosition)
    assert "are off by" in lanes.refusal(pair_of())
    monkeypatch.setattr(lanes, "LaneCache", NoPosition)
    assert "takes no position for each lane: an int is wanted" in lanes.refusal(pair_of())


def test_a_batch_needs_sessions_of_one_pair():
    with pytest.raises(BadSetting, match="0 sessions"):
        Batch((), 1)
    with pytest.raises(BadSetting, match="lanes is 65"):
        Batch((asked(),), 65)
    with pytest.raises(BadSetting, match="different models"):
        Batch((asked(), asked(drafter="lookup")), 2)


def test_models_that_cannot_be_loaded_fail_every_session():
    class Broken(Loaded):
        def pair(self, target, drafter, progress):
            raise BadSetting("No such model.", "Choose another.")

    runs = [asked(seed=seed) for seed in range(2)]
    batch = Batch(tuple(runs), len(runs))
    batch.execute(Broken(None))
    assert batch.done.is_set()
    assert [(ear(run).end.status, ear(run).end.reason) for run in runs] == [
        ("failed", "No such model. Choose another.")
    ] * 2


def test_the_worker_runs_a_batch_and_withdraws_one_that_waits(monkeypatch):
    pair = pair_of("lookup")
    monkeypatch.setattr("engine.worker.Models", lambda: Loaded(pair))
    worker, held, go = Worker(), threading.Event(), threading.Event()

    def hold(event) -> None:
        if isinstance(event, PromptRead):
            held.set()
            assert go.wait(WAIT_S)

    first, second = ([asked(seed=seed) for seed in range(2)] for _ in range(2))
    ear(first[0]).on_event = hold
    running, waiting = Batch(tuple(first), 2), Batch(tuple(second), 2)
    worker.submit(running)
    assert held.wait(WAIT_S)
    worker.submit(waiting)
    worker.stop(waiting)
    go.set()
    assert running.done.wait(WAIT_S) and waiting.done.is_set()
    worker.close()
    assert [ear(run).end.status for run in (*first, *second)] == ["finished"] * 2 + ["stopped"] * 2
    assert ear(first[0]).names == {"draftscope-lane-0"}


@pytest.mark.model
def test_on_the_bundled_pair_six_rules_decide_as_they_would_alone(bundled, bundled_3bit):
    pair = Pair(bundled, load.scorer(bundled), bundled_3bit, {})
    runs = [
        asked(
            prompt="Why is the sky blue?", raw=False, sampling=Sampling(), rule=rule, seed=seed, max_tokens=6
        )
        for seed, rule in enumerate(RULES)
    ]
    singles = alone(runs, pair)
    assert batched(runs, pair).unbatched == ""
    for run, single in zip(runs, singles, strict=True):
        assert decided(run) == decided(single)
        assert row_gap(run, single) < 1e-4


def test_arrays_stay_on_the_thread_of_the_models(monkeypatch):
    threads = set()
    answers = lanes.Lanes.answers

    def noted(self, turn):
        threads.add(threading.get_ident())
        found = answers(self, turn)
        assert not any(isinstance(answer, mx.array) for answer in found)
        return found

    monkeypatch.setattr(lanes.Lanes, "answers", noted)
    batched([asked(seed=seed) for seed in range(2)], pair_of())
    assert threads == {threading.get_ident()}
