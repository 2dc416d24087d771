"""The tour, walked in a real page over the recorded sessions: every card is reached by its link and its act
done by hand; and presenting, by keys."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_access import check
from tests.browser.toy import run
from tests.browser.waiting import comes

pytestmark = pytest.mark.browser

CARDS = 10


@pytest.fixture
def url(demo_url) -> str:
    return demo_url


def card(page: Page, n: int) -> None:
    """Wait until card n is on view and the recording behind it is there."""
    expect(page.locator(".ds-tourkicker")).to_have_text(f"Card {n} of {CARDS}")
    expect(
        page.locator(".ds-flow .ds-token, .ds-staff .ds-token").locator("visible=true").first
    ).to_be_visible()


def done(page: Page, is_done: bool = True) -> None:
    tour = page.locator(".ds-tour")
    if is_done:
        expect(tour).to_have_class("ds-panel ds-tour is-done")
        expect(page.locator(".ds-tourafter")).not_to_be_empty()
    else:
        expect(tour).to_have_class("ds-panel ds-tour")


def watch_the_round(page: Page) -> None:
    stages = page.get_by_role("group", name="Stages of the round").get_by_role("button")
    expect(stages).to_have_count(9)
    for i in range(1, 9):
        done(page, False)
        stages.nth(i).click()


def drag_the_dart(page: Page) -> None:
    slider = page.locator(".ds-decision").get_by_role("slider")
    slider.focus()
    for _ in range(4):
        page.keyboard.press("Shift+ArrowRight")
    expect(page.locator(".ds-decision")).to_contain_text("hypothetical")


def click(where: str) -> Callable[[Page], None]:
    return lambda page: page.locator(where).first.click()


def answer_the_rates(page: Page) -> None:
    page.get_by_role("button", name="2 of 4").click()
    expect(page.locator(".ds-tourhint")).to_have_text("Not quite. Look again.")
    done(page, False)
    page.get_by_role("button", name="2 of 3").click()


def read_the_meter(page: Page) -> None:
    page.get_by_role("button", name="Yes: it is above 0").click()
    expect(page.locator(".ds-tourhint")).to_have_text("Now open the Law meter and see.")
    done(page, False)
    page.get_by_role("tab", name="Law meter").click()
    lenient = page.locator(".ds-lawlist tr", has_text="lenient")
    expect(lenient).to_contain_text("0.233")


ACTS: list[Callable[[Page], None]] = [
    watch_the_round,
    drag_the_dart,
    click(".ds-roundpanel [data-key=card-4]"),
    click(".ds-roundpanel [data-key=card-2]"),
    click(".ds-roundpanel [data-key=card-4]"),
    answer_the_rates,
    lambda page: page.get_by_role("tab", name="Rules on these drafts").click(),
    read_the_meter,
    click(".ds-staff .ds-token.is-divergence"),
    lambda page: page.get_by_role("button", name="Which fault is this?").first.click(),
]


def test_a_stranger_walks_from_the_offer_to_the_quiz(url, open_page):
    page = open_page(url)
    offer = page.locator(".ds-touroffer")
    offer.get_by_role("button", name="Take the tour").click()
    for n, act in enumerate(ACTS, 1):
        card(page, n)
        assert f"tour={n}" in page.url
        done(page, False)
        act(page)
        done(page)
        if n < CARDS:
            page.get_by_role("button", name="Next").click()
    expect(page.locator(".ds-faults")).to_be_visible()
    expect(page.locator(".ds-tourdot.is-done")).to_have_count(CARDS)
    page.get_by_role("button", name="End the tour").click()
    expect(page.locator(".ds-tour")).to_be_hidden()
    page.wait_for_function("!location.search.includes('tour=')")


def test_another_token_of_the_faulty_lane_is_not_the_one(url, open_page):
    page = open_page(f"{url}?tour=9")
    card(page, 9)
    faulty = page.locator(".ds-staff .ds-token[data-key='lane--10-0']")
    faulty.click()
    expect(page.locator(".ds-barbox .ds-watermark")).to_have_text(
        "faulty on purpose: target cache not rewound"
    )
    done(page, False)


@pytest.mark.parametrize("n", [n for n in range(1, CARDS) if n != 6])
def test_a_link_opens_its_card_and_whoever_cannot_find_it_is_shown(url, open_page, n):
    page = open_page(f"{url}?tour={n}")
    card(page, n)
    done(page, False)
    page.get_by_role("button", name="Show me").click()
    done(page)
    page.reload()
    card(page, n)


def test_back_next_dots_and_leaving_need_no_act(url, open_page):
    page = open_page(f"{url}?tour=4")
    card(page, 4)
    page.get_by_role("button", name="Back", exact=True).click()
    card(page, 3)
    page.get_by_role("button", name="Skip").click()
    card(page, 4)
    page.get_by_role("button", name="Card 9: What a bug looks like").click()
    card(page, 9)
    expect(page.locator(".ds-staff")).to_be_visible()
    page.go_back()
    card(page, 4)
    expect(page.locator(".ds-staff")).to_be_hidden()
    page.get_by_role("button", name="Leave").click()
    expect(page.locator(".ds-tour")).to_be_hidden()
    expect(page.locator(".ds-sessions")).to_be_visible()


def test_the_offer_comes_once_and_the_help_keeps_the_tour(url, open_page):
    page = open_page(url)
    offer = page.locator(".ds-touroffer")
    expect(offer).to_be_visible()
    offer.get_by_role("button", name="No, thanks").click()
    expect(offer).to_be_hidden()
    page.reload()
    expect(page.locator(".ds-token").first).to_be_visible()
    expect(offer).to_be_hidden()
    page.get_by_role("button", name="Keys").click()
    page.get_by_role("dialog").get_by_role("button", name="Take the tour").click()
    card(page, 1)


def test_nobody_with_sessions_of_their_own_is_asked(toy, serve, open_page):
    run(toy, max_tokens=4)
    page = open_page(serve(toy))
    expect(page.locator(".ds-session").first).to_be_visible()
    expect(page.locator(".ds-touroffer")).to_be_hidden()


LOOKED_AT = {1: ".ds-roundpanel", 2: ".ds-decision", 4: ".ds-roundpanel", 7: ".ds-under", 9: ".ds-staff"}


def in_sight(page: Page, panel: str, size: tuple[int, int]) -> bool:
    """Whether 180 px of a panel, or all of it, are on the page and not under the card."""
    box, other = page.locator(".ds-tour").bounding_box(), page.locator(panel).bounding_box()
    seen_to = box["y"] if size[0] <= 1110 else size[1]
    seen = min(seen_to, other["y"] + other["height"]) - max(0, other["y"])
    return seen >= min(180, other["height"])


@pytest.mark.parametrize("size", [(1440, 900), (1000, 760), (390, 844)], ids=["wide", "middle", "narrow"])
def test_the_card_hides_nothing_of_what_it_speaks_of(url, open_page, size):
    page = open_page(url)
    page.set_viewport_size({"width": size[0], "height": size[1]})
    for n, panel in LOOKED_AT.items():
        page.goto(f"{url}?tour={n}")
        card(page, n)
        page.wait_for_timeout(600)  # what stands above it comes in, and it is brought into sight again
        comes(page, lambda panel=panel: in_sight(page, panel, size))
        box, other = page.locator(".ds-tour").bounding_box(), page.locator(panel).bounding_box()
        beside = other["x"] >= box["x"] + box["width"] - 1
        assert beside or size[0] <= 1110, f"card {n} covers {panel}"
        if size[0] <= 1110:
            wide = page.locator(".ds-main").bounding_box()["width"]
            assert wide <= size[0], f"card {n} makes the screen {wide} px wide"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_on_cards(url, open_page, theme):
    page = open_page(f"{url}?tour=2", color_scheme=theme)
    card(page, 2)
    check(page)
    page.get_by_role("button", name="Show me").click()
    done(page)
    check(page)
    page.goto(f"{url}?tour=9")
    card(page, 9)
    check(page)


# Presenting

PRESENTED = {
    "1": ("text", ".ds-text"),
    "2": ("round", ".ds-roundpanel"),
    "3": ("decision", ".ds-decision"),
    "4": ("bars", ".ds-under"),
    "5": ("rules", ".ds-under"),
    "6": ("laws", ".ds-under"),
    "7": ("compare", ".ds-lanes"),
    "9": ("faults", ".ds-faults"),
}
PANELS = (
    ".ds-text, .ds-roundpanel, .ds-decision, .ds-under, .ds-lanes, .ds-faults, .ds-timeline, .ds-sessions"
)


def test_presenting_shows_one_panel_at_a_time_by_keys(url, open_page):
    page = open_page(f"{url}?s=0&r=6&i=0")
    page.set_viewport_size({"width": 1280, "height": 720})
    expect(page.locator(".ds-roundpanel .ds-card").first).to_be_visible()
    page.keyboard.press("Shift+P")
    for key, (name, panel) in PRESENTED.items():
        page.keyboard.press(key)
        expect(page.locator(panel)).to_be_visible()
        visible = [one for one in page.locator(PANELS).all() if one.is_visible()]
        assert len(visible) == 1, f"{name}: {len(visible)} panels"
        page.wait_for_function(f"location.search.includes('present={name}')")
        assert page.evaluate("document.scrollingElement.scrollWidth") <= 1280
    page.keyboard.press("Escape")
    expect(page.locator(".ds-presentbar")).to_be_hidden()
    page.wait_for_function("!location.search.includes('present=')")


def test_presenting_steps_with_the_arrows_and_every_step_has_a_link(url, open_page):
    page = open_page(f"{url}?s=0&r=6&i=0&present=decision")
    title = page.locator(".ds-decision h3").first
    expect(title).to_contain_text("on")
    page.keyboard.press("ArrowRight")
    expect(title).to_contain_text("Earth")
    page.wait_for_function("location.search.includes('i=1') && location.search.includes('present=decision')")
    page.goto(page.url)
    expect(title).to_contain_text("Earth")
    page.locator(".ds-presentbar").get_by_role("button", name="One step back (←)").click()
    expect(title).to_contain_text("on")
    page.locator(".ds-presentbar").get_by_role("button", name="Leave (Esc)").click()
    expect(page.locator(".ds-text")).to_be_visible()


def test_presenting_is_read_from_the_back_row(url, open_page):
    """At 1280 x 720 the sentence of a decision is at least 22 CSS pixels tall, a 33rd of the height."""
    page = open_page(f"{url}?s=0&r=6&i=0&present=decision")
    page.set_viewport_size({"width": 1280, "height": 720})
    sentence = page.locator(".ds-decision .ds-sentence").first
    expect(sentence).to_be_visible()
    size = sentence.evaluate("e => parseFloat(getComputedStyle(e).fontSize) * (e.currentCSSZoom ?? 1.7)")
    assert size >= 22
    assert sentence.bounding_box()["width"] > 1000


def test_a_held_coin_goes_back_before_presenting_ends(url, open_page):
    page = open_page(f"{url}?s=0&r=6&i=0&u=0.95&present=decision")
    expect(page.locator(".ds-decision")).to_contain_text("hypothetical")
    page.keyboard.press("Escape")
    expect(page.locator(".ds-decision")).not_to_contain_text("hypothetical")
    expect(page.locator(".ds-presentbar")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".ds-presentbar")).to_be_hidden()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_while_presenting(url, open_page, theme):
    page = open_page(f"{url}?s=0&r=6&i=0&present=round", color_scheme=theme)
    expect(page.locator(".ds-roundpanel .ds-card").first).to_be_visible()
    check(page)
