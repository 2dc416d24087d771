"""The screen in a real browser, over sessions made by the real loop and toy models."""

from __future__ import annotations

import re

import httpx
import pytest
from playwright.sync_api import Page, expect

from inspector.ui import ASSETS
from tests.browser.fake import FakeController
from tests.browser.proxy import under_prefix

pytestmark = pytest.mark.browser
FORM = FakeController().choices()["defaults"] | {"stop": ""}


def place(page: Page) -> tuple[int, int]:
    found = re.search(r"r=(\d+)&i=(\d+)", page.url)
    return int(found[1]), int(found[2])


def test_rounds_stream_in_and_the_screen_follows(controller, serve, open_page):
    page = open_page(serve(controller))
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator(".ds-status").first).to_have_text("finished: 64 tokens", timeout=20_000)
    emitted = page.locator(".ds-flow .is-accepted, .ds-flow .is-corrected, .ds-flow .is-bonus")
    expect(emitted).to_have_count(64)
    n = controller.count(1)[0]
    expect(page.locator(".ds-where")).to_have_text(f"round {n - 1} of {n - 1}")
    expect(page.locator(".ds-session")).to_contain_text("stochastic")


def test_a_rejected_token_opens_with_its_own_numbers(controller, serve, open_page):
    session = controller.finished()
    page = open_page(f"{serve(controller)}?s={session}")
    token = page.locator(".ds-flow .is-rejected").nth(2)
    token.click()
    expect(page.locator(".ds-decision .ds-badge").first).to_have_text("rejected")
    index, pos = int(token.get_attribute("data-round")), int(token.get_attribute("data-pos"))
    done = controller.all[session].rounds[index]
    check = done.verdict.checks[pos]
    assert pos == done.verdict.n_accepted
    expect(page.locator(".ds-dart-u").first).to_contain_text(f"u = {check.u:.3g}")
    expect(page.locator(".ds-residual caption")).to_contain_text(f"{done.verdict.mass:.3g}")
    expect(page.locator(".ds-residual .is-hit")).to_have_count(1)
    expect(page.locator(".ds-pqtable .is-marked").first).to_be_visible()
    page.wait_for_url(re.compile(rf"s={session}&r={index}&i={pos}"))


def test_the_keyboard_moves_by_token_round_and_rejection(controller, serve, open_page):
    session = controller.finished()
    page = open_page(f"{serve(controller)}?s={session}&r=0&i=0")
    rounds = controller.all[session].rounds
    expect(page.locator(".ds-where")).to_have_text(re.compile("round 0 of"))

    def press(key: str, index: int, pos: int | str = r"\d+") -> None:
        page.keyboard.press(key)
        expect(page).to_have_url(re.compile(rf"r={index}&i={pos}(&|$)"))

    press("ArrowRight", 0, 1)
    press("ArrowLeft", 0, 0)
    press("Shift+ArrowRight", 1)
    press("Shift+ArrowLeft", 0)
    press("End", len(rounds) - 1)
    press("Home", 0)
    rejecting = [done.index for done in rounds if done.verdict.n_accepted < done.block.k and done.index > 0]
    press("n", rejecting[0], rounds[rejecting[0]].verdict.n_accepted)
    press("n", rejecting[1], rounds[rejecting[1]].verdict.n_accepted)
    press("p", rejecting[0])
    page.keyboard.press("?")
    expect(page.locator(".ds-help")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".ds-help")).to_be_hidden()
    page.locator("#prompt textarea").fill("n")
    page.locator("#prompt textarea").press("ArrowLeft")
    page.wait_for_timeout(250)  # longer than the address waits for the cursor: nothing may have moved
    assert place(page)[0] == rejecting[0]


def test_play_walks_and_a_second_press_pauses(controller, serve, open_page):
    session = controller.finished()
    page = open_page(f"{serve(controller)}?s={session}&r=0&i=0")
    expect(page.locator(".ds-where")).to_have_text(re.compile("round 0 of"))
    page.locator(".ds-flow .ds-token").first.click()
    page.keyboard.press(" ")
    page.wait_for_url(re.compile("r=0&i=[12]|r=1&i=0"))
    page.keyboard.press(" ")
    before = place(page)
    page.wait_for_timeout(1_000)
    assert place(page)[0] - before[0] <= 1
    expect(page.get_by_role("button", name="Play", exact=True)).to_have_count(1)


def test_a_reload_in_mid_run_goes_on_and_misses_nothing(controller, serve, open_page, reload):
    controller.hold(6)
    page = open_page(serve(controller))
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator(".ds-where")).to_have_text("round 5 of 5", timeout=20_000)
    reload(page)
    expect(page.locator(".ds-where")).to_have_text("round 5 of 5", timeout=20_000)
    page.keyboard.press("Home")
    controller.release()
    controller.ended(1)
    n = controller.count(1)[0]
    expect(page.locator(".ds-where")).to_have_text(f"round 0 of {n - 1}", timeout=10_000)
    groups = page.locator(".ds-round")
    expect(groups).to_have_count(n)


def test_a_second_tab_watches_the_same_run(controller, serve, open_page):
    controller.hold(4)
    url = serve(controller)
    first = open_page(url)
    first.get_by_role("button", name="Run", exact=True).click()
    expect(first.locator(".ds-where")).to_have_text("round 3 of 3", timeout=20_000)
    second = open_page(f"{url}?s=1")
    expect(second.locator(".ds-where")).to_have_text("round 3 of 3", timeout=20_000)
    controller.release()
    for page in (first, second):
        expect(page.locator(".ds-status").first).to_have_text("finished: 64 tokens", timeout=20_000)


def test_stop_keeps_what_was_finished(controller, serve, open_page):
    controller.hold(5)
    page = open_page(serve(controller))
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator(".ds-where")).to_have_text("round 4 of 4", timeout=20_000)
    page.locator("#stop-place").get_by_role("button", name="Stop", exact=True).click()
    expect(page.locator(".ds-status").first).to_have_text("stopped by you", timeout=10_000)
    expect(page.locator(".ds-round")).to_have_count(5)
    expect(page.get_by_role("button", name="Stop", exact=True)).to_be_hidden()


def test_hostile_tokens_are_only_text(serve, open_page):
    controller = FakeController(hostile=60.0)
    session = controller.finished(temperature=1.5, top_p=1.0, max_tokens=120)
    page = open_page(f"{serve(controller)}?s={session}")
    expect(page.locator(".ds-round")).to_have_count(controller.count(session)[0], timeout=20_000)
    text = page.locator(".ds-flow").inner_text()
    for shown in ("<script>", "${window", "{{value}}", "U+202E", "U+0000", "e2 80", "<img·src=x", "… +9940"):
        assert shown in text, f"{shown} is not on the page"
    page.get_by_role("button", name="Compare", exact=True).click()
    assert page.evaluate("window.pwned") is None
    assert page.locator(".ds script, .ds img").count() == 0
    overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert overflow <= 0


def test_lanes_align_rules_and_mark_where_they_part(controller, serve, open_page):
    session = controller.finished()
    page = open_page(f"{serve(controller)}?s={session}")
    page.get_by_role("button", name="Compare", exact=True).click()
    expect(page.locator("input[value=stochastic]")).to_be_checked()
    page.get_by_role("button", name="Re-run under these rules").click()
    lines = page.locator(".ds-metrics tbody tr")
    expect(lines).to_have_count(4, timeout=20_000)
    expect(lines.nth(0)).to_contain_text("baseline")
    expect(lines.nth(1)).to_contain_text("reproduced", timeout=20_000)
    expect(lines.nth(2)).to_contain_text(re.compile(r"diverges at position \d+"))
    parted = int(re.search(r"position (\d+)", lines.nth(2).inner_text())[1])
    outputs = [[t for done in controller.all[i].rounds for t in done.emitted] for i in (session, session + 2)]
    assert outputs[0][:parted] == outputs[1][:parted]
    assert outputs[0][parted] != outputs[1][parted]
    expect(page.locator(".ds-stave .is-divergence").first).to_be_visible()
    link = page.url
    again = open_page(link)
    expect(again.locator(".ds-metrics tbody tr")).to_have_count(4, timeout=20_000)
    again.locator(".ds-stave .is-divergence").first.click()
    expect(again.locator(".ds-decision h3")).to_contain_text(re.compile("Why|Where"))


def test_a_bad_setting_is_said_in_words_and_the_form_stays(controller, serve, open_page):
    page = open_page(serve(controller))
    page.locator("#prompt textarea").fill("   ")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_role("alert").filter(has_text="The prompt is empty.")).to_be_visible(timeout=10_000)
    expect(page.locator("#prompt textarea")).to_have_value("   ")
    page.get_by_role("button", name="Dismiss").click()
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_role("alert").filter(has_text="The prompt is empty.")).to_be_visible(timeout=10_000)


def test_more_settings_open_and_count(controller, serve, open_page):
    page = open_page(serve(controller))
    page.get_by_role("button", name="More settings").click()
    page.get_by_label("Top-k (0: off)").fill("1")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator(".ds-reason")).to_contain_text(
        "Ran greedy-argmax instead of stochastic.", timeout=20_000
    )
    assert controller.all[1].started.sampling.top_k == 1


#: Opens the rest of the settings and types into one of them before the next frame, as no hand but many a
#: script and a slow machine does; resolves with what the field says a second later. A page that has just come
#: may not hear the first click.
AT_ONCE = """([run]) => new Promise((done, failed) => {
    const begun = performance.now();
    let clicked = -Infinity;
    const field = () => document.querySelector('#top-k input');
    const buttons = [...document.querySelectorAll('button')];
    const named = (text) => buttons.find((one) => one.textContent.trim() === text);
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
        const now = performance.now();
        if (now - begun > 20_000) return failed(new Error('the settings did not open'));
        if (!field() || field().offsetParent === null) {
            if (now - clicked > 1000) named('More settings').click(), (clicked = now);
            return port2.postMessage(0);
        }
        field().value = '1';
        field().dispatchEvent(new Event('input', { bubbles: true }));
        if (run) named('Run').click();
        setTimeout(() => done(field().value), 1000);
    };
    port2.postMessage(0);
})"""


def test_a_value_typed_the_moment_the_settings_open_stays(controller, serve, open_page):
    page = open_page(serve(controller))
    assert page.evaluate(AT_ONCE, [False]) == "1"


def test_a_run_started_right_behind_the_typing_uses_what_was_typed(controller, serve, open_page):
    page = open_page(serve(controller))
    page.evaluate(AT_ONCE, [True])
    expect(page.locator(".ds-reason")).to_contain_text("Ran greedy-argmax", timeout=20_000)
    assert controller.all[1].started.sampling.top_k == 1


def test_what_was_typed_stays_through_a_reload(controller, serve, open_page, monkeypatch):
    forms: list[dict] = []
    begin = controller.start
    monkeypatch.setattr(controller, "start", lambda form: forms.append(form) or begin(form))
    page = open_page(serve(controller))
    page.locator("#prompt textarea").fill("Where was I?")
    page.locator("#seed input").fill("41")
    page.get_by_label("Acceptance rule").click()
    page.get_by_role("option", name=re.compile("Lenience")).click()
    leniency = page.locator("#param-0 input")
    expect(leniency).to_have_value("0.5")
    leniency.fill("0.7")
    expect(leniency).to_have_value("0.7")
    page.reload()
    page.locator(".ds").wait_for(timeout=30_000)
    expect(page.locator("#prompt textarea")).to_have_value("Where was I?")
    expect(page.locator("#seed input")).to_have_value("41")
    expect(page.locator("#param-0")).to_contain_text("leniency")
    expect(page.locator("#param-0 input")).to_have_value("0.7")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator(".ds-status").first).to_contain_text("finished", timeout=20_000)
    (form,) = forms
    assert (form["prompt"], form["seed"], form["rule"]) == ("Where was I?", 41, "lenient")
    assert form["params"] == {"leniency": 0.7}


def test_a_second_tab_begins_with_the_defaults(controller, serve, open_page):
    url = serve(controller)
    page = open_page(url)
    page.locator("#prompt textarea").fill("Only here")
    expect(page.locator("#prompt textarea")).to_have_value("Only here")
    expect(open_page(url).locator("#prompt textarea")).to_have_value(FORM["prompt"])


def test_a_link_to_a_missing_session_says_so(controller, serve, open_page):
    page = open_page(f"{serve(controller)}?s=99&r=3")
    expect(page.get_by_role("alert").filter(has_text="There is no session 99.")).to_be_visible(timeout=10_000)


def test_only_the_screens_own_files_are_served(controller, serve):
    url = serve(controller)
    assert httpx.get(f"{url}screen/main.js").headers["content-type"].startswith("text/javascript")
    for name, kind in {"screen.js": "text/javascript", "screen.css": "text/css"}.items():
        first = httpx.get(f"{url}screen/{name}")
        assert first.headers["content-type"].startswith(kind) and first.headers["cache-control"] == "no-cache"
        again = httpx.get(f"{url}screen/{name}", headers={"If-None-Match": first.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
    for path in (
        "screen/..%2fpyproject.toml",
        "screen/../pyproject.toml",
        "screen/%2fetc%2fpasswd",
        "screen/",
    ):
        assert httpx.get(f"{url}screen/{path}").status_code == 404


def test_nothing_on_the_page_names_a_path_of_this_machine(controller, serve, open_page):
    page = open_page(serve(controller))
    assert str(ASSETS.parent) not in page.content()


@pytest.mark.parametrize("width", [1440, 1100, 700])
def test_no_width_scrolls_sideways(controller, serve, open_page, width):
    session = controller.finished()
    page = open_page(f"{serve(controller)}?s={session}&r=2")
    page.set_viewport_size({"width": width, "height": 900})
    expect(page.locator(".ds-card").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0


def test_it_works_below_a_prefix_and_from_another_folder(controller, serve, open_page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    url, server = under_prefix(serve(controller, root_path="/tool").rstrip("/"), "/tool")
    page = open_page(url)
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator(".ds-status").first).to_have_text("finished: 64 tokens", timeout=20_000)
    server.should_exit = True
