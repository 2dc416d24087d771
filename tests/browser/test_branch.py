"""Branching on the screen, in a real browser over the real controller and store: from a row and by typing."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.fake import IDS
from tests.browser.toy import run

pytestmark = pytest.mark.browser


@pytest.fixture
def page(toy, serve, open_page) -> Page:
    run(toy, prompt="Why is the sea blue?", max_tokens=24)
    page = open_page(serve(toy) + "?s=1&r=1&i=0")
    page.locator(".ds-rowpick").first.wait_for()
    return page


def branch_started(page: Page) -> None:
    expect(page.locator(".ds-origin")).to_contain_text("branch of #1", timeout=15_000)


def test_a_row_branches_only_once_its_button_is_pressed(toy, page):
    row = page.locator(".ds-pqtable .ds-rowpick").nth(1)
    row.click()
    expect(row).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".ds-branchtokens button")).to_have_count(1)
    row.click()
    expect(page.locator(".ds-branchtokens button")).to_have_count(0)
    assert toy.store.number_of_sessions() == 1


def test_a_branch_opens_says_where_it_comes_from_and_leads_back(toy, page):
    place = toy.store.rounds(1, 1, 2)[0].block.start
    page.locator(".ds-pqtable .ds-rowpick").nth(2).click()
    page.locator(".ds-branchtokens button").click()
    branch_started(page)
    toy.wait(2)
    child = toy.store.started(2)
    assert len(child.forced) == place + 1 and toy.store.session(2).parent_id == 1
    assert list(child.forced[:-1]) == toy.output(1)[:place]
    expect(page.locator(".ds-origin")).to_contain_text(f"at position {place}")
    expect(page.locator(".ds-given .is-chosen")).to_have_count(1)
    expect(page.locator(".ds-given .ds-token")).to_have_count(place + 1)
    page.locator(".ds-origin").get_by_role("button", name="#1", exact=True).click()
    expect(page.locator(".ds-bar-name")).to_have_text("#1")
    expect(page.locator(".ds-origin")).to_be_empty()


def test_a_typed_token_branches_from_the_keyboard(toy, page):
    page.get_by_label("Another token here").fill("cat")
    wanted = page.locator(".ds-branchtokens button")
    expect(wanted).to_have_text(re.compile("Branch here with .*cat"))
    page.get_by_label("Tokens in all").fill("12")
    wanted.focus()
    page.keyboard.press("Enter")
    branch_started(page)
    toy.wait(2)
    assert toy.store.started(2).forced[-1] == IDS[b" cat"]
    assert toy.store.session(2).max_tokens == 12


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (" cat sat", "2 tokens; a branch takes exactly one"),
        ("qqq", "no tokens of this tokenizer add up to it"),
        ("#99999", "There is no token #99999"),
    ],
)
def test_what_is_no_single_token_is_refused_in_a_sentence(toy, page, typed, said):
    page.get_by_label("Another token here").fill(typed)
    expect(page.locator(".ds-branch [role=status]")).to_contain_text(said)
    expect(page.locator(".ds-branchtokens button")).to_have_count(0)
    assert toy.store.number_of_sessions() == 1


def test_a_budget_that_leaves_nothing_is_refused_and_stores_nothing(toy, page):
    page.get_by_label("Another token here").fill("cat")
    page.get_by_label("Tokens in all").fill("1")
    page.locator(".ds-branchtokens button").click()
    expect(page.locator(".ds-error")).to_contain_text("max_tokens is 1")
    expect(page.locator(".ds-branchtokens button")).to_be_enabled()
    assert toy.store.number_of_sessions() == 1


def test_an_untested_draft_says_why_it_is_no_place_to_branch(toy, page):
    cut = next(done for done in toy.all_rounds(1) if done.n_tested < done.block.k)
    page.evaluate(f"history.pushState(null, '', '?s=1&r={cut.index}&i={cut.block.k - 1}')")
    page.evaluate("dispatchEvent(new PopStateEvent('popstate'))")
    expect(page.locator(".ds-branch")).to_contain_text("never tested")
    expect(page.locator(".ds-rowpick")).to_have_count(0)


def test_what_was_picked_does_not_outlive_its_place(toy, page):
    page.locator(".ds-pqtable .ds-rowpick").nth(1).click()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".ds-branchtokens button")).to_have_count(0)
    expect(page.locator(".ds-rowpick[aria-pressed=true]")).to_have_count(0)
