"""A verification on real (tiny) MLX models: through the worker, beside sessions, stopped, refused."""

import threading

import pytest

from engine import verification
from engine.core.types import Sampling
from engine.core.verify import CONSISTENT, OTHER
from engine.errors import BadSetting, EngineError
from engine.session import Request
from engine.verification import Verification
from engine.worker import Worker

WAIT_S = 120
SAMPLES = 1500
WARM = Sampling(temperature=1.0, top_k=8)


@pytest.fixture(scope="module")
def worker():
    owner = Worker()
    yield owner
    owner.close()


@pytest.fixture
def asked(tiny_folder):
    def request(**changes) -> Request:
        usual = {"target": tiny_folder, "drafter": "self:3bit", "sampling": WARM, "k": 2}
        return Request(**{"prompt": "the other", "raw": True} | usual | changes)

    return request


def verified(worker, request, samples=SAMPLES) -> Verification:
    check = Verification(verification.planned(request, samples), samples)
    worker.submit(check)
    assert check.done.wait(WAIT_S)
    return check


@pytest.mark.parametrize("drafter", ["self:3bit", "model", "lookup", "none"])
@pytest.mark.parametrize("rule", ["stochastic", "block"])
def test_a_lossless_rule_passes_on_mlx_with_every_drafter(worker, asked, tiny_draft, rule, drafter):
    drafter = f"model:{tiny_draft}" if drafter == "model" else drafter
    check = verified(worker, asked(rule=rule, drafter=drafter))
    assert check.status == "finished", check.reason
    assert check.finding.passed, check.finding
    assert (check.finding.unshared, check.finding.unshared_of) == (8, 8)
    assert check.finding.rows_tv < 1e-3


@pytest.mark.parametrize("rule", ["fault-residual-from-p", "argmax"])
def test_a_rule_that_is_not_lossless_fails_on_mlx(worker, asked, rule):
    """The finding of a right rule on the same rows says how often: more than 999 of 1 000 times."""
    power = {one.rule: one.power for one in verified(worker, asked()).finding.rivals}
    assert power[rule] > 0.999
    check = verified(worker, asked(rule=rule))
    assert (check.status, check.finding.verdict) == ("finished", OTHER)


def test_a_greedy_target_is_verified_as_what_it_is(worker, asked):
    check = verified(worker, asked(sampling=Sampling(temperature=0.0)), samples=100)
    assert check.started.rule == "greedy-argmax"
    assert check.finding.passed and check.finding.first.dof == 0


def test_penalties_and_biases_are_in_the_row_that_is_tested_against(worker, asked):
    sampling = Sampling(
        temperature=1.0, top_k=8, repetition_penalty=1.8, presence_penalty=1.0, logit_bias=((101, 3.0),)
    )
    check = verified(worker, asked(sampling=sampling))
    assert check.finding.verdict == CONSISTENT


def test_a_stop_ends_it_at_its_next_sample(worker, asked, monkeypatch):
    check = Verification(verification.planned(asked(), 10**6), 10**6)
    running = threading.Event()
    told = check._told

    def hear(message, fraction):
        told(message, fraction)
        if fraction > 0:
            running.set()

    monkeypatch.setattr(check, "_told", hear)
    worker.submit(check)
    assert running.wait(WAIT_S)
    assert "samples" in check.progress and 0 < check.fraction < 1
    worker.stop(check)
    assert check.done.wait(WAIT_S)
    assert (check.status, check.finding, check.progress) == ("stopped", None, "")


def test_one_that_waits_is_withdrawn_at_once(worker, asked):
    first = Verification(verification.planned(asked(), 10**6), 10**6)
    second = Verification(verification.planned(asked(), 100), 100)
    worker.submit(first)
    worker.submit(second)
    assert second.progress == "Waiting for the run before"
    worker.stop(second)
    assert (second.done.is_set(), second.status) == (True, "stopped")
    worker.stop(first)
    assert first.done.wait(WAIT_S)


def test_what_fails_on_the_models_thread_is_told_and_the_worker_lives(worker, asked):
    check = verified(worker, asked(prompt="x" * 3000), samples=100)
    assert check.status == "failed"
    assert "The prompt has 3000 tokens" in check.reason
    assert verified(worker, asked(), samples=100).status == "finished"


@pytest.mark.parametrize(
    ("changes", "samples", "named"),
    [
        ({"rule": "coin-toss"}, 1000, "'coin-toss'"),
        ({"k": -1}, 1000, "k is -1"),
        ({}, 50, "samples is 50"),
        ({"sampling": Sampling(xtc_probability=0.1)}, 1000, "xtc_probability"),
    ],
)
def test_it_is_refused_before_any_model_is_touched(asked, changes, samples, named):
    with pytest.raises(BadSetting, match=named):
        verification.planned(asked(**changes), samples)


def form_for(tiny_folder, tiny_draft, **changes):
    return {
        "target": tiny_folder,
        "drafter": f"model:{tiny_draft}",
        "prompt": "the other",
        "samples": 300,
    } | changes


def test_the_controller_begins_tells_and_stops(controller, tiny_folder, tiny_draft):
    number = controller.verify(form_for(tiny_folder, tiny_draft))
    assert controller.verification_task(number).done.wait(WAIT_S)
    seen = controller.verification(number)
    assert (seen["verification"], seen["status"], seen["samples"]) == (number, "finished", 300)
    assert seen["sampling"]["top_k"] == controller.verification_form()["top_k"] == 8
    assert seen["result"]["verdict"] == CONSISTENT
    endless = controller.verify(form_for(tiny_folder, tiny_draft, samples=10**6))
    assert controller.verification(endless)["result"] is None
    controller.stop_verification(endless)
    assert controller.verification_task(endless).done.wait(WAIT_S)
    assert controller.verification(endless)["status"] == "stopped"
    assert controller.sessions("the other") == [], "verifications are not stored"


def test_the_controller_refuses_what_it_does_not_know(controller, tiny_folder, tiny_draft):
    with pytest.raises(EngineError, match="no verification 999"):
        controller.verification(999)
    with pytest.raises(BadSetting, match="samples is 3"):
        controller.verify(form_for(tiny_folder, tiny_draft, samples=3))
    with pytest.raises(BadSetting, match="samples is 'many'"):
        controller.verify(form_for(tiny_folder, tiny_draft, samples="many"))
