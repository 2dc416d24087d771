"""The named endpoints, called as a program calls them, on the tiny models; everything else is private."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import gradio as gr
import pytest
from gradio_client import Client
from gradio_client.exceptions import AppError

from inspector import report, ui
from inspector.screen import api

NAMES = ["run", "replay", "show", "sessions"]
PAGE = Path(__file__).parents[3] / "docs" / "api.md"


@pytest.fixture(scope="module")
def client(controller):
    demo = ui.build(controller)
    _, url, _ = demo.launch(
        server_name="127.0.0.1", prevent_thread_lock=True, quiet=True, **ui.launch_options()
    )
    client = Client(url, verbose=False, analytics_enabled=False)
    yield client
    client.close()
    demo.close()


@pytest.fixture(scope="module")
def ran(client, tiny_folder) -> dict:
    return client.predict(
        prompt="the theme",
        rule="block",
        drafter="self:8bit",
        target=tiny_folder,
        max_tokens=8,
        seed=4,
        top_k=20,
        raw=True,
        api_name="/run",
    )


def test_the_page_publishes_these_endpoints_and_no_other(client):
    named = client.view_api(return_format="dict")
    assert sorted(named["named_endpoints"]) == sorted(f"/{name}" for name in NAMES)
    assert named["unnamed_endpoints"] == {}


def test_every_listener_but_these_is_private(controller):
    demo = ui.build(controller)
    public = [fn.api_name for fn in demo.fns.values() if fn.api_visibility != "private"]
    assert sorted(public) == sorted(NAMES)


def test_an_endpoint_has_types_and_a_meaning_for_each_parameter(client):
    named = client.view_api(return_format="dict")["named_endpoints"]
    for endpoint in api.endpoints(None):
        parameters = named[f"/{endpoint.__name__}"]["parameters"]
        signature = inspect.signature(endpoint)
        assert [p["parameter_name"] for p in parameters] == list(signature.parameters)
        for name in signature.parameters:
            assert re.search(rf"^ +{name}: \S", endpoint.__doc__, re.M), f"{endpoint.__name__}: {name}"
        assert all(p["python_type"]["type"] not in ("", "Any") for p in parameters)


def test_a_run_is_a_session_like_any_other(client, ran, controller):
    assert ran == report.session_object(controller, ran["session"])
    assert (ran["status"], ran["rule"], len(ran["tokens"])) == ("finished", "block", 8)
    assert controller.store.started(ran["session"]).seed == 4


def test_a_replay_runs_again_or_judges_again(client, ran):
    again = client.predict(session=ran["session"], rules=["block", "stochastic"], api_name="/replay")
    assert [lane["rule"] for lane in again["lanes"]] == ["block", "stochastic"]
    assert again["lanes"][0]["reproduced"] is True
    judged = client.predict(session=ran["session"], rules=["block"], mode="rejudge", api_name="/replay")
    assert judged["lanes"][0]["mode"] == "rejudge" and judged["lanes"][0]["reproduced"] is True


def test_a_session_is_shown_whole_or_by_round(client, ran, controller):
    whole = client.predict(session=ran["session"], api_name="/show")
    assert len(whole["rounds"]) == controller.store.session(ran["session"]).rounds
    one = client.predict(session=ran["session"], round=0, api_name="/show")
    assert one["rounds"] == whole["rounds"][:1]


def test_sessions_are_listed(client, ran):
    listed = client.predict(search="theme block", limit=500, api_name="/sessions")
    assert ran["session"] in [line["id"] for line in listed]
    assert client.predict(search="no such words anywhere", api_name="/sessions") == []


@pytest.mark.parametrize(
    ("name", "values", "named"),
    [
        ("run", {"prompt": "x", "rule": "nope"}, "'nope'"),
        ("run", {"prompt": "x", "rule": "/tmp/evil.py"}, "evil.py"),
        ("run", {"prompt": ""}, "prompt is empty"),
        ("run", {"prompt": "x", "k": -1}, "k is -1"),
        ("run", {"prompt": "x", "target": "/no/such"}, "/no/such"),
        ("replay", {"session": 99999, "rules": ["block"]}, "no session 99999"),
        ("replay", {"session": 1, "rules": []}, "0 lanes"),
        ("replay", {"session": 1, "rules": ["block"], "mode": "guess"}, "'guess'"),
        ("show", {"session": 99999}, "no session 99999"),
        ("sessions", {"limit": 0}, "limit is 0"),
    ],
)
def test_wrong_input_comes_back_as_a_sentence(client, ran, name, values, named):
    with pytest.raises(AppError) as caught:
        client.predict(**values, api_name=f"/{name}")
    assert named in str(caught.value) and "Traceback" not in str(caught.value)


def test_a_refused_run_stores_nothing(client, ran, controller):
    before = controller.store.number_of_sessions()
    with pytest.raises(AppError):
        client.predict(prompt="x", rule="nope", api_name="/run")
    assert controller.store.number_of_sessions() == before


def test_the_page_of_the_docs_names_every_endpoint():
    text = PAGE.read_text()
    for endpoint in api.endpoints(None):
        assert f"## `{endpoint.__name__}`" in text
        for name in inspect.signature(endpoint).parameters:
            assert f"`{name}`" in text


def test_registering_asks_nothing_of_the_controller():
    with gr.Blocks():
        api.register(None)
