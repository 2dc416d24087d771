"""The Data view in a real browser over the real controller and store: files out and in, and SQL."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from inspector.controller import Controller
from storage import Store
from storage.queries import QUERIES
from tests.browser.toy import open_toy, run

pytestmark = pytest.mark.browser


@pytest.fixture
def toy(tmp_path) -> Iterator[Controller]:
    """A session, a re-run and a branch of it."""
    with open_toy(tmp_path / "toy.sqlite") as controller:
        first = run(controller, prompt="Why is the sea blue?", max_tokens=24)
        for child in (controller.rerun(first, ["block"])[0], controller.branch(first, 3, " cat")):
            controller.wait(child)
        yield controller


@pytest.fixture
def page(toy, serve, open_page) -> Page:
    page = open_page(serve(toy) + "?s=1&view=data")
    expect(page.locator(".ds-data .ds-facts").first).to_contain_text("3 sessions")
    return page


def downloaded(page: Page, button: str) -> Path:
    with page.expect_download() as coming:
        page.locator(".ds-share").get_by_role("button", name=button, exact=True).click()
    return Path(coming.value.path()).rename(
        Path(coming.value.path()).with_name(coming.value.suggested_filename)
    )


def what(page: Page, words: str) -> None:
    page.get_by_label("What to export").select_option(label=words)


def test_it_says_where_the_file_lies_and_how_to_open_it(toy, page):
    expect(page.locator(".ds-datacommands")).to_contain_text(str(toy.store.path))
    expect(page.locator(".ds-datacommands")).to_contain_text("datasette ")


def test_a_page_for_other_machines_names_no_path(toy, serve, open_page):
    toy.own_rules = False
    page = open_page(serve(toy) + "?s=1&view=data")
    expect(page.locator(".ds-datawhere")).to_contain_text("the machine that serves this page")
    assert str(toy.store.path) not in page.locator(".ds").inner_text()


def test_an_exported_family_comes_in_again_equal_and_labelled(toy, page, tmp_path):
    what(page, "session #1 and all that was made from it")
    file = downloaded(page, "JSON Lines")
    assert file.name == "draftscope-1-and-2-more.jsonl"
    page.locator(".ds-drop input[type=file]").set_input_files(file)
    expect(page.locator(".ds-importresult")).to_contain_text("is in: #4, #5, #6", timeout=15_000)
    for old, new in ((1, 4), (2, 5), (3, 6)):
        assert toy.store.events(old) == toy.store.events(new)
    assert [toy.store.session(i).parent_id for i in (4, 5, 6)] == [None, 4, 4]
    page.locator(".ds-importresult").get_by_role("button", name="#6", exact=True).click()
    expect(page.locator(".ds-origin")).to_contain_text("branch of #4 at position 3")
    expect(page.locator(".ds-origin")).to_contain_text("imported")
    expect(page.locator("[data-key='session-4']")).to_contain_text("imported")


def test_the_lanes_of_compare_go_out_as_lanes(toy, serve, open_page, tmp_path):
    """In a page all of them; a re-judged lane is no session, so JSON Lines leave it out."""
    page = open_page(serve(toy) + "?s=1&view=compare&lanes=1,1~lenient:leniency=0.4,3")
    page.locator(".ds-tabs [data-view=data]").click()
    what(page, "the 3 lanes of Compare: #1, lenient re-judged, #3")
    with Store.open(tmp_path / "other.sqlite") as other:
        assert other.import_sessions(downloaded(page, "JSON Lines").read_bytes()) == [1, 2]
        assert (other.session(2).parent_id, other.session(2).relation) == (1, "branch")
    html = downloaded(page, "Page").read_text("utf-8")
    recording = html.split('id="recording">')[1].split("</script>")[0]
    assert json.loads(recording)["first"]["lanes"] == [1, "1~lenient:leniency=0.4", 3]
    (answer,) = toy.rejudged(1, [{"rule": "lenient", "params": {"leniency": 0.4}}])["lanes"]
    assert json.loads(recording)["judged"]["1~lenient:leniency=0.4"]["line"] == answer["line"]


def test_a_dropped_file_is_taken_in(toy, page):
    data = toy.export_jsonl(1).decode()
    drop(page, "one.jsonl", data)
    expect(page.locator(".ds-importresult")).to_contain_text("one.jsonl is in: #4", timeout=15_000)


def drop(page: Page, name: str, data: str) -> None:
    page.evaluate(
        """([name, data]) => {
            const dataTransfer = new DataTransfer();
            dataTransfer.items.add(new File([data], name));
            document.querySelector(".ds-drop")
                .dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }));
        }""",
        [name, data],
    )


#: What a file is spoilt by -> what is said of it.
SPOILT = {
    "no-json": (lambda data: b"hello\n", "Line 1: It is not JSON."),
    "cut": (lambda data: data[:-20], "cut off here"),
    "changed": (lambda data: data.replace(b'"n_accepted":', b'"n_accepted":1', 1), "Line "),
    "empty": (lambda data: b"", "empty.jsonl was not taken in."),
}


def test_a_file_that_is_not_sound_is_refused_and_changes_nothing(toy, page, tmp_path):
    stored = "SELECT count(*), sum(length(body)) FROM events"
    before = toy.store.query(stored)
    for name, (spoil, said) in SPOILT.items():
        bad = tmp_path / f"{name}.jsonl"
        bad.write_bytes(spoil(toy.export_jsonl(1)))
        page.locator(".ds-drop input[type=file]").set_input_files(bad)
        refusal = page.locator(".ds-refusal")
        expect(refusal).to_contain_text(f"{name}.jsonl", timeout=15_000)
        expect(refusal).to_contain_text(said)
        expect(refusal).to_contain_text("Nothing was changed.")
        assert toy.store.query(stored) == before
    assert toy.store.number_of_sessions() == 3


def test_the_sheet_exports_too(toy, page):
    page.locator("[data-key='more-3']").click()
    sheet = page.locator("dialog.ds-sheet")
    with page.expect_download() as coming:
        sheet.get_by_role("button", name="JSON Lines", exact=True).click()
    assert coming.value.suggested_filename == "draftscope-3.jsonl"
    expect(sheet.locator(".ds-sheetexport [role=status]")).to_contain_text("draftscope-3.jsonl, ")


def answered(page: Page, sql: str) -> None:
    box = page.get_by_label("A question in SQL")
    box.fill(sql)
    box.press("Control+Enter")


def test_each_query_of_the_menu_is_answered(toy, page):
    menu = page.get_by_label("A question to start from")
    for title in QUERIES:
        menu.select_option(label=title)
        page.locator(".ds-sql").get_by_role("button", name="Ask", exact=True).click()
        rows = len(toy.sql(QUERIES[title])["rows"])
        expect(page.locator(".ds-sql .ds-actions [role=status]")).to_contain_text(f"{rows} row")


def test_a_number_of_a_session_leads_there_and_a_round_into_it(toy, page):
    answered(page, "SELECT session_id, 2 AS round, NULL AS empty FROM events WHERE session_id = 2 LIMIT 1")
    expect(page.locator(".ds-null")).to_have_text("null")
    page.locator(".ds-answer").get_by_title("Open session 2 at round 2").click()
    expect(page.locator(".ds-bar-name")).to_have_text("#2")
    expect(page.locator(".ds-round.is-current")).to_be_visible()
    assert "r=2" in page.evaluate("new Promise((done) => setTimeout(() => done(location.search), 400))")


UNANSWERED = {
    "DELETE FROM sessions": "The query does something else than read.",
    "SELECT missing FROM sessions": "no such column",
    "SELECT 1; SELECT 2": "more than one statement",
}


def test_a_question_that_cannot_be_answered_says_why(toy, page):
    for sql, said in UNANSWERED.items():
        answered(page, sql)
        expect(page.locator(".ds-sql .ds-refusal")).to_contain_text(said)
    assert toy.store.number_of_sessions() == 3


def test_what_a_cell_says_is_text(toy, page):
    answered(page, "SELECT '<img src=x onerror=window.pwned=1>' AS markup")
    expect(page.locator(".ds-answer td")).to_have_text("<img src=x onerror=window.pwned=1>")
    assert page.evaluate("window.pwned") is None


def test_many_rows_are_shown_when_asked_for(toy, page):
    answered(
        page, "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n LIMIT 300) SELECT i FROM n"
    )
    expect(page.locator(".ds-answer tbody tr")).to_have_count(200)
    page.get_by_role("button", name="Show all rows").click()
    expect(page.locator(".ds-answer tbody tr")).to_have_count(300)


def compared(page: Page, **changes: str) -> None:
    seeds = page.locator(".ds-seeds")
    fields = {"Rules, the first is the baseline": "stochastic,block", "Seeds": "0:2", "Max tokens": "8"}
    for label, value in (fields | changes).items():
        seeds.get_by_label(label).fill(value)
    seeds.get_by_role("button", name="Start", exact=True).click()


def test_rules_are_compared_over_seeds_and_the_table_is_the_command_lines(toy, page):
    compared(page)
    expect(page.locator(".ds-seeds [role=status]")).to_have_text("4 runs", timeout=30_000)
    status = toy.comparisons.status(1)
    assert status["complete"] and not status["running"]
    expect(page.locator(".ds-score")).to_have_count(len(status["scores"]))
    lines = page.locator(".ds-score").first.locator("tbody tr")
    first, second = (rule["scores"]["tokens_per_target_pass"] for rule in status["rules"])
    expect(lines.nth(0)).to_contain_text(f"{first['mean']['mean']:.4f}")
    expect(lines.nth(1)).to_contain_text(f"{abs(second['difference']['mean']):.4f}")
    compared(page, Seeds="0:3")
    expect(page.locator(".ds-seeds [role=status]")).to_have_text(
        "6 runs, 4 of them stored before", timeout=30_000
    )


def test_a_comparison_can_be_stopped_and_goes_on(toy, page):
    toy.worker.pace = 0.05
    compared(page, Seeds="0:30")
    expect(page.locator(".ds-seeds [role=status]")).to_contain_text("under way", timeout=15_000)
    page.reload()
    page.locator(".ds-seeds").get_by_role("button", name="Stop", exact=True).click()
    expect(page.locator(".ds-seeds [role=status]")).to_contain_text("Start goes on.", timeout=30_000)
    assert not toy.comparisons.status(1)["complete"]


#: (field, value) -> what is said of it.
NOT_COMPARED = {
    ("Rules, the first is the baseline", "stochastic,nope"): "'nope'",
    ("Rules, the first is the baseline", "./rule.py"): "rule.py",
    ("Seeds", "a:b"): "seeds is 'a:b'",
    ("Rules, the first is the baseline", "lenient:leniency=9"): "leniency",
    ("Prompts, one on each line", " \n"): "There is no prompt.",
}


def test_what_cannot_be_compared_is_refused_in_a_sentence(toy, page):
    for (field, value), said in NOT_COMPARED.items():
        compared(page, **{field: value})
        expect(page.locator(".ds-seeds .ds-refusal")).to_contain_text(said)
        expect(page.locator(".ds-seeds").get_by_role("button", name="Start", exact=True)).to_be_enabled()
    assert toy.store.number_of_sessions() == 3
