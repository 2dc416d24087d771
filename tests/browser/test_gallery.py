"""The fault gallery over its recordings: every case, the quiz, links, and a file that cannot be read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from inspector import ui
from tests.browser.test_access import check
from tests.browser.toy import run

pytestmark = pytest.mark.browser

FOLDER = Path(ui.__file__).resolve().parent.parent / "assets" / "demo"
DATA = json.loads((FOLDER / "faults.json").read_text("utf-8"))
CASES = {case["id"]: case for case in DATA["cases"]}


@pytest.fixture
def url(demo_url) -> str:
    return demo_url


def gallery(page: Page) -> None:
    expect(page.locator(".ds-faultbox").first).to_be_visible()


def test_recordings_stay_small():
    assert sum(path.stat().st_size for path in FOLDER.glob("*.json")) < 1_500_000


def test_recordings_are_fetched_only_when_somebody_looks(url, open_page):
    page = open_page(url)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.reload()
    expect(page.locator(".ds-token").first).to_be_attached()
    assert not [one for one in asked if one.endswith(("faults.json", "tour.json"))]
    page.get_by_role("button", name="Faults", exact=True).click()
    gallery(page)
    assert sum(one.endswith("faults.json") for one in asked) == 1


def test_every_fault_has_its_case_with_its_words_numbers_and_mark(url, open_page):
    page = open_page(f"{url}?view=faults")
    gallery(page)
    for fault, case in CASES.items():
        page.locator(f"[data-key='fault-{fault}']").click()
        shown = page.locator(".ds-faultcase")
        expect(shown).to_contain_text(case["gives_away"])
        expect(shown).to_contain_text(case["seen"])
        expect(shown.locator(".ds-watermark")).to_contain_text("faulty on purpose: ")
        page.wait_for_function(f"location.search.includes('fault={fault}')")
        failing = [name for name in ("first", "pairs", "drafts") if case["faulty"][name]["fails"]]
        cells = page.locator(".ds-faulttests tbody tr")
        for row, name in enumerate(("first", "pairs", "drafts")):
            word = "fails" if name in failing else "fits"
            expect(cells.nth(row).locator("td").nth(1)).to_contain_text(word)
            expect(cells.nth(row).locator("td").nth(0)).to_contain_text("fits")
        rates = page.get_by_role("list", name="Acceptance by depth").get_by_role("listitem")
        expect(rates).to_have_count(len(DATA["healthy"][case["group"]]["by_depth"]))


def test_a_link_opens_its_case(url, open_page):
    page = open_page(f"{url}?s=0&r=0&i=0&view=faults&fault=fault-shared-coin")
    expect(page.locator(".ds-faultcase h3")).to_have_text("One coin for the block")
    expect(page.locator("[data-key='fault-fault-shared-coin']")).to_have_attribute("aria-pressed", "true")


def test_the_quiz_names_nothing_before_it_is_answered_and_counts_quietly(url, open_page):
    page = open_page(f"{url}?view=faults")
    gallery(page)
    page.get_by_role("button", name="Which fault is this?").click()
    titles = {case["title"].lower(): fault for fault, case in CASES.items() if fault != "fault-raw-q"}
    case = page.locator(".ds-faultcase")
    for turn in range(1, 4):
        options = case.get_by_role("group", name="Answers").get_by_role("button")
        expect(options).to_have_count(4)
        expect(case.locator(".ds-watermark")).to_have_text("faulty on purpose")
        expect(case.locator(".ds-quizreveal")).to_have_count(0)
        assert "fault=" not in page.url.split("?")[1].replace("view=faults", "")
        options.first.click()
        reveal = case.locator(".ds-quizreveal")
        expect(reveal).to_contain_text("What gives it away")
        right = case.locator(".is-right").inner_text().lower()
        assert right in titles
        expect(case.locator(".ds-facts")).to_contain_text(f"of {turn} right")
        expect(options.first).to_be_disabled()
        case.get_by_role("button", name="Next question").click()


def test_what_cannot_be_read_can_be_tried_again(url, open_page):
    page = open_page(url)
    page.evaluate("console.error = () => {}")
    state = {"broken": True}
    page.route(
        "**/faults.json",
        lambda route: route.fulfill(status=200, body="{") if state["broken"] else route.continue_(),
    )
    page.get_by_role("button", name="Faults", exact=True).click()
    again = page.get_by_role("button", name="Try again")
    expect(again).to_be_visible()
    state["broken"] = False
    page.get_by_role("button", name="Dismiss").click()
    again.click()
    gallery(page)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_in_the_gallery_and_the_quiz(url, open_page, theme):
    page = open_page(f"{url}?view=faults", color_scheme=theme)
    gallery(page)
    check(page)
    page.get_by_role("button", name="Which fault is this?").click()
    check(page)
    page.locator(".ds-quizoptions button").first.click()
    check(page)


def test_a_narrow_page_holds_the_gallery(url, open_page):
    page = open_page(f"{url}?view=faults&fault=rows-shifted")
    page.set_viewport_size({"width": 390, "height": 844})
    gallery(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


# A faulty session of one's own, on the screen


@pytest.mark.parametrize(
    ("settings", "mark"),
    [
        ({"fault": "rows-shifted"}, "faulty on purpose: rows shifted by one"),
        ({"rule": "fault-residual-from-p"}, "faulty on purpose: rule “refill from p”"),
    ],
)
def test_the_screen_marks_a_faulty_session_wherever_it_stands(toy, serve, open_page, settings, mark):
    first = run(toy, max_tokens=12)
    faulty = run(toy, max_tokens=12, **settings)
    page = open_page(f"{serve(toy)}?s={faulty}&r=0&i=0")
    expect(page.locator(".ds-barbox .ds-watermark")).to_have_text(mark)
    expect(page.locator(f"[data-key='session-{faulty}'] .ds-watermark")).to_have_text(mark)
    expect(page.locator(f"[data-key='session-{first}'] .ds-watermark")).to_have_count(0)
    page.locator(f"[data-key='more-{faulty}']").click()
    expect(page.get_by_role("dialog").locator(".ds-sheetfacts")).to_contain_text(mark)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Stats", exact=True).click()
    expect(page.locator(".ds-statshead .ds-watermark")).to_have_text(mark)
    page.goto(page.url.split("?")[0] + f"?s={first}&r=0&i=0&view=compare&lanes={first},{faulty}")
    expect(page.locator(".ds-lanelist .ds-watermark")).to_have_text(mark)
    page.goto(page.url.split("?")[0] + f"?s={faulty}&r=0&i=0&present=round")
    expect(page.locator(".ds-barbox .ds-watermark")).to_have_text(mark)
    page.goto(page.url.split("?")[0] + f"?s={first}&r=0&i=0")
    expect(page.locator(".ds-token").first).to_be_attached()
    expect(page.locator(".ds-barbox .ds-watermark")).to_be_hidden()


def test_a_fault_is_switched_on_under_more_settings(toy, serve, open_page):
    page = open_page(serve(toy))
    page.get_by_text("More settings").click()
    page.get_by_label("Fault on purpose").click()
    page.get_by_role("option", name="target cache not rewound").click()
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator(".ds-barbox .ds-watermark")).to_have_text(
        "faulty on purpose: target cache not rewound"
    )
    toy.wait(1)
    assert toy.store.started(1).fault == "target-not-rewound"


def test_an_exported_page_marks_its_session(toy, browser, tmp_path):
    faulty = run(toy, max_tokens=12, fault="rows-shifted")
    path = tmp_path / "faulty.html"
    path.write_text(toy.export_html(faulty), "utf-8")
    page = browser.new_page()
    page.goto(path.as_uri())
    expect(page.locator(".ds-barbox .ds-watermark")).to_have_text("faulty on purpose: rows shifted by one")
    expect(page.locator(".ds-session .ds-watermark")).to_have_text("faulty on purpose: rows shifted by one")
    expect(page.get_by_role("button", name="Faults", exact=True)).to_have_count(0)
    page.close()
