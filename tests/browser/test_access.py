"""The screen for everyone: axe-core's rules, the keyboard alone, names for screen readers, zoom, quiet
motion, and nothing that jumps while a session streams."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from inspector.controller import Controller
from tests.browser.toy import open_toy, run
from tests.browser.waiting import still

pytestmark = pytest.mark.browser


@pytest.fixture
def toy(tmp_path) -> Iterator[Controller]:
    with open_toy(tmp_path / "toy.sqlite", pace=0.02) as controller:
        yield controller


@pytest.fixture
def shelf(toy) -> Controller:
    first = run(toy, max_tokens=40)
    toy.wait(toy.rerun(first, ["block"])[0])
    toy.library.change(first, {"starred": True, "tags": "water", "title": "Sea"})
    return toy


def violations(page: Page) -> list[str]:
    """What axe finds in the whole page, worst first, with the elements it is about."""
    still(page)  # contrast is judged on what has faded in
    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    return [
        f"{one['id']} ({one['impact']}): {one['help']}: "
        + "; ".join(f"{node['target']} {node['html'][:120]}" for node in one["nodes"][:4])
        for one in found
    ]


def check(page: Page) -> None:
    found = violations(page)
    assert not found, "\n".join(found)


#: What a link adds -> what is on the view once all of it has come.
VIEWS = {
    "": ".ds-card",
    "&view=compare&lanes=1,2": ".ds-staff .ds-token",
    "&view=stats": ".is-stages .main-svg",
    "&view=stats&tables=1": ".is-stages table",
    "&view=exactness": ".ds-verifyform",
}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_on_any_view(shelf, serve, open_page, theme):
    url = serve(shelf)
    page = open_page(f"{url}?s=1&r=1", color_scheme=theme)
    found = {}
    for view, content in VIEWS.items():
        page.goto(f"{url}?s=1&r=1{view}")
        for part in (".ds-session", content):
            expect(page.locator(part).first).to_be_visible(timeout=20_000)
        found[view] = violations(page)
    assert not any(found.values()), "\n".join(
        f"{view}: {line}" for view, lines in found.items() for line in lines
    )


def test_axe_finds_nothing_in_panes_sheets_and_messages(shelf, serve, open_page):
    page = open_page(f"{serve(shelf)}?s=1&r=1")
    expect(page.locator(".ds-card").first).to_be_visible(timeout=20_000)
    page.get_by_role("button", name="Filter and sort sessions").click()
    check(page)
    for pane in ("Rules on these drafts", "Law meter"):
        page.get_by_role("tab", name=re.compile(pane)).click()
        check(page)
    page.keyboard.press("?")
    expect(page.locator(".ds-help")).to_be_visible()
    check(page)
    page.keyboard.press("Escape")
    tools = page.get_by_role("button", name="Title, tags, note and more of session 1")
    tools.focus()
    tools.press("Enter")
    expect(page.get_by_role("dialog", name="Session")).to_be_visible()
    check(page)
    page.get_by_role("button", name="Delete").click()
    expect(page.locator(".ds-toast")).to_be_visible()
    page.locator("#prompt textarea").fill(" ")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_role("alert").filter(has_text="prompt")).to_be_visible(timeout=15_000)
    check(page)


def test_axe_finds_nothing_on_the_first_start(toy, serve, open_page):
    toy.worker.loading = ("Loading bundled", None)
    toy.warm()
    page = open_page(serve(toy))
    expect(page.locator(".ds-warming")).to_be_visible(timeout=15_000)
    expect(page.locator(".ds-flow .ds-token").first).to_be_visible(timeout=15_000)
    check(page)
    toy.worker.loading = None


def test_the_test_would_see_a_fault(shelf, serve, open_page):
    page = open_page(f"{serve(shelf)}?s=1&r=1")
    expect(page.locator(".ds-card").first).to_be_visible(timeout=20_000)
    page.evaluate("document.querySelector('.ds').append(document.createElement('button'))")
    page.evaluate("document.querySelector('.ds-place').style.color = '#ddd'")
    found = violations(page)
    assert any(line.startswith("button-name") for line in found)
    assert any(line.startswith("color-contrast") for line in found)


PLACES = ("ds-sessions", "ds-text", "ds-roundpanel", "ds-timeline", "ds-breaks")
WHERE = """(places) => document.activeElement.closest(places)?.className.split(' ').pop()
    ?? document.activeElement.id"""


def test_the_keyboard_alone_runs_opens_and_reads(toy, serve, open_page):
    page = open_page(serve(toy))
    page.locator("#prompt textarea").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".ds-status").first).to_have_text(re.compile("^finished"), timeout=30_000)
    reached = set()
    page.locator("#prompt textarea").focus()
    for _ in range(120):
        page.keyboard.press("Tab")
        reached.add(page.evaluate(WHERE, ", ".join(f".{place}" for place in PLACES)))
    for place in PLACES:
        assert place in reached, f"Tab never came to {place}: {reached}"


def test_one_tab_stop_holds_all_tokens(shelf, serve, open_page):
    page = open_page(f"{serve(shelf)}?s=1&r=1&i=0")
    expect(page.locator(".ds-flow [aria-current]")).to_have_count(1, timeout=20_000)
    assert page.locator(".ds-flow .ds-token[tabindex='0']").count() == 1


def test_every_token_says_what_it_is(shelf, serve, open_page):
    page = open_page(f"{serve(shelf)}?s=1&r=1")
    expect(page.locator(".ds-flow .ds-token").first).to_be_visible(timeout=20_000)
    labels = page.locator(".ds-flow .ds-token").evaluate_all("all => all.map(one => one.ariaLabel)")
    pattern = re.compile(r"^position \d+, .+, (accepted|rejected|untested|corrected|bonus)\b.*, target .+")
    assert len(labels) > 40
    assert [label for label in labels if not pattern.match(label or "")] == []


def test_the_newest_round_is_told_politely(toy, serve, open_page):
    page = open_page(serve(toy))
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator(".ds-status").first).to_have_text(re.compile("^finished"), timeout=30_000)
    line = page.locator("p.ds-sr[role=status]")
    expect(line).to_have_text(re.compile(r"^Round \d+: drafted \d+"))
    assert page.locator(".ds [aria-live='assertive']").count() == 0


def test_quiet_motion_moves_nothing(toy, serve, open_page):
    toy.worker.loading = ("Loading bundled", None)
    toy.warm()
    page = open_page(serve(toy), reduced_motion="reduce")
    expect(page.locator(".ds-warming")).to_be_visible(timeout=15_000)
    moving = page.evaluate(
        "() => document.getAnimations().filter((one) => one.effect?.target?.closest?.('.ds')).length"
    )
    toy.worker.loading = None
    assert moving == 0


@pytest.mark.parametrize("view", VIEWS)
def test_twice_the_size_fits_without_scrolling_sideways(shelf, serve, open_page, view):
    """200 % zoom of a 1440 px window leaves 720 CSS pixels."""
    page = open_page(f"{serve(shelf)}?s=1&r=1{view}")
    page.set_viewport_size({"width": 720, "height": 450})
    for part in (".ds-session", VIEWS[view]):
        expect(page.locator(part).first).to_be_attached(timeout=20_000)
    still(page)
    over = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert over <= 0


SHIFTS = """() => {
    window.shifted = [];
    new PerformanceObserver((list) => list.getEntries().forEach((entry) => {
        const places = entry.sources.map(({ node, previousRect: a, currentRect: b }) =>
            `${node?.className || node?.nodeName} ${Math.round(a.y)}+${Math.round(a.height)} to `
            + `${Math.round(b.y)}+${Math.round(b.height)}`);
        window.shifted.push([entry.value, places.join('; ')]);
    })).observe({ type: 'layout-shift', buffered: false });
}"""


def test_nothing_jumps_while_a_session_streams(toy, serve, open_page):
    """Google's own bound for a stable page is 0.1 in all; a stream of 40 rounds stays far below."""
    run(toy, max_tokens=8)
    toy.worker.pace = 0.05
    page = open_page(f"{serve(toy)}?s=1&r=0")
    expect(page.locator(".ds-card").first).to_be_visible(timeout=20_000)
    toy.worker.hold(3)
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator(".ds-where")).to_have_text("round 2 of 2", timeout=20_000)
    page.wait_for_timeout(600)
    page.evaluate(SHIFTS)
    toy.worker.release()
    expect(page.locator(".ds-status").first).to_have_text(re.compile("^finished"), timeout=60_000)
    page.wait_for_timeout(500)
    shifted = page.evaluate("window.shifted")
    assert sum(value for value, _ in shifted) < 0.02, shifted


def test_models_that_come_and_toasts_move_nothing(shelf, serve, open_page):
    page = open_page(f"{serve(shelf)}?s=1&r=0")
    expect(page.locator(".ds-card").first).to_be_visible(timeout=20_000)
    page.wait_for_timeout(500)
    page.evaluate(SHIFTS)
    page.keyboard.press("s")
    page.wait_for_timeout(800)
    assert page.evaluate("window.shifted") == []
