"""The exported page, opened from disk: the same screen, no request, and tokens that stay tokens."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from engine import rules
from engine.core import loop
from engine.core.events import PromptRead, SessionFinished
from engine.core.types import Sampling
from engine.errors import EngineError
from inspector.controller import Controller
from inspector.lanes import Judged
from inspector.standalone.columns import inflated, unpacked
from inspector.standalone.static_page import safe_json
from storage import Store
from tests import stored
from tests.core import toys

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def controller(tmp_path_factory) -> Iterator[Controller]:
    with Store.open(tmp_path_factory.mktemp("static") / "s.sqlite") as store:
        stored.family(store)
        yield Controller(store)


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Callable[[str], Page]]:
    """opened(html) -> the page, from disk. Any request, page error or console error fails the test."""
    contexts, faults = [], []

    def start(text: str, query: str = "") -> Page:
        file = tmp_path / "a page.html"
        file.write_text(text, encoding="utf-8")
        context = browser.new_context(viewport={"width": 1440, "height": 900}, offline=True)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: faults.append(f"page error: {error}"))
        page.on("console", lambda message: message.type == "error" and faults.append(message.text))
        page.on("request", lambda request: request.url != page_url and faults.append(request.url))
        page_url = file.as_uri() + query
        page.goto(page_url)
        page.locator(".ds").wait_for()
        return page

    yield start
    for context in contexts:
        context.close()
    assert not faults, "\n".join(faults)


def test_the_session_is_on_view_and_tokens_can_be_opened(controller, opened):
    page = opened(controller.export_html(1))
    tokens = page.locator(".ds-flow button")
    drawn = controller.rounds(1, 0, 99)["rounds"]
    expect(tokens).to_have_count(sum(done["k"] + bool(done["next"]) for done in drawn))
    rejected = page.locator(".ds-flow button.is-rejected").first
    rejected.click()
    expect(page.locator(".ds h3, .ds h2").get_by_text("was rejected")).to_be_visible()
    page.keyboard.press("Shift+ArrowRight")
    expect(page.locator("p.ds-sr[role=status]")).to_contain_text("Round 1")


def test_hostile_tokens_are_shown_and_never_run(controller, opened):
    page = opened(controller.export_html(1))
    flow = page.locator(".ds-flow")
    expect(flow).to_contain_text("</script>")
    expect(flow).to_contain_text("<!--")
    expect(page.locator(".ds-flow").get_by_text("U+2028").first).to_be_visible()
    assert page.evaluate("window.pwned") is None
    assert page.evaluate("document.scripts.length") == 3  # what it holds, what unpacks it, and the screen


def test_the_page_cannot_reach_the_network_or_run_anything_else(controller, browser, tmp_path):
    (tmp_path / "page.html").write_text(controller.export_html(1), encoding="utf-8")
    context = browser.new_context()
    page = context.new_page()
    page.goto((tmp_path / "page.html").as_uri())
    page.locator(".ds").wait_for()
    stopped = page.evaluate(
        """async () => {
          const stopped = [];
          document.addEventListener("securitypolicyviolation", (e) => stopped.push(e.violatedDirective));
          await fetch("data:text/plain,x").catch(() => {});
          const script = document.createElement("script");
          script.textContent = "window.pwned = 1";
          document.body.append(script);
          const image = new Image();
          await new Promise((done) => { image.onerror = done; image.src = "pixel.png"; });
          await new Promise((done) => setTimeout(done, 100));
          return stopped;
        }"""
    )
    assert set(stopped) >= {"connect-src", "script-src-elem", "img-src"}
    assert page.evaluate("window.pwned") is None
    context.close()


def test_lanes_come_along_when_asked(controller, opened):
    page = opened(controller.export_html(1, [2, 3]))
    lanes = page.locator(".ds-metrics")
    for name in ("stochastic", "block", "argmax"):
        expect(lanes).to_contain_text(name)
    expect(page.locator(".ds-staff")).to_be_visible()
    expect(page.get_by_role("button", name="Re-run under these rules")).to_be_hidden()


def test_a_re_judged_lane_comes_along_and_is_the_apps_own(controller, opened):
    lane = Judged.named(1, "lenient", {"leniency": 0.4})
    page = opened(controller.export_html(1, [2, lane]))
    line = page.locator(".ds-lanes tr", has_text="lenient 0.4").first
    expect(line).to_contain_text("re-judged")
    (answer,) = controller.rejudged(1, [lane.lane])["lanes"]
    emitted = sum(view["emitted"] for view in answer["rounds"])
    expect(page.locator(f".ds-stave .ds-token[data-key^='lane-{lane.id}-']")).to_have_count(emitted)
    expect(line).to_contain_text(f"ends here: {answer['line']['reason']}")
    expect(page.locator(".ds-numbers thead")).to_contain_text("re-judged")
    expect(page.get_by_role("button", name="Re-run", exact=False)).to_have_count(0)


def test_a_link_into_the_page_opens_what_it_names(controller, opened):
    page = opened(controller.export_html(1, [2]), "?s=2&r=1&i=0")
    expect(page.locator(".ds-sessionbar")).to_contain_text("#2")
    expect(page.locator("p.ds-sr[role=status]")).to_contain_text("Round 1")


def test_the_page_offers_nothing_it_cannot_do(controller, opened):
    page = opened(controller.export_html(1))
    for name in ("Run", "Stop"):
        expect(page.get_by_role("button", name=name, exact=True)).to_have_count(0)


def test_data_cannot_leave_its_element():
    value = {"a": "</script><!--\u2028\u2029\ud800", "b": ["]]>", "\\u003c"]}
    text = safe_json(value)
    assert not {"<", "\u2028", "\u2029", "\ud800"} & set(text)
    text.encode()
    assert json.loads(text) == value


def test_the_page_is_one_file_that_names_no_other(controller):
    text = controller.export_html(1)
    assert "default-src 'none'" in text and "unsafe" not in text
    outside = re.sub(r'<script type="application/json".*?</script>', "", text, flags=re.S)
    assert not re.findall(r"(?:src|href)=[\"'](?!data:)", outside)
    assert "import(" not in outside and "fetch(" not in outside


def test_two_hundred_rounds_take_less_than_three_megabytes(tmp_path):
    """Four drafts a round, rows as wide as the bars show, every round a rejection at its first draft."""
    vocab, rounds, k = 250, 200, 4
    begun = stored.plan(sampling=Sampling(temperature=1.0), k=k, max_tokens=rounds)
    scorer = toys.ToyScorer(toys.random_logits(1, vocab))
    drafter = toys.ToyDrafter(toys.random_logits(2, vocab, spread=9.0))
    scorer.prefill(toys.PROMPT)
    drafter.start(toys.PROMPT)
    plan = loop.Plan(toys.PROMPT, rules.get("stochastic"), begun.sampling, begun.seed, k, 4 * rounds)
    with Store.open(tmp_path / "long.sqlite") as store:
        store.learn("wide", lambda: {i: f" token{i}".encode() for i in range(vocab)})
        session_id = store.create(begun)
        store.append(session_id, PromptRead(toys.PROMPT, 1.0, vocab, "wide"))
        for done in islice(loop.Generation(plan, drafter, scorer), rounds):
            store.append(session_id, done)
        store.append(session_id, SessionFinished("finished", "enough", 1.0))
        page = Controller(store).export_html(session_id)
        assert store.session(session_id).rounds == rounds
    recording = json.loads(re.search(r'id="recording">(.*?)</script>', page)[1])
    held = unpacked(json.loads(inflated(recording["packed"]))["rounds"]["1"])
    assert sum(len(done["positions"]) for done in held) == rounds * k
    assert len(page.encode()) < 3_000_000, f"{len(page.encode()):,} bytes"


def test_pages_of_one_session_are_equal(controller):
    assert controller.export_html(1) == controller.export_html(1)


def test_what_has_nothing_to_show_is_refused(controller):
    running = controller.store.create(stored.plan())
    with pytest.raises(EngineError, match="still running"):
        controller.export_html(running)
    controller.store.fail(running, "no")
    with pytest.raises(EngineError, match="no rounds"):
        controller.export_html(running)
    with pytest.raises(EngineError, match="no session 999"):
        controller.export_html(999)
