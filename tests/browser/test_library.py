"""The session list, its sheet, deletion with a way back, statistics, exactness, the form and the demo, in a
real browser over the real controller and store."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from inspector.controller import Controller
from tests.browser.toy import run
from tests.browser.waiting import comes

pytestmark = pytest.mark.browser


@pytest.fixture
def shelf(toy) -> Controller:
    """Four sessions: two prompts, a re-run, a failed one; the first starred and tagged."""
    first = run(toy, prompt="Why is the sea blue?", max_tokens=24)
    child = toy.rerun(first, ["block"])[0]
    toy.wait(child)
    run(toy, prompt="Name a cat", rule="lenient", params={"leniency": 0.7}, max_tokens=16)
    toy.library.change(first, {"starred": True, "tags": "water", "title": "Sea"})
    failed = toy.store.create(toy.store.started(first))
    toy.store.fail(failed, "The model ran out of paper")
    return toy


def ids(page: Page) -> list[str]:
    """The sessions in the list, read in one look: it may change between two."""
    keys = page.locator(".ds-session").evaluate_all("(rows) => rows.map((row) => row.dataset.key)")
    return [key.removeprefix("session-") for key in keys]


def shows(page: Page, expected: list[str]) -> None:
    """The list shows exactly these sessions, in this order."""
    expect(page.locator(".ds-session")).to_have_count(len(expected), timeout=15_000)
    comes(page, lambda: ids(page) == expected)


def test_children_stand_under_their_parent_and_the_foot_counts(shelf, serve, open_page):
    page = open_page(serve(shelf))
    shows(page, ["4", "3", "1", "2"])
    expect(page.locator(".is-child [data-key='session-2']")).to_be_visible()
    expect(page.locator(".ds-listfacts")).to_have_text(re.compile(r"^4 sessions · [\d.]+ (kB|MB) on disk$"))
    expect(page.locator("[data-key='session-4']")).to_contain_text("The model ran out of paper")
    info = shelf.store.session(1)
    told = (
        f"24 tokens · {round(100 * info.accepted / info.positions_tested)} % of {info.positions_tested} tests"
    )
    expect(page.locator("[data-key='session-1']")).to_contain_text(told)


def test_the_list_is_searched_and_narrowed_and_cleared(shelf, serve, open_page):
    page = open_page(serve(shelf))
    shows(page, ["4", "3", "1", "2"])
    page.get_by_label("Find a session").fill("cat")
    shows(page, ["3"])
    expect(page.locator(".ds-listfacts")).to_contain_text("1 of 4 sessions")
    page.get_by_label("Find a session").fill("nothing like this")
    expect(page.locator(".ds-listempty")).to_contain_text("No session matches.")
    page.locator(".ds-listempty").get_by_role("button", name="Clear filters").click()
    shows(page, ["4", "3", "1", "2"])
    expect(page.get_by_label("Find a session")).to_have_value("")
    page.get_by_role("button", name="Filter and sort sessions").click()
    page.locator("[data-key='filter-rule']").select_option("block")
    shows(page, ["2"])
    page.locator("[data-key='filter-rule']").select_option("")
    page.locator("[data-key='filter-status']").select_option("failed")
    shows(page, ["4"])
    page.locator("[data-key='filter-status']").select_option("")
    page.get_by_label("starred only").check()
    shows(page, ["1"])
    page.locator(".ds-filters").get_by_role("button", name="Clear filters").click()
    page.locator("[data-key='filter-order']").select_option("oldest")
    shows(page, ["1", "2", "3", "4"])


def test_a_star_survives_a_reload(shelf, serve, open_page):
    page = open_page(serve(shelf))
    star = page.get_by_role("button", name="Star session 3")
    star.focus()
    star.press("Enter")
    expect(star).to_have_attribute("aria-pressed", "true")
    comes(page, lambda: shelf.store.session(3).starred)
    page.reload()
    expect(page.get_by_role("button", name="Star session 3")).to_have_attribute("aria-pressed", "true")


def test_the_s_key_stars_the_session_on_view_and_takes_the_star_back(shelf, serve, open_page):
    page = open_page(f"{serve(shelf)}?s=3&r=0")
    expect(page.locator(".ds-bar-name")).to_have_text("#3", timeout=20_000)
    star = page.locator("[data-key='star-3']")
    expect(star).to_have_attribute("aria-pressed", "false")  # the list is there
    for pressed in ("true", "false"):
        page.keyboard.press("s")
        expect(star).to_have_attribute("aria-pressed", pressed)
        comes(page, lambda wanted=pressed == "true": shelf.store.session(3).starred is wanted)


def test_the_sheet_writes_title_tags_and_note_and_only_on_save(shelf, serve, open_page):
    page = open_page(serve(shelf))
    open_sheet(page, 3)
    sheet = page.get_by_role("dialog", name="Session")
    expect(sheet).to_contain_text("lenient, leniency 0.7")
    sheet.get_by_label("Title").fill("A cat <b>bold</b>")
    page.keyboard.press("Escape")
    expect(sheet).to_be_hidden()
    assert shelf.store.session(3).title == ""
    open_sheet(page, 3)
    sheet.get_by_label("Title").fill("A cat <b>bold</b>")
    sheet.get_by_label("Tags").fill("animal, night")
    sheet.get_by_label("Note").fill("s is no key in here")
    sheet.get_by_role("button", name="Save").click()
    expect(sheet).to_be_hidden()
    expect(page.locator("[data-key='session-3']")).to_contain_text("A cat <b>bold</b>")
    info = shelf.store.session(3)
    assert (info.title, info.tags, info.note) == (
        "A cat <b>bold</b>",
        ("animal", "night"),
        "s is no key in here",
    )
    assert not info.starred


def open_sheet(page: Page, session: int) -> None:
    tools = page.get_by_role("button", name=f"Title, tags, note and more of session {session}")
    tools.focus()
    tools.press("Enter")


def test_a_deleted_session_comes_back_with_undo(shelf, serve, open_page):
    page = open_page(serve(shelf))
    open_sheet(page, 3)
    page.get_by_role("button", name="Delete").click()
    shows(page, ["4", "1", "2"])
    expect(page.locator(".ds-toast")).to_contain_text("Session #3 is deleted.")
    page.get_by_role("button", name="Undo").click()
    shows(page, ["4", "3", "1", "2"])
    expect(page.locator(".ds-toast")).to_be_hidden()
    assert shelf.store.session(3).status == "finished"


def test_a_deletion_nobody_takes_back_is_carried_out(shelf, serve, open_page):
    shelf.library.undo_s = 1.5
    page = open_page(serve(shelf))
    open_sheet(page, 1)
    expect(page.get_by_role("dialog")).to_contain_text("deleting this one keeps them")
    page.get_by_role("button", name="Delete").click()
    shows(page, ["4", "3", "2"])
    comes(page, lambda: shelf.store.number_of_sessions() == 3)
    assert [info.id for info in shelf.store.sessions()] == [4, 3, 2]
    expect(page.locator(".ds-toast")).to_be_hidden()


def test_a_list_that_cannot_be_read_says_so_and_can_be_tried_again(shelf, serve, open_page, monkeypatch):
    from engine.errors import EngineError

    def broken(filters, limit):
        raise EngineError("The disk is gone.", "Plug it in.")

    monkeypatch.setattr(shelf.library, "page", broken)
    page = open_page(serve(shelf))
    expect(page.locator(".ds-listempty")).to_contain_text("The list could not be read.", timeout=15_000)
    expect(page.get_by_role("alert").filter(has_text="The disk is gone.")).to_be_visible()
    monkeypatch.undo()
    page.get_by_role("button", name="Try again").click()
    shows(page, ["4", "3", "1", "2"])


def test_more_than_a_page_of_sessions_is_shown_on_request(toy, serve, open_page):
    started = toy.store.started(run(toy, max_tokens=4))
    for _ in range(104):
        toy.store.fail(toy.store.create(started), "no")
    page = open_page(serve(toy))
    expect(page.locator(".ds-session")).to_have_count(100, timeout=15_000)
    page.get_by_role("button", name="Show more").click()
    expect(page.locator(".ds-session")).to_have_count(105, timeout=15_000)
    expect(page.get_by_role("button", name="Show more")).to_be_hidden()


def test_statistics_are_figures_that_zoom_and_tables(shelf, serve, open_page):
    page = open_page(f"{serve(shelf)}?s=1&view=stats")
    expect(page.locator(".ds-plot .main-svg").first).to_be_visible(timeout=30_000)
    info = shelf.store.session(1)
    expect(page.locator(".ds-statslead")).to_contain_text(
        f"{info.accepted} of {info.positions_tested} tested drafts accepted"
    )
    titles = page.locator(".ds-statcard h3").all_inner_texts()
    assert titles == [
        "Acceptance by depth",
        "Accepted length",
        "Measured against the closed forms",
        "Entropy of p against acceptance",
        "Tokens per target pass",
        "Tokens a second",
        "Where the time goes",
    ]
    plot = page.locator(".is-passes .ds-plot")
    zoom = "node => node.layout.xaxis.range.map(Number)"
    whole = plot.evaluate(zoom)
    plot.scroll_into_view_if_needed()
    box = plot.locator(".nsewdrag").first.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + box["height"] / 2, steps=5)
    page.mouse.up()
    page.wait_for_timeout(300)
    zoomed = plot.evaluate(zoom)
    assert zoomed[1] - zoomed[0] < 0.6 * (whole[1] - whole[0])
    page.evaluate("document.body.classList.toggle('dark')")
    page.wait_for_timeout(500)
    assert plot.evaluate(zoom) == pytest.approx(zoomed), "another theme must not lose the zoom"
    page.get_by_role("button", name="Tables").click()
    table = page.locator(".is-depth table")
    first = shelf.statistics.of(1)["by_depth"][0]
    expect(table.locator("tbody tr").first).to_contain_text(f"{first['part']}")
    assert page.locator(".ds-statcard table").count() == len(titles)
    assert page.locator(".ds-plot:visible").count() == 0
    page.wait_for_url(re.compile("tables=1"))


def test_figures_follow_the_theme(shelf, serve, open_page):
    page = open_page(f"{serve(shelf)}?s=1&view=stats")
    bar = page.locator(".is-depth .bars path").first
    expect(bar).to_be_visible(timeout=30_000)
    light = bar.evaluate("node => getComputedStyle(node).fill")
    page.evaluate("document.body.classList.toggle('dark')")
    page.wait_for_timeout(800)
    assert light == "rgb(0, 114, 178)"
    assert bar.evaluate("node => getComputedStyle(node).fill") == "rgb(86, 180, 233)"


def test_statistics_of_a_session_without_rounds_say_so(shelf, serve, open_page):
    page = open_page(f"{serve(shelf)}?s=4&view=stats")
    expect(page.locator(".ds-statslead")).to_contain_text("0 rounds", timeout=15_000)
    assert page.locator(".ds-statcard").count() == 0


def test_a_verification_runs_stops_and_tells_its_result(shelf, serve, open_page):
    page = open_page(f"{serve(shelf)}?view=exactness")
    samples = page.get_by_role("spinbutton", name="Samples")
    expect(samples).not_to_have_value("", timeout=15_000)
    samples.fill("400")
    page.get_by_role("button", name="Verify").click()
    verdict = page.locator(".ds-verdict")
    expect(verdict).to_be_visible(timeout=60_000)
    expect(verdict).to_contain_text("passed")
    expect(verdict).to_contain_text("The pairs follow the target")
    expect(page.locator(".ds-exactness tr", has_text="argmax").first).to_contain_text("> 99.9\u00a0%")
    expect(page.locator(".ds-exactness")).to_contain_text("fault-shared-coin")
    samples.fill("90000")
    page.get_by_role("button", name="Verify").click()
    page.get_by_role("button", name="Stop", exact=True).last.click()
    expect(page.locator(".ds-verifyform")).to_contain_text("stopped", timeout=30_000)
    samples.fill("-1")
    page.get_by_role("button", name="Verify").click()
    page.locator(".ds-verifyform").evaluate("form => form.noValidate = true")
    page.get_by_role("button", name="Verify").click()
    expect(page.get_by_role("alert").filter(has_text="samples")).to_be_visible(timeout=15_000)


def test_a_rules_parameters_are_asked_for_and_reach_the_session(toy, serve, open_page):
    page = open_page(serve(toy))
    choose_rule(page, "Typical acceptance")
    epsilon, delta = page.get_by_label("epsilon"), page.get_by_label("delta")
    expect(epsilon).to_be_visible(timeout=15_000)
    expect(page.locator(".ds-params")).to_contain_text("Medusa's posterior alpha")
    delta.fill("0.2")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator(".ds-session")).to_have_count(1, timeout=20_000)
    assert toy.store.session(1).params == {"epsilon": 0.3, "delta": 0.2}
    choose_rule(page, "Rejection sampling")
    expect(epsilon).to_be_hidden(timeout=15_000)


def choose_rule(page: Page, title: str) -> None:
    page.locator("#rule input").click()
    page.get_by_role("option", name=title).first.click()


def test_a_value_outside_a_parameters_limits_is_said_and_the_form_stays(toy, serve, open_page):
    page = open_page(serve(toy))
    choose_rule(page, "Lenience")
    field = page.get_by_label("leniency")
    expect(field).to_be_visible(timeout=15_000)
    field.fill("7")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_role("alert").filter(has_text="leniency is 7")).to_contain_text("0.01 to 1")
    assert toy.store.number_of_sessions() == 0
    expect(field).to_have_value("7")


def test_a_rule_has_as_many_fields_as_parameters(toy, serve, open_page):
    """Gradio brings all of a row on view with the row."""
    page = open_page(serve(toy))
    fields = page.locator("[id^=param-]:visible")
    for title, n in (("Lenience", 1), ("Thresholds", 2), ("Lenience", 1), ("Block verification", 0)):
        choose_rule(page, title)
        expect(fields).to_have_count(n)
    expect(page.locator(".ds-params")).to_be_hidden()


def test_a_link_to_a_session_that_is_not_here_says_so(shelf, serve, open_page):
    page = open_page(f"{serve(shelf)}?s=99")
    expect(page.get_by_role("alert")).to_contain_text("There is no session 99")
    expect(page.locator(".ds-status").first).to_have_text("not loaded")
    expect(page.locator(".ds-text")).to_contain_text("This session was not loaded.")
    page.locator("[data-key='session-1']").click()
    expect(page.locator(".ds-flow .ds-token").first).to_be_visible()


def test_a_sessions_settings_go_back_into_the_form(shelf, serve, open_page):
    page = open_page(serve(shelf))
    open_sheet(page, 3)
    page.get_by_role("button", name="Use these settings").click()
    expect(page.locator(".ds-toast")).to_contain_text(
        "The settings of #3 are in the form above.", timeout=15_000
    )
    expect(page.locator("#prompt textarea")).to_have_value("Name a cat")
    expect(page.locator("#rule input")).to_have_value(re.compile("Lenience"))
    expect(page.get_by_label("leniency")).to_have_value("0.7", timeout=15_000)
    expect(page.locator("#max-tokens input")).to_have_value("16")
    page.get_by_role("button", name="Run", exact=True).click()
    shows(page, ["5", "4", "3", "1", "2"])
    shelf.wait(5)
    again, before = shelf.store.session(5), shelf.store.session(3)
    assert (again.params, again.seed, again.emitted) == (before.params, before.seed, before.emitted)


def test_a_rule_from_a_file_wins_over_the_chosen_one(toy, serve, open_page, tmp_path):
    page = open_page(serve(toy))
    page.get_by_role("button", name="More settings").click()
    field = page.get_by_label("Or a rule of your own")
    expect(field).to_be_visible()
    field.click()
    field.press_sequentially(str(tmp_path / "missing.py"))
    field.blur()
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_role("alert").filter(has_text="missing.py")).to_be_visible(timeout=15_000)
    assert toy.store.number_of_sessions() == 0
    expect(page.get_by_label("Or a rule of your own")).to_have_value(str(tmp_path / "missing.py"))


def test_the_first_start_shows_the_recorded_demo_while_models_load(toy, serve, open_page):
    toy.worker.loading = ("Loading bundled", 0.4)
    toy.warm()
    page = open_page(serve(toy))
    expect(page.locator(".ds-flow .ds-token").first).to_be_visible(timeout=15_000)
    expect(page.locator(".ds-bar-name")).to_have_text("Demo")
    expect(page.locator(".ds-status").first).to_have_text("recorded")
    expect(page.locator(".ds-warming")).to_contain_text("Loading bundled")
    expect(page.locator(".ds-warming progress")).to_have_js_property("value", 40)
    assert toy.store.number_of_sessions() == 0
    page.get_by_role("button", name="Compare", exact=True).click()
    expect(page.locator(".ds-metrics tbody tr")).to_have_count(3, timeout=15_000)
    page.get_by_role("button", name="Stats", exact=True).click()
    expect(page.locator(".ds-statcard").first).to_be_visible(timeout=15_000)
    toy.worker.loading = None
    expect(page.locator(".ds-warming")).to_be_hidden(timeout=15_000)
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator(".ds-bar-name")).to_have_text("#1", timeout=20_000)


def test_a_link_to_the_demo_opens_it_beside_real_sessions(shelf, serve, open_page):
    page = open_page(serve(shelf))
    shows(page, ["4", "3", "1", "2"])
    page.get_by_role("button", name="Recorded demo").click()
    expect(page.locator(".ds-bar-name")).to_have_text("Demo")
    page.wait_for_url(re.compile("s=0"))
    again = open_page(page.url)
    expect(again.locator(".ds-bar-name")).to_have_text("Demo", timeout=15_000)
    expect(again.locator(".ds-flow .ds-token").first).to_be_visible()
