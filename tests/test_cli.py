"""The command line: one object on stdout, everything else on stderr, wrong input in one sentence."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from engine import rules, session
from engine.core.types import Sampling
from engine.models import Models
from engine.session import Request
from inspector.commands.live import Live
from inspector.controller import Controller
from storage import Store
from tests.calling import APP, WAIT_S, Printed, assert_refused, contents, run_args
from tests.playing import play

# run


def test_run_prints_one_object_and_keeps_the_rest_on_stderr(call, tiny_folder, tmp_path):
    done = call(*run_args(tiny_folder, tmp_path / "a.sqlite", "--json", "--drafter", "self:8bit"))
    body = done.object
    assert done.code == 0
    assert (body["session"], body["status"], body["rule"]) == (1, "finished", "stochastic")
    assert body["counters"]["emitted"] == len(body["tokens"])
    assert body["timings"]["draft_kind"] == "self:8bit"
    assert done.err.endswith(body["text"] + "\n")


def test_run_for_people_shows_the_text_and_ends_with_the_acceptance_line(call, tiny_folder, tmp_path):
    path = tmp_path / "a.sqlite"
    done = call(*run_args(tiny_folder, path, "--rule", "sampler-match"))
    with Store.open(path) as store:
        text, counters = Controller(store).text(1), store.session(1).counters
    assert done.out.startswith(text + "\n")
    last = done.out.splitlines()[-1]
    assert last.startswith("[Speculative acceptance] rule=sampler-match rounds=")
    assert f"positions_tested={counters.positions_tested} accepted={counters.accepted} " in last
    assert text not in done.err


def test_run_stores_every_setting(call, tiny_folder, tiny_draft, tmp_path):
    path = tmp_path / "a.sqlite"
    settings = {
        "--rule": "lenient",
        "--param": "leniency=0.5",
        "--drafter": f"model:{tiny_draft}",
        "--k": 2,
        "--seed": 11,
        "--temperature": 0.7,
        "--top-k": 40,
        "--top-p": 0.9,
        "--min-p": 0.01,
        "--logit-bias": "3=-2.5",
        "--repetition-penalty": 1.1,
        "--presence-penalty": 0.2,
        "--frequency-penalty": 0.3,
        "--penalty-window": 9,
        "--xtc-probability": 0.1,
        "--xtc-threshold": 0.2,
        "--order": "temperature-first",
        "--stop": "zzz",
    }
    flat = [word for pair in settings.items() for word in pair]
    assert call(*run_args(tiny_folder, path, "--raw", *flat)).code == 0
    with Store.open(path) as store:
        started = store.started(1)
    assert started == session.plan(
        Request(
            "Hello",
            raw=True,
            target=tiny_folder,
            drafter=f"model:{tiny_draft}",
            rule="lenient",
            params={"leniency": 0.5},
            sampling=Sampling(
                0.7, 40, 0.9, 0.01, ((3, -2.5),), 1.1, 0.2, 0.3, 9, 0.1, 0.2, "temperature-first"
            ),
            seed=11,
            k=2,
            max_tokens=12,
            stop=("zzz",),
        )
    )


def test_a_rule_that_is_not_the_one_asked_for_is_named_with_the_reason(call, tiny_folder, tmp_path):
    done = call(*run_args(tiny_folder, tmp_path / "a.sqlite", "--json", "--temperature", 0))
    assert (done.object["asked"], done.object["rule"]) == ("stochastic", "greedy-argmax")
    assert "temperature is 0" in done.object["rule_reason"]
    assert "stochastic runs as greedy-argmax: temperature is 0" in done.err


# replay, show, doctor


def test_replay_reruns_the_session_and_says_what_came_of_it(call, db, tmp_path):
    path = shutil.copy(db, tmp_path)
    done = call("replay", 1, "--rules", "stochastic, sampler-match,block", "--json", "--db", path)
    body = done.object
    assert done.code == 0
    assert (body["session"], body["mode"]) == (1, "rerun")
    assert [lane["rule"] for lane in body["lanes"]] == ["stochastic", "sampler-match", "block"]
    own, *others = body["lanes"]
    assert (own["reproduced"], own["first_divergence"]) == (True, None)
    assert all("reproduced" not in lane and lane["first_divergence"] is not None for lane in others)
    assert all(lane.keys() >= {"session", "text", "counters", "status"} for lane in body["lanes"])
    assert "1 of 3: stochastic" in done.err
    people = call("replay", 1, "--rules", "stochastic", "--db", path)
    assert "parts never  reproduced" in people.out


def test_rejudge_runs_no_model_and_stores_nothing(call, db):
    before = contents(db)
    done = call("replay", 1, "--rules", "stochastic,block", "--mode", "rejudge", "--json", "--db", db)
    own, other = done.object["lanes"]
    assert (done.code, own["reproduced"], other["rule"]) == (0, True, "block")
    assert contents(db) == before


def test_show_prints_all_rounds_or_one(call, db):
    whole = call("show", 1, "--json", "--db", db).object
    assert [one["round"] for one in whole["rounds"]] == list(range(whole["head"]["rounds"]))
    one = call("show", 1, "--round", 2, "--json", "--db", db).object
    assert one["rounds"] == [whole["rounds"][2]]
    people = call("show", 1, "--db", db).out
    assert people.startswith("session 1: stochastic, self:4bit, seed 2, finished")


def test_doctor_names_backend_blas_models_database_and_versions(call, db):
    body = call("doctor", "--json", "--db", db).object
    assert body["backend"] == "mlx"
    assert body["blas"].keys() == {"kind", "detail", "advice"}
    assert next(model for model in body["models"] if model["name"] == "bundled")["found"]
    assert body["database"]["path"] == str(db)
    with Store.open(db) as store:
        assert body["database"]["sessions"] == store.number_of_sessions() >= 1
    assert body["versions"].keys() >= {"mlx", "mlx-lm", "numpy", "python", "gradio", "sqlite-utils"}
    assert body["rules"] == list(rules.RULES)
    people = call("doctor", "--db", db).out
    assert all(people.count(word) for word in ("backend", "BLAS", "model", "database", "versions"))


def test_doctor_makes_no_database(call, tmp_path):
    path = tmp_path / "none.sqlite"
    assert call("doctor", "--json", "--db", path).object["database"] == {"path": str(path), "exists": False}
    assert not path.exists()


def test_a_session_that_failed_before_its_prompt_is_shown_and_not_replayed(call, tmp_path):
    path = tmp_path / "a.sqlite"
    with Store.open(path) as store:
        store.fail(store.create(session.plan(Request("Hello"))), "out of memory")
    body = call("show", 1, "--json", "--db", path).object
    assert (body["head"]["status"], body["head"]["end_reason"]) == ("failed", "out of memory")
    assert body["rounds"] == []
    for mode in ("rerun", "rejudge"):
        done = call("replay", 1, "--rules", "block", "--mode", mode, "--db", path)
        assert_refused(done, "Session 1 never read its prompt (failed)")


def test_a_session_that_fails_on_the_way_keeps_its_rounds_and_exits_with_1(
    call, tiny_folder, tmp_path, monkeypatch
):
    from engine.mlx_backend.scorer import MlxScorer

    real, passes = MlxScorer.score, []

    def score(self, tokens):
        passes.append(tokens)
        return real(self, tokens) * (float("nan") if len(passes) == 3 else 1)

    monkeypatch.setattr(MlxScorer, "score", score)
    done = call(*run_args(tiny_folder, tmp_path / "a.sqlite", "--json"))
    assert (done.code, done.object["status"], done.object["counters"]["rounds"]) == (1, "failed", 2)
    assert "Target, position" in done.object["reason"]
    assert done.err.splitlines()[-1].startswith("Error: session 1 failed: Target, position")


@pytest.mark.parametrize("command", [[], ["run"], ["replay"], ["show"], ["doctor"]])
def test_help_is_there_and_says_the_exit_status(call, command):
    done = call(*command, "--help")
    assert done.code == 0
    assert "Usage: app.py" in done.out
    assert command or "130" in done.out


def test_ctrl_c_while_the_models_load_stores_nothing(call, tiny_folder, tmp_path, monkeypatch):
    def load(self, target, drafter, progress) -> None:
        while True:
            progress("Loading for ever", None)
            time.sleep(0.01)

    def interrupted(self, status: str) -> None:
        if status == "Loading for ever":
            raise KeyboardInterrupt

    monkeypatch.setattr(Models, "pair", load)
    monkeypatch.setattr(Live, "say", interrupted)
    path = tmp_path / "a.sqlite"
    done = call(*run_args(tiny_folder, path, "--json"))
    assert (done.code, done.out, done.err) == (130, "", "Stopped.\n")
    with Store.open(path) as store:
        assert store.number_of_sessions() == 0


def test_ctrl_c_in_a_replay_stops_every_lane_and_shows_them(call, db, tmp_path, monkeypatch):
    path = shutil.copy(db, tmp_path)
    real, waits = Controller.wait, []

    def wait(self, session_id: int) -> None:
        waits.append(session_id)
        if len(waits) == 1:
            raise KeyboardInterrupt
        real(self, session_id)

    monkeypatch.setattr(Controller, "wait", wait)
    done = call("replay", 1, "--rules", "stochastic,block", "--json", "--db", path)
    assert done.code == 130
    assert [lane["status"] for lane in done.object["lanes"]] == ["stopped", "stopped"]
    assert done.object["lanes"][0]["reproduced"] is None


# Whole programs


def start(*args: object) -> subprocess.Popen:
    command = [sys.executable, str(APP), *map(str, args)]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=APP.parent,
        # A test run in the background of a shell ignores SIGINT, and so would its children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def test_the_program_itself_runs_and_refuses(tiny_folder, tmp_path):
    running = start(*run_args(tiny_folder, tmp_path / "a.sqlite", "--json"))
    refusing = start(*run_args(tiny_folder, tmp_path / "b.sqlite", "--rule", "nope"))
    out, err = running.communicate(timeout=WAIT_S)
    done = Printed(running.returncode, out, err)
    assert (done.code, done.object["status"]) == (0, "finished")
    out, err = refusing.communicate(timeout=WAIT_S)
    assert_refused(Printed(refusing.returncode, out, err), "'nope'")


def test_ctrl_c_keeps_the_finished_rounds_and_exits_with_130(tiny_folder, tmp_path):
    path = tmp_path / "a.sqlite"
    forever = ["--max-tokens", 1900, "--logit-bias", "260=-100", "--k", 1]
    running = start(*run_args(tiny_folder, path, "--json", *forever))
    with Store.open(path) as store:
        wait_for(lambda: store.number_of_sessions() and store.session(1).rounds > 2)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=WAIT_S)
        done = Printed(running.returncode, out, err)
        info, rounds = store.session(1), store.rounds(1, 0, 10**6)
    assert "Traceback" not in err
    assert (done.code, done.object["status"], info.status) == (130, "stopped", "stopped")
    assert [token for one in rounds for token in one.emitted] == done.object["tokens"]
    assert 2 < len(rounds) == done.object["counters"]["rounds"]


def wait_for(condition: Callable[[], object]) -> None:
    end = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_reader_that_goes_away_is_no_traceback(db):
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, str(APP), "show", "1", "--db", str(db)]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, timeout=WAIT_S)
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, "")


# The network


@pytest.mark.model
def test_a_session_on_the_bundled_pair_asks_no_network(bundled_controller, monkeypatch):
    real = socket.socket.connect
    asked = []

    def connect(self, address):
        if self.family != socket.AF_UNIX and address[0] not in ("127.0.0.1", "::1", "localhost"):
            asked.append(address)
            raise OSError("no network")
        return real(self, address)

    monkeypatch.setattr(socket.socket, "connect", connect)
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, *rest, **named: asked.append(host) or [])
    session_id = play(bundled_controller, Request("Why is the sky blue?", max_tokens=6))
    children = bundled_controller.rerun(session_id, ["stochastic"])
    bundled_controller.wait(children[0])
    (lane,) = bundled_controller.lanes(session_id, children)
    assert asked == []
    assert lane["reproduced"] is True
    assert bundled_controller.text(session_id).strip()
