"""The worker's promises, with models that only count: one thread, one run after another, stop at once."""

from __future__ import annotations

import threading

import pytest

from engine import session, worker
from engine.core import stopping
from engine.core.events import Event, PromptRead, Round, SessionFinished
from engine.core.types import Sampling
from engine.errors import EngineError, ModelError
from engine.session import Request
from engine.worker import Run, Worker
from tests.engine.fakes import VOCAB, WAIT_S, Ear, FakeModels, FlatScorer


@pytest.fixture
def models(monkeypatch) -> FakeModels:
    fake = FakeModels()
    monkeypatch.setattr(worker, "Models", lambda: fake)
    return fake


@pytest.fixture
def working(models):
    owner = Worker()
    yield owner
    owner.close()


def run_for(sink: Ear, **changes) -> Run:
    asked = {"prompt": "two words", "sampling": Sampling(temperature=1.0), "max_tokens": 12, "k": 3}
    return Run(session.plan(Request(**asked | changes)), sink)


def finish(working: Worker, *runs: Run) -> None:
    for run in runs:
        working.submit(run)
    for run in runs:
        assert run.done.wait(WAIT_S)


def test_one_thread_owns_the_models_and_speaks_to_every_sink(working, models):
    first, second = Ear(), Ear()
    finish(working, run_for(first), run_for(second))
    assert first.threads == second.threads == {models.drafter.thread}
    assert models.drafter.thread != threading.get_ident()
    assert first.names == {"draftscope-worker"}


def test_a_run_says_prompt_then_rounds_then_its_end(working):
    ear = Ear()
    run = run_for(ear)
    finish(working, run)
    kinds = [type(event) for event in ear.events]
    assert kinds == [PromptRead, *[Round] * len(ear.rounds), SessionFinished]
    assert [done.index for done in ear.rounds] == list(range(len(ear.rounds)))
    assert sum(len(done.emitted) for done in ear.rounds) == 12
    assert (ear.end.status, ear.end.reason) == ("finished", "12 tokens")
    assert run.progress == ""


def test_a_run_goes_on_when_the_thread_that_asked_for_it_has_ended(working, models):
    there, go = held(models)
    run = run_for(Ear())
    asker = threading.Thread(target=working.submit, args=[run])
    asker.start()
    asker.join()
    assert there.wait(WAIT_S)
    go.set()
    assert run.done.wait(WAIT_S)
    assert run.sink.end.status == "finished"


def test_two_runs_go_one_after_the_other_in_the_order_they_came(working):
    order = []
    ears = [Ear(on_event=lambda event, n=n: order.append(n)) for n in range(2)]
    finish(working, *[run_for(ear) for ear in ears])
    assert order == sorted(order)
    assert {0, 1} == set(order)


@pytest.mark.parametrize("at", [1, 2, 3, 5])
def test_a_stop_ends_the_run_within_one_draft_step(working, models, at):
    """The stop falls while draft step `at` is under way: that step is the last."""
    ear = Ear()
    run = run_for(ear, max_tokens=90)
    models.drafter.hook = lambda step: working.stop(run) if step == at else None
    finish(working, run)
    assert models.drafter.steps == at
    assert ear.end.status == "stopped"


def test_a_stop_while_the_target_reads_the_prompt_spares_the_drafter(working, models, monkeypatch):
    run = run_for(Ear())
    monkeypatch.setattr(FlatScorer, "prefill", lambda self, tokens: working.stop(run))
    finish(working, run)
    assert run.sink.end.status == "stopped"
    assert models.drafter.thread is None


def test_a_long_prompt_can_be_asked_between_its_parts_whether_to_go_on(working, models, monkeypatch):
    """What a model does in parts (chunks of a prompt) asks `stopping`, which knows the run on this thread."""
    run, parts = run_for(Ear()), []

    def prefill(self, tokens) -> int:
        for part in range(10):
            stopping.check()
            parts.append(part)
            if part == 2:
                working.stop(run)
        return 0

    monkeypatch.setattr(FlatScorer, "prefill", prefill)
    finish(working, run)
    assert run.sink.end.status == "stopped" and parts == [0, 1, 2]


def test_the_rounds_before_a_stop_are_whole(working, models):
    ear = Ear()
    run = run_for(ear, max_tokens=90)
    ear.on_event = lambda event: working.stop(run) if len(ear.rounds) == 3 else None
    finish(working, run)
    assert len(ear.rounds) == 3
    assert models.drafter.steps == sum(done.block.k for done in ear.rounds)


def held(models: FakeModels) -> tuple[threading.Event, threading.Event]:
    """Make the next draft step wait: (it has come there, let it go on)."""
    there, go = threading.Event(), threading.Event()

    def hook(step: int) -> None:
        there.set()
        assert go.wait(WAIT_S)

    models.drafter.hook = hook
    return there, go


def test_a_run_stopped_while_it_waits_ends_at_once_without_a_round(working, models):
    there, go = held(models)
    first, waiting = run_for(Ear()), run_for(Ear())
    working.submit(first)
    working.submit(waiting)
    assert there.wait(WAIT_S)
    working.stop(waiting)
    assert waiting.done.is_set()
    assert not first.done.is_set()
    assert [type(event) for event in waiting.sink.events] == [SessionFinished]
    assert waiting.sink.end.status == "stopped"
    go.set()
    assert first.done.wait(WAIT_S)
    assert first.sink.end.status == "finished"
    assert len(waiting.sink.events) == 1


def test_only_a_run_with_another_before_it_says_that_it_waits(working, models):
    there, go = held(models)
    first, second = run_for(Ear()), run_for(Ear())
    assert first.progress == "Starting"
    working.submit(first)
    assert "Waiting" not in first.progress
    working.submit(second)
    assert second.progress == "Waiting for the run before"
    assert there.wait(WAIT_S)
    assert first.progress == "Generating"
    go.set()
    assert second.done.wait(WAIT_S)


def test_a_run_behind_a_load_waits_for_the_models(working, models):
    loading, go = threading.Event(), threading.Event()
    models.load = lambda progress: (loading.set(), go.wait(WAIT_S))
    notes = []
    working.warm("fake", "self:3bit", notes.append)
    assert loading.wait(WAIT_S)
    run = run_for(Ear())
    working.submit(run)
    assert run.progress == "Waiting for the models"
    go.set()
    assert run.done.wait(WAIT_S)
    assert notes == ["Loading fake", ""]


def test_progress_shows_how_far_a_load_is(working, models):
    seen = []
    run = run_for(Ear())

    def load(progress) -> None:
        progress("Downloading", 0.251)
        seen.append(run.progress)

    models.load = load
    finish(working, run)
    assert seen == ["Downloading (25%)"]


def test_a_stop_interrupts_a_load_at_its_next_report(working, models):
    run = run_for(Ear())

    def load(progress) -> None:
        working.stop(run)
        progress("Downloading", 0.5)
        pytest.fail("the load went on")

    models.load = load
    finish(working, run)
    assert run.sink.end.status == "stopped"
    assert models.drafter.steps == 0


def test_what_a_stop_broke_off_is_stopped_and_not_failed(working, models):
    run = run_for(Ear())

    def load(progress) -> None:
        working.stop(run)
        raise ModelError("The download broke off.", "Try again.")

    models.load = load
    finish(working, run)
    assert (run.sink.end.status, run.sink.end.reason) == ("stopped", "stopped by hand")


def test_a_load_that_fails_leaves_its_message_and_the_worker_lives(working, models):
    def load(progress) -> None:
        raise ModelError("The weights are not here.", "Fetch them.")

    models.load = load
    run = run_for(Ear())
    finish(working, run)
    assert (run.sink.end.status, run.sink.end.reason) == ("failed", "The weights are not here. Fetch them.")
    models.load = None
    again = run_for(Ear())
    finish(working, again)
    assert again.sink.end.status == "finished"


@pytest.mark.parametrize("error", [ModelError("Cannot.", "Do."), ZeroDivisionError("by zero")])
def test_a_warm_up_that_fails_is_told_and_the_worker_lives(working, models, error):
    notes = []

    def load(progress) -> None:
        raise error

    models.load = load
    working.warm("fake", "lookup", notes.append)
    run = run_for(Ear())
    finish(working, run)
    assert str(error) in notes[-1]


def test_an_exception_in_a_run_ends_it_as_failed_and_the_worker_lives(working, models):
    ear = Ear()

    def hook(step: int) -> None:
        if len(ear.rounds) == 2:
            raise ZeroDivisionError("by zero")

    models.drafter.hook = hook
    finish(working, run_for(ear))
    assert (ear.end.status, ear.end.reason) == ("failed", "Unexpected ZeroDivisionError: by zero")
    assert len(ear.rounds) == 2
    models.drafter.hook = lambda step: None
    again = Ear()
    finish(working, run_for(again))
    assert again.end.status == "finished"


def test_a_sink_that_fails_ends_its_run_and_not_the_worker(working):
    def broken(event: Event) -> None:
        raise OSError("disk full")

    again = Ear()
    finish(working, run_for(Ear(on_event=broken)), run_for(again))
    assert again.end.status == "finished"


def test_a_prompt_that_passes_the_context_is_refused_with_both_numbers(working):
    ear = Ear()
    finish(working, run_for(ear, prompt="a b c", max_tokens=98))
    assert ear.end.status == "failed"
    assert "3 tokens, and with 98 more it passes the 100" in ear.end.reason


def test_a_session_that_its_drafter_cannot_hold_is_refused_at_the_start(working, models):
    ear = Ear()
    models.drafter.limit = 50
    finish(working, run_for(ear, prompt="a b c", max_tokens=48))
    assert ear.end.status == "failed" and ear.rounds == []
    assert "3 tokens, and with 48 more it passes the 50" in ear.end.reason
    models.drafter.limit = 51
    finish(working, run_for(fits := Ear(), prompt="a b c", max_tokens=48))
    assert fits.end.status == "finished"
    assert ear.rounds == []


def test_a_prompt_that_just_fits_is_run(working):
    ear = Ear()
    finish(working, run_for(ear, prompt="a b c", max_tokens=97))
    assert sum(len(done.emitted) for done in ear.rounds) == 97


def test_a_bias_on_a_token_the_target_lacks_is_refused(working):
    ear = Ear()
    finish(working, run_for(ear, sampling=Sampling(temperature=1.0, logit_bias=((VOCAB, -1.0),))))
    assert ear.end.status == "failed"
    assert f"token {VOCAB}" in ear.end.reason
    assert f"0 to {VOCAB - 1}" in ear.end.reason


def test_a_rerun_repeats_the_prompts_tokens_and_not_its_text(working):
    ear = Ear()
    run = run_for(ear, prompt="one two three")
    run.prompt, run.tokenizer = (5, 6), "words"
    finish(working, run)
    assert ear.events[0].tokens == (5, 6)


def test_a_rerun_under_another_tokenizer_is_refused(working):
    ear = Ear()
    run = run_for(ear)
    run.prompt, run.tokenizer = (5, 6), "other words"
    finish(working, run)
    assert ear.end.status == "failed"
    assert "another tokenizer" in ear.end.reason


def test_closing_stops_what_runs_and_what_waits_and_ends_the_thread(models):
    working = Worker()
    first, second = run_for(Ear(), max_tokens=90), run_for(Ear())
    there = threading.Event()

    def hook(step: int) -> None:
        there.set()
        assert first.cancelled.wait(WAIT_S)

    models.drafter.hook = hook
    working.submit(first)
    working.submit(second)
    assert there.wait(WAIT_S)
    working.close()
    assert [run.sink.end.status for run in (first, second)] == ["stopped", "stopped"]
    assert models.closed
    with pytest.raises(EngineError, match="closing"):
        working.submit(run_for(Ear()))


def test_a_worker_without_a_job_has_no_thread_to_close():
    Worker().close()
