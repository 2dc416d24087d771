"""Looking into a session in a real browser: the coin, the rules, the laws, slow motion, colours, links."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Page, expect

from engine import rules
from engine.core.events import Round
from engine.core.position_law import position_law, tv_to
from tests.browser.fake import PIECES, FakeController

pytestmark = pytest.mark.browser
FORM = FakeController().choices()["defaults"] | {"stop": ""}


@pytest.fixture
def ran() -> FakeController:
    controller = FakeController()
    controller.finished()
    return controller


def rounds_of(controller: FakeController, session: int = 1) -> list[Round]:
    return controller.all[session].rounds


def rejected(controller: FakeController, between: tuple[float, float] = (0.05, 0.95)) -> tuple[int, int]:
    """A rejected draft that a coin could have saved."""
    for done in rounds_of(controller):
        n = done.verdict.n_accepted
        if n < done.block.k and between[0] < done.verdict.checks[n].accept_prob < between[1]:
            return done.index, n
    raise AssertionError("the session has no such draft")


def kept(controller: FakeController) -> tuple[int, int]:
    """An accepted draft that another coin would have rejected."""
    for done in rounds_of(controller):
        for i in range(done.verdict.n_accepted):
            if done.verdict.checks[i].accept_prob < 0.9:
                return done.index, i
    raise AssertionError("the session has no such draft")


def slider(page: Page):
    return page.locator(".ds-dart [role=slider]")


# The coin


def test_dragging_the_coin_shows_the_other_outcome_and_says_it_is_hypothetical(ran, serve, open_page):
    index, pos = rejected(ran)
    done = rounds_of(ran)[index]
    page = open_page(f"{serve(ran)}?s=1&r={index}&i={pos}")
    expect(page.locator(".ds-decision .ds-badge").first).to_have_text("rejected")
    expect(slider(page)).to_have_attribute("aria-valuenow", f"{done.verdict.checks[pos].u:.3f}")
    box = page.locator(".ds-dart-track").first.bounding_box()
    pin = slider(page).bounding_box()
    page.mouse.move(pin["x"] + 1, box["y"] + 15)
    page.mouse.down()
    page.mouse.move(box["x"] + 3, box["y"] + 15, steps=4)
    page.mouse.up()
    expect(page.locator(".ds-badge.is-hypothetical")).to_have_text("hypothetical")
    expect(page.locator(".ds-decision h3")).to_contain_text("accepted")
    expect(page.locator(".ds-supposed .ds-token").nth(pos)).to_have_class(re.compile("is-accepted"))
    page.wait_for_url(re.compile(r"u=0\.0"))
    page.get_by_role("button", name="Put the coin back").click()
    expect(page.locator(".ds-badge.is-hypothetical")).to_have_count(0)
    expect(page.locator(".ds-dart-u").first).to_have_text(f"u = {done.verdict.checks[pos].u:.3g}")


#: The boxes of the track, the pin and the label as of one moment, with the coin that they show.
DART = """() => {
    const box = (name) => document.querySelector(`.ds-dart ${name}`).getBoundingClientRect();
    const part = (name) => ({ left: box(name).left, right: box(name).right });
    const pin = document.querySelector('.ds-dart [role=slider]');
    return {
        u: Number(pin.getAttribute('aria-valuenow')),
        track: part('.ds-dart-track'),
        pin: part('[role=slider]'),
        label: part('.ds-dart-u'),
    };
}"""


def test_the_number_stands_over_its_dart(ran, serve, open_page):
    """Wherever the coin fell or is held, the label is over the pin, and inside the track at its ends."""
    index, i = rejected(ran)
    fell = rounds_of(ran)[index].verdict.checks[i].u
    page = open_page(f"{serve(ran)}?s=1&r={index}&i={i}")
    pin = slider(page)
    pin.focus()
    places = [("Home", 0.0), *(("PageUp", 0.1 * n) for n in range(1, 10)), ("End", 0.9999), ("Escape", fell)]
    for key, u in places:
        pin.press(key)
        expect(pin).to_have_attribute("aria-valuenow", f"{u:.3f}")
        seen = page.evaluate(DART)
        track, label = seen["track"], seen["label"]
        middle = (seen["pin"]["left"] + seen["pin"]["right"]) / 2
        at = track["left"] + u * (track["right"] - track["left"])
        assert abs(middle - at) < 2, f"{key}: the pin is off its coin"
        assert track["left"] - 1 <= label["left"] and label["right"] <= track["right"] + 1, key
        assert label["left"] - 12 <= middle <= label["right"] + 12, f"{key}: the label is not over the pin"


def test_the_coin_is_a_slider_for_the_keyboard(ran, serve, open_page):
    index, pos = kept(ran)
    check = rounds_of(ran)[index].verdict.checks[pos]
    page = open_page(f"{serve(ran)}?s=1&r={index}&i={pos}")
    slider(page).focus()
    assert float(slider(page).get_attribute("aria-valuenow")) == pytest.approx(check.u, abs=6e-4)
    page.keyboard.press("End")
    expect(page.locator(".ds-badge.is-hypothetical")).to_be_visible()
    expect(page.locator(".ds-decision h3")).to_contain_text("rejected")
    assert "hypothetical" in slider(page).get_attribute("aria-valuetext")
    expect(page.locator(".ds-below .ds-residual caption")).to_contain_text("mass Z")
    page.keyboard.press("Home")
    expect(page.locator(".ds-decision h3")).to_contain_text("accepted")
    page.keyboard.press("ArrowRight")
    expect(slider(page)).to_have_attribute("aria-valuenow", "0.010")
    page.keyboard.press("Shift+ArrowRight")
    expect(slider(page)).to_have_attribute("aria-valuenow", "0.110")
    page.keyboard.press("Escape")
    expect(page.locator(".ds-badge.is-hypothetical")).to_have_count(0)


def test_a_supposed_residual_is_the_one_that_the_rule_would_have_drawn_from(ran, serve, open_page):
    index, pos = kept(ran)
    done = rounds_of(ran)[index]
    p, q = done.block.p[pos], done.block.q[pos]
    values = {int(t): max(0.0, p.prob(int(t)) - q.prob(int(t))) for t in p.ids}
    mass = sum(values.values())
    top = max(values, key=lambda token: values[token])
    page = open_page(f"{serve(ran)}?s=1&r={index}&i={pos}&u=0.9999")
    line = page.locator(".ds-below .ds-residual tbody tr").first
    expect(line).to_contain_text(PIECES[top].decode().strip())
    expect(line.locator(".ds-number")).to_contain_text("%")
    share = float(line.locator(".ds-number").inner_text().replace("\u00a0%", ""))
    assert share == pytest.approx(100 * values[top] / mass, abs=0.06)


def test_a_rule_without_a_coin_says_so(serve, open_page):
    controller = FakeController()
    controller.finished(rule="typical")
    page = open_page(f"{serve(controller)}?s=1&r=2&i=0")
    expect(page.locator(".ds-below .ds-hint")).to_contain_text("no coin here")
    assert slider(page).count() == 0


def test_gumbel_is_explained_as_a_race(serve, open_page):
    controller = FakeController()
    controller.finished(rule="gumbel")
    page = open_page(f"{serve(controller)}?s=1&r=2&i=0")
    expect(page.locator(".ds-below")).to_contain_text("same noise")


# The rows


def test_more_rows_than_came_with_the_round_are_fetched_when_they_are_asked_for(serve, open_page):
    controller = FakeController()
    controller.finished(temperature=1.5, top_p=1.0, max_tokens=16)
    assert len(rounds_of(controller)[0].block.p[0].ids) > 32
    page = open_page(f"{serve(controller)}?s=1&r=0&i=0")
    lines = page.locator(".ds-pqtable tbody tr:not(.is-rest, .is-cut)")
    expect(lines.first).to_be_visible()
    assert lines.count() <= 8 + 3, "eight, and those that the round is about"
    for n in (16, 32):
        page.get_by_label("Rows shown").select_option(str(n))
        expect(lines.nth(n - 1)).to_be_visible()


def test_a_link_into_a_long_session_lands_before_all_of_it_has_come(serve, open_page):
    controller = FakeController(pace=0)
    session = controller.finished(max_tokens=1200)
    n = controller.count(session)[0]
    page = open_page(f"{serve(controller)}?s={session}&r={n - 2}&i=0")
    expect(page.locator(".ds-place")).to_contain_text(f"round {n - 2} ", timeout=20_000)
    expect(page.locator(".ds-where")).to_have_text(f"round {n - 2} of {n - 1}")
    expect(page.locator(".ds-round")).to_have_count(n, timeout=60_000)
    expect(page.locator(f".ds-flow [data-round='{n - 2}'][aria-current]")).to_have_count(1)
    page.keyboard.press("Home")
    expect(page.locator(".ds-place")).to_contain_text("round 0 ")


# Rules and laws


def test_the_matrix_shows_what_every_rule_would_have_done(ran, serve, open_page):
    done = rounds_of(ran)[rejected(ran)[0]]
    page = open_page(f"{serve(ran)}?s=1&r={done.index}&pane=rules")
    lines = page.locator(".ds-matrixtable tbody tr[data-rule]")
    expect(lines).to_have_count(len(rules.RULES))
    for line in done.matrix:
        row = page.locator(f"tr[data-rule={line.rule}]")
        fates = row.locator(".ds-fateglyph").all_inner_texts()
        n, k = line.n_accepted, done.block.k
        assert fates == ["✓"] * n + (["✗"] if n < k else []) + ["–"] * (k - n - 1), line.rule
    expect(page.locator("tr.is-own")).to_have_attribute("data-rule", "stochastic")
    otherwise = page.locator("tr[data-rule]:has-text('other drafts')")
    assert {row.get_attribute("data-rule") for row in otherwise.all()} == {
        "gumbel",
        "fault-softmax-q",
        "fault-raw-q",
    }
    groups = page.locator(".ds-matrixkind").all_inner_texts()
    assert [group.split(",")[0].strip() for group in groups] == ["Lossless", "Biased", "Faulty"]
    page.locator("tr[data-rule=lenient]").hover()
    expect(page.locator(".ds-matrix .ds-rulemeaning")).to_contain_text(rules.RULES["lenient"].meaning)


def test_the_matrix_sums_over_the_session(ran, serve, open_page):
    page = open_page(f"{serve(ran)}?s=1&r=0&pane=rules")
    lines = [{one.rule: one for one in done.matrix}["lenient"] for done in rounds_of(ran)]
    accepted = sum(line.n_accepted for line in lines)
    tested = sum(
        min(line.n_accepted + 1, done.block.k) for line, done in zip(lines, rounds_of(ran), strict=True)
    )
    row = page.locator("tr[data-rule=lenient]")
    expect(row).to_contain_text(f"{accepted} of {tested}")
    laws = [law.tv for line in lines for law in line.laws]
    shown = float(row.locator(".ds-tvcell").inner_text())
    assert shown == pytest.approx(sum(laws) / len(laws), rel=5e-3)


def test_the_law_meter_holds_each_rules_law_against_p(ran, serve, open_page):
    index, pos = rejected(ran)
    done = rounds_of(ran)[index]
    page = open_page(f"{serve(ran)}?s=1&r={index}&i={pos}&pane=laws")
    expect(page.locator(".ds-laws > .ds-hint")).to_contain_text("Exact", timeout=10_000)
    for rule_id in ("stochastic", "lenient", "fault-residual-from-p"):
        law = position_law(rules.RULES[rule_id], done.block.p[pos], done.block.q[pos])
        numbers = page.locator(f".ds-laws tr[data-rule={rule_id}] .ds-number").all_inner_texts()
        assert float(numbers[0]) == pytest.approx(tv_to(law, done.block.p[pos]), rel=5e-3, abs=1e-9)
        assert float(numbers[1].split("\u00a0")[0]) == pytest.approx(100 * law.acceptance, abs=0.06)
    expect(page.locator(".ds-laws tr[data-rule=block]")).to_contain_text("judges whole blocks")
    page.get_by_role("button", name="lenient", exact=True).click()
    expect(page.locator(".ds-lawbars caption")).to_contain_text("Lenience")
    expect(page.locator(".ds-lawbars .ds-only-q").first).to_be_visible()


def test_the_law_meter_has_a_word_where_nothing_was_drafted(ran, serve, open_page):
    done = next(one for one in rounds_of(ran) if one.verdict.next_source == "bonus")
    page = open_page(f"{serve(ran)}?s=1&r={done.index}&i={done.block.k}&pane=laws")
    expect(page.locator(".ds-laws > .ds-hint")).to_contain_text("Nothing was drafted here")


# Slow motion


def test_slow_motion_reveals_a_round_stage_by_stage(ran, serve, open_page):
    index, pos = rejected(ran)
    done = rounds_of(ran)[index]
    k = done.block.k
    page = open_page(f"{serve(ran)}?s=1&r={index}&i={pos}")
    expect(page.locator(".ds-cards .ds-card")).to_have_count(k + 1)
    page.get_by_role("button", name="Slow motion").click()
    expect(page.locator(".ds-card.is-blank")).to_have_count(k)
    expect(page.locator(".ds-decision h3")).to_contain_text("is drafted")
    expect(page.locator(".ds-bars .ds-note")).to_contain_text("has not read this block")
    for _ in range(k):
        page.keyboard.press(".")
    expect(page.locator(".ds-stage")).to_contain_text("target pass")
    expect(page.locator(".ds-decision h3")).to_have_text("The target reads the drafts")
    for _ in range(pos + 1):
        page.keyboard.press("ArrowRight")
    expect(page.locator(".ds-decision .ds-badge").first).to_have_text("rejected")
    expect(page.locator(".ds-card.is-blank")).to_have_count(1)
    assert page.locator(".ds-decision .ds-residual").count() == 0
    page.wait_for_url(re.compile(rf"stage={k + 1 + pos}"))
    page.reload()
    expect(page.locator(".ds-decision .ds-badge").first).to_have_text("rejected")
    page.keyboard.press(".")
    expect(page.locator(".ds-decision .ds-badge").first).to_have_text("corrected")
    expect(page.locator(".ds-card.is-blank")).to_have_count(0)
    page.keyboard.press(",")
    expect(page.locator(".ds-card.is-blank")).to_have_count(1)
    page.get_by_role("button", name="Slow motion").click()
    expect(page.locator(".ds-stage")).to_be_hidden()


# The text


@pytest.mark.parametrize("mode", ["surprise", "entropy", "tv", "acceptance"])
def test_the_text_takes_colours_with_a_legend(ran, serve, open_page, mode):
    page = open_page(f"{serve(ran)}?s=1&r=3&i=0")
    page.get_by_label("Colour the text by").select_option(mode)
    expect(page.locator(".ds-legend li")).to_have_count(5)
    page.wait_for_url(re.compile(f"mode={mode}"))
    expect(page.locator(".ds-flow .ds-token").nth(20)).to_be_visible()
    levels = page.locator(f".ds-flow [class*='{mode}-']")
    assert levels.count() > 20
    most = max(level for level in range(5) if page.locator(f".ds-flow .{mode}-{level}").count())
    deepest = page.locator(f".ds-flow .{mode}-{most}").first
    mildest = page.locator(f".ds-flow .{mode}-0").first
    line = "node => getComputedStyle(node).boxShadow"
    assert deepest.evaluate(line) != mildest.evaluate(line), "a level needs more than its colour"


def test_a_card_follows_the_pointer_and_a_click_pins_it(ran, serve, open_page):
    page = open_page(f"{serve(ran)}?s=1&r=3&i=0")
    token = page.locator(".ds-flow .is-accepted").nth(2)
    token.hover()
    hover = page.locator(".ds-hovercard.is-hover")
    expect(hover).to_contain_text("token id")
    done = rounds_of(ran)[int(token.get_attribute("data-round"))]
    x = done.block.tokens[int(token.get_attribute("data-pos"))]
    expect(hover).to_contain_text(str(x))
    token.click()
    page.mouse.move(5, 5)
    pinned = page.locator(".ds-hovercard.is-pinned")
    expect(pinned).to_be_visible()
    expect(hover).to_be_hidden()
    page.keyboard.press("ArrowRight")
    expect(pinned).to_be_visible()
    page.keyboard.press("Escape")
    expect(pinned).to_be_hidden()


def test_find_walks_over_matches_and_marks_them(ran, serve, open_page):
    page = open_page(f"{serve(ran)}?s=1&r=0&i=0")
    expect(page.locator(".ds-where")).to_be_visible()
    page.keyboard.press("/")
    field = page.get_by_label("Text or /regex/ to find")
    expect(field).to_be_focused()
    field.fill("/ (cat|draft)/")
    text = b"".join(PIECES[t] for done in rounds_of(ran) for t in done.emitted).decode()
    n = len(re.findall(r" (?:cat|draft)", text))
    expect(page.locator(".ds-ask .ds-facts")).to_contain_text(f"of {n} match")
    expect(page.locator(".ds-flow .is-found")).to_have_count(n)
    field.press("Enter")
    field.press("Enter")
    expect(page.locator(".ds-flow [aria-current].is-found")).to_have_count(1)
    page.wait_for_url(re.compile("find="))
    field.fill("/(/")
    expect(page.locator(".ds-ask .ds-facts")).to_contain_text("no regular expression")
    field.press("Escape")
    expect(field).to_be_hidden()


def test_go_to_takes_positions_rounds_and_says_what_it_does_not_know(ran, serve, open_page):
    page = open_page(f"{serve(ran)}?s=1&r=0&i=0")
    expect(page.locator(".ds-where")).to_be_visible()

    def go(text: str) -> None:
        page.keyboard.press("g")
        page.get_by_label("Position or round").fill(text)
        page.keyboard.press("Enter")

    go("20")
    expect(page.locator(".ds-place")).to_contain_text("position 20")
    go("r7")
    expect(page.locator(".ds-place")).to_contain_text("round 7")
    go("r7.0")
    page.wait_for_url(re.compile("r=7&i=0"))
    go("9999")
    expect(page.locator(".ds-ask")).to_contain_text("No such place")
    page.keyboard.press("Escape")
    page.go_back()
    expect(page.locator(".ds-place")).to_contain_text("round 7")
    page.go_back()
    expect(page.locator(".ds-place")).to_contain_text("position 20")


# Links


def test_a_link_holds_the_whole_look_and_a_reload_lands_on_it(ran, serve, open_page):
    index, pos = rejected(ran)
    look = "pane=laws&mode=tv&rows=16&log=1&drops=0&find=cat&brk=tv:0.4,rescued&brkall=1&brkpause=1&tables=1"
    page = open_page(f"{serve(ran)}?s=1&r={index}&i={pos}&{look}&u=0.25")

    def seen() -> None:
        expect(page.locator(".ds-tab[data-pane=laws]")).to_have_attribute("aria-selected", "true")
        expect(page.get_by_label("Colour the text by")).to_have_value("tv")
        expect(page.locator(".ds-flow")).to_have_class(re.compile("without-drops"))
        expect(page.locator("[data-break=tv]")).to_be_checked()
        expect(page.locator("[data-break=rejection]")).not_to_be_checked()
        expect(page.get_by_label("TV >")).to_have_value("0.4")
        expect(page.get_by_label("How breakpoints combine")).to_have_value("1")
        expect(page.locator(".ds-badge.is-hypothetical")).to_be_visible()
        expect(page.locator(".ds-roundtable")).to_be_visible()
        expect(page.locator(".ds-flow .is-found").first).to_be_attached()

    seen()
    page.get_by_role("tab", name="p and q").click()
    expect(page.get_by_label("Rows shown")).to_have_value("16")
    expect(page.locator(".ds-pqtable.is-numbers")).to_be_visible()
    page.get_by_role("tab", name="Law meter").click()
    page.wait_for_url(re.compile("pane=laws"))
    page.reload()
    seen()


def test_the_position_is_copied_as_the_object_that_show_prints(ran, serve, open_page):
    index, pos = rejected(ran)
    page = open_page(f"{serve(ran)}?s=1&r={index}&i={pos}", permissions=["clipboard-read", "clipboard-write"])
    expect(page.locator(".ds-decision .ds-badge").first).to_have_text("rejected")
    page.keyboard.press("j")
    expect(page.locator(".ds-notice")).to_have_text("Copied.")
    body = json.loads(page.evaluate("navigator.clipboard.readText()"))
    done = rounds_of(ran)[index]
    assert (body["fate"], body["x"], body["u"]) == (
        "rejected",
        done.block.tokens[pos],
        done.verdict.checks[pos].u,
    )
    assert body["residual_draw"] == done.verdict.next_token
    page.keyboard.press("l")
    expect(page.locator(".ds-notice")).to_have_text("Copied.")
    assert f"r={index}&i={pos}" in page.evaluate("navigator.clipboard.readText()")


# Honesty


def test_another_rule_than_asked_is_named_with_its_reason(serve, open_page):
    controller = FakeController()
    controller.finished(temperature=0.0)
    page = open_page(f"{serve(controller)}?s=1")
    expect(page.locator(".ds-reason")).to_contain_text("Ran greedy-argmax instead of stochastic.")
    expect(page.locator(".ds-reason")).to_contain_text("emperature is 0")


def test_the_rules_parameters_stand_beside_it(serve, open_page):
    controller = FakeController()
    controller.finished(rule="lenient")
    page = open_page(f"{serve(controller)}?s=1")
    expect(page.locator(".ds-bar-what")).to_contain_text("lenient (leniency 0.5)")


def test_a_token_of_ten_thousand_characters_breaks_no_pane(serve, open_page):
    controller = FakeController(hostile=60.0)
    session = controller.finished(temperature=1.5, top_p=1.0, max_tokens=120)
    long = PIECES.index(b"x" * 10_000)
    done = next(one for one in rounds_of(controller, session) if long in one.emitted)
    pos = done.emitted.index(long)
    pos = pos if pos < done.verdict.n_accepted else done.block.k
    page = open_page(f"{serve(controller)}?s={session}&r={done.index}&i={pos}")
    for pane in ("bars", "rules", "laws"):
        page.locator(f".ds-tab[data-pane={pane}]").click()
        expect(page.locator(f".ds-tab[data-pane={pane}]")).to_have_attribute("aria-selected", "true")
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, pane
    page.locator(f".ds-flow [data-round='{done.index}'][data-pos='{pos}']").hover()
    hover = page.locator(".ds-hovercard.is-hover")
    expect(hover).to_be_visible()
    assert hover.bounding_box()["width"] < 400
    assert page.evaluate("window.pwned") is None
