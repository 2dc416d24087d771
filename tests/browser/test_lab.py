"""The Lab: bars, darts and counts by hand, in the app and as one file from disk."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from engine.rules import RULES
from inspector import lab
from inspector.standalone import lab_page
from tests.browser.test_access import check

pytestmark = pytest.mark.browser

COUNTS = """(node) => {
    window.counts = new Set();
    new MutationObserver(() => window.counts.add(node.textContent))
        .observe(node, { childList: true, characterData: true, subtree: true });
}"""


@pytest.fixture
def opened(controller, serve, open_page) -> Callable[..., Page]:
    """opened(query) -> the Lab in the app."""
    url = serve(controller)

    def start(query: str = "", **options: object) -> Page:
        page = open_page(f"{url}?view=lab{query}", **options)
        expect(page.locator(".ds-lab-row input").first).to_be_visible(timeout=20_000)
        return page

    return start


@pytest.fixture
def file_page(browser: Browser, tmp_path: Path) -> Iterator[Callable[..., Page]]:
    """file_page(query) -> the Lab from disk, offline. Any request or error fails the test."""
    contexts, faults = [], []
    file = tmp_path / "the lab.html"
    file.write_text(lab_page.page(), encoding="utf-8")

    def start(query: str = "", **options: object) -> Page:
        context = browser.new_context(viewport={"width": 1280, "height": 900}, offline=True, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: faults.append(f"page error: {error}"))
        page.on("console", lambda message: message.type == "error" and faults.append(message.text))
        page.on("request", lambda asked: asked.url.startswith(file.as_uri()) or faults.append(asked.url))
        page.goto(file.as_uri() + query)
        expect(page.locator(".ds-lab-row input").first).to_be_visible()
        return page

    yield start
    for context in contexts:
        context.close()
    assert not faults, "\n".join(faults)


def bar(page: Page, side: str, i: int) -> Locator:
    return page.locator(".ds-lab-rows .ds-lab-row").nth(i).locator(f"[role=slider][aria-label^='{side}:']")


def values(page: Page, side: str) -> list[float]:
    bars = page.locator(f".ds-lab-rows [role=slider][aria-label^='{side}:']")
    return [float(one.get_attribute("aria-valuenow")) for one in bars.all()]


def drag(page: Page, line: Locator, *shares: float) -> None:
    """Press on a line at its first share of the width, and move to the others."""
    line.scroll_into_view_if_needed()
    box = line.bounding_box()
    for i, share in enumerate(shares):
        page.mouse.move(box["x"] + share * box["width"], box["y"] + box["height"] / 2)
        if i == 0:
            page.mouse.down()
    page.mouse.up()


def draw(page: Page, texts: int) -> None:
    page.locator(f"[data-texts='{texts}']").click()
    expect(page.locator(".ds-lab-tools progress")).to_be_hidden(timeout=60_000)


def test_it_needs_no_session_and_the_engine_agrees(opened):
    page = opened()
    for name in ("p and q", "Rule and law", "One step at a time", "Many texts", "The ceiling"):
        expect(page.get_by_role("region", name=name, exact=True)).to_be_visible()
    expect(page.locator(".ds-lab-engine")).to_have_text(re.compile("The engine agrees, to"), timeout=10_000)
    expect(page.locator(".ds-lab-verdict").first).to_contain_text("Exactly p")
    line = page.locator("[data-rule=fault-one-token-residual] :is(th, td)")
    expect(line).to_have_text(["fault-one-token-residual", "70.0\u00a0%", "1.19", "0.0143", "0.0231"])


#: One rule of each kind: a coin each, blocks, a race, a bound, a look ahead, a fault; tests/lab has all.
KINDS = ("stochastic", "block", "gumbel", "lenient", "fly", "fault-shared-coin")


def test_the_engine_agrees_on_every_kind_of_rule(opened):
    page = opened("&k=3")
    rule = page.get_by_label("Rule", exact=True)
    for rule_id in KINDS:
        rule.select_option(rule_id)
        expect(page.locator(".ds-lab-meaning")).to_contain_text(RULES[rule_id].meaning)
        expect(page.locator(".ds-lab-engine")).to_have_text(re.compile("The engine agrees"), timeout=15_000)


def test_a_difference_from_the_engine_is_loud(opened, monkeypatch):
    wrong = {"singles": [0.3, 0.5, 0.2], "pairs": None, "why": "", "acceptance": None}
    monkeypatch.setattr(lab, "law_of", lambda request: wrong | {"singles": [0.31, 0.49, 0.2]})
    page = opened()
    engine = page.locator(".ds-lab-engine")
    expect(engine).to_contain_text("The engine says something else: up to 0.01 apart", timeout=10_000)
    expect(engine).to_have_class(re.compile("is-off"))


def test_a_bar_is_dragged_and_the_sum_stays_one(opened):
    page = opened()
    line = bar(page, "q", 0).locator("xpath=..")
    drag(page, line, 0.6, 0.8)
    expect(bar(page, "q", 0)).to_have_attribute("aria-valuenow", re.compile(r"0\.(79|80)"))
    assert sum(values(page, "q")) == pytest.approx(1)
    dog, fox = values(page, "q")[1:]
    assert dog / fox == pytest.approx(3, rel=0.02)
    assert values(page, "p") == [0.3, 0.5, 0.2]
    expect(page.locator(".ds-lab-areas li").first).to_contain_text(re.compile(r"(49|50)\.\d\s% shared"))
    drag(page, line, 0.8, 1.2, 0.6)
    assert values(page, "q")[1] / values(page, "q")[2] == pytest.approx(3, rel=0.02), "a bar that came back"


def test_the_keyboard_moves_bars_and_the_link_keeps_them(opened):
    page = opened()
    cat = bar(page, "p", 0)
    cat.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowRight")
    expect(cat).to_have_attribute("aria-valuenow", "0.4100")
    assert sum(values(page, "p")) == pytest.approx(1)
    page.keyboard.press("End")
    expect(cat).to_have_attribute("aria-valuenow", "1.0000")
    page.keyboard.press("Home")
    expect(cat).to_have_attribute("aria-valuenow", "0.0000")
    page.get_by_label("Name of token 1").fill("emu")
    page.get_by_label("3 drafts a round").click()
    page.get_by_label("Rule", exact=True).select_option("lenient")
    page.locator("[data-rung=text]").click()
    page.wait_for_url(re.compile("rung=text"))
    before = values(page, "p"), values(page, "q")
    page.reload()
    expect(page.get_by_label("Name of token 1")).to_have_value("emu", timeout=20_000)
    assert (values(page, "p"), values(page, "q")) == before
    expect(page.get_by_label("3 drafts a round")).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_label("Rule", exact=True)).to_have_value("lenient")
    expect(page.locator("[data-rung=text]")).to_have_attribute("aria-pressed", "true")


def test_tokens_come_and_go_and_presets_bring_their_own(opened):
    page = opened()
    page.get_by_role("button", name="Add a token").click()
    expect(page.locator(".ds-lab-rows .ds-lab-row")).to_have_count(4)
    page.get_by_role("button", name="Remove cat").click()
    expect(page.locator(".ds-lab-rows .ds-lab-row")).to_have_count(3)
    assert sum(values(page, "p")) == pytest.approx(1)
    for preset, kept in [("equal", "100 % shared"), ("disjoint", "0 % shared"), ("one-hot", "40.0 % shared")]:
        page.locator(f"[data-preset='{preset}']").click()
        expect(page.locator(".ds-lab-areas li").first).to_contain_text(kept.replace(" %", "\u00a0%"))
    expect(page.locator(".ds-lab-ceiling")).to_contain_text("argmax match")


def test_a_faulty_rule_is_marked_and_a_right_one_is_not(opened):
    page = opened()
    mark = page.locator(".ds-lab-mark")
    expect(mark).to_be_hidden()
    page.get_by_label("Rule", exact=True).select_option("fault-residual-from-p")
    expect(mark).to_have_text("Fault: refill from p: wrong on purpose, to be seen failing")
    expect(page.locator(".ds-lab[data-faulty]")).to_have_count(1)
    page.locator("[data-rule=block] button").click()
    expect(mark).to_be_hidden()


def test_steps_are_guessed_shown_and_dragged(opened):
    page = opened("&k=1&p=0.5,0.5&q=0.9,0.1&names=yes,no")
    steps = page.locator(".ds-lab-step")
    expect(steps).to_have_count(1)
    steps.first.get_by_role("button", name="yes").click()
    expect(page.locator(".ds-lab-score")).to_have_text(re.compile(r"You guessed [01] of 1\."))
    expect(steps).to_have_count(2)
    steps.nth(1).get_by_role("button", name="kept").click()
    expect(page.locator(".ds-lab-score")).to_have_text(re.compile(r"You guessed [012] of 2\."))
    page.get_by_role("button", name="Show all").click()
    expect(page.locator(".ds-lab-outcome")).to_contain_text("The round emits:")
    coin = steps.filter(has_text="Test 1").get_by_role("slider")
    coin.focus()
    page.keyboard.press("Home")
    expect(steps.nth(1)).to_have_attribute("data-fate", "accepted")
    expect(steps.nth(1)).to_contain_text("You moved this dart")
    expect(steps.nth(2)).to_contain_text("Bonus")
    drag(page, steps.nth(1).locator(".ds-lab-line"), 0.1, 0.97)
    expect(steps.nth(1)).to_have_attribute("data-fate", "rejected")
    expect(steps.nth(2)).to_contain_text("Refill")
    coin.press("Escape")
    expect(steps.nth(1)).not_to_contain_text("You moved")
    page.get_by_role("button", name="Next text").click()
    expect(page.get_by_role("region", name="One step at a time")).to_contain_text("text 1, under seed 1")
    expect(page.locator(".ds-lab-step")).to_have_count(1)


def test_ten_thousand_texts_catch_the_shared_coin_by_its_pairs(opened):
    page = opened()
    page.locator("[data-preset=pairs]").click()
    drawn = page.locator(".ds-lab-drawn")
    drawn.evaluate(COUNTS)
    draw(page, 10_000)
    expect(drawn).to_have_text("10 000 drawn")
    assert page.evaluate("window.counts.size") > 3, "they were not drawn between frames"
    expect(page.locator("[data-test=singles]")).to_contain_text("fits")
    expect(page.locator("[data-test=pairs]")).to_contain_text("off")
    expect(page.locator("#ds-lab-many .ds-lab-verdict").last).to_contain_text("look at the pairs")
    expect(page.locator(".ds-lab-pairtable td.is-more")).not_to_have_count(0)


def test_ten_thousand_texts_of_a_lossless_rule_fit(opened):
    page = opened("&rule=block&k=3&seed=5")
    draw(page, 1)
    expect(page.locator(".ds-lab-drawn")).to_have_text("1 drawn")
    draw(page, 10_000)
    expect(page.locator(".ds-lab-drawn")).to_have_text("10 001 drawn")
    expect(page.locator("[data-test=singles]")).to_contain_text("fits")
    expect(page.locator("[data-test=pairs]")).to_contain_text("fits")
    page.get_by_role("button", name="Start over").click()
    expect(page.locator(".ds-lab-drawn")).to_have_text("")


def test_the_ladder_shows_one_coin_on_every_rung(opened):
    page = opened("&seed=3")
    ladder = page.locator("#ds-lab-ladder")
    u = re.search(r"u = (0\.\d+)", ladder.inner_text())[1]
    page.locator("[data-rung=position]").click()
    expect(ladder.locator("circle")).to_have_count(1)
    expect(ladder).to_contain_text("Kept and refilled together make p")
    page.locator("[data-rung=text]").click()
    first = ladder.locator("tr", has_text="coin u").locator("td").first
    assert float(first.inner_text()) == pytest.approx(float(u), abs=6e-4)
    page.locator("[data-rung=rules]").click()
    first = ladder.locator("tr", has_text="accept coin").locator("td").first
    assert float(first.inner_text()) == pytest.approx(float(u), abs=6e-4)
    expect(ladder.locator("tbody tr")).to_have_count(len(RULES) - 1)


def test_the_temperature_is_read_off_the_measured_curves(opened):
    page = opened()
    body = lab.temperatures()
    slider = page.get_by_role("slider", name="Temperature")
    slider.focus()
    page.keyboard.press("End")
    curves = body["drafters"]["self:3bit"]
    said = page.locator("#ds-lab-ceiling .ds-lab-verdict")
    expect(said).to_contain_text(f"At temperature 1.5: sum min(p, q) = {curves['sum_min'][-1]:.3g}")
    page.keyboard.press("ArrowLeft")
    expect(said).to_contain_text("At temperature 1.4")
    page.get_by_label("Drafter measured").select_option("self:4bit")
    expect(said).to_contain_text(f"sum p q = {body['drafters']['self:4bit']['sum_prod'][-2]:.3g}")


def test_a_link_leads_to_a_panel_and_away_again(opened):
    page = opened("&panel=many&rule=fault-shared-coin")
    expect(page.locator("#ds-lab-many")).to_be_in_viewport()
    page.get_by_role("button", name="Inspect", exact=True).click()
    expect(page.locator(".ds-lab")).to_be_hidden()
    page.wait_for_function("!location.search.includes('rule=')")
    page.get_by_role("button", name="Lab", exact=True).click()
    expect(page.get_by_label("Rule", exact=True)).to_have_value("fault-shared-coin")
    page.wait_for_url(re.compile("(?=.*view=lab)(?=.*rule=fault-shared-coin)"))


@pytest.mark.parametrize("width", [700, 420])
def test_it_fits_a_narrow_window(file_page, width):
    page = file_page("?rule=fault-raw-q&rung=rules&step=0.9")
    page.set_viewport_size({"width": width, "height": 900})
    draw(page, 100)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_from_disk_all_of_it_works_without_a_request(file_page):
    page = file_page()
    drag(page, bar(page, "q", 0).locator("xpath=.."), 0.6, 0.2)
    assert sum(values(page, "q")) == pytest.approx(1)
    page.get_by_role("button", name="Show all").click()
    expect(page.locator(".ds-lab-outcome")).to_contain_text("The round emits:")
    page.get_by_label("Rule", exact=True).select_option("fault-string-match")
    draw(page, 10_000)
    expect(page.locator("[data-test=singles]")).to_contain_text("off")
    page.get_by_role("slider", name="Temperature").press("Home")
    expect(page.locator("#ds-lab-ceiling .ds-lab-verdict")).to_contain_text("At temperature 0.2")
    expect(page.locator(".ds-lab-engine")).to_have_text("")
    page.wait_for_function("location.search.includes('rule=fault-string-match')")
    page.reload()
    expect(page.get_by_label("Rule", exact=True)).to_have_value("fault-string-match")


def test_names_stay_text(file_page):
    page = file_page("?names=<b>x</b>,<img src=x onerror=window.pwned=1>,c")
    draw(page, 100)
    assert page.evaluate("document.querySelectorAll('.ds-lab b > *, .ds-lab img').length") == 0
    assert page.evaluate("window.pwned") is None
    expect(page.locator(".ds-lab-laws")).to_contain_text("<b>x</b>")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("rung", ["position", "rules"])
def test_axe_finds_nothing(opened, theme, rung):
    page = opened(f"&rule=fault-shared-coin&k=3&step=0.3&rung={rung}", color_scheme=theme)
    draw(page, 100)
    check(page)


def test_axe_finds_nothing_in_the_file(file_page):
    page = file_page("?rule=lenient&step=1.1&rung=text")
    draw(page, 100)
    check(page)
