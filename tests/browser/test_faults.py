"""Faults of other screens, looked for on ours in a real browser."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from engine.rules import RULES
from tests.browser.fake import IDS, FakeController

pytestmark = pytest.mark.browser
FORM = FakeController().choices()["defaults"] | {"stop": ""}
EMITTED = ("accepted", "corrected", "bonus")


def test_the_bar_names_the_rule_that_ran_the_one_asked_for_and_why(controller, serve, open_page):
    """For every lossless rule, at temperature 0 and at top-k 1; nothing is said where none was replaced."""
    asked = [
        (rule.id, settings, why)
        for rule in RULES.values()
        if rule.lossless and not rule.greedy_only
        for settings, why in (({"temperature": 0}, "Temperature is 0"), ({"top_k": 1}, "Top-k is 1"))
    ]
    sessions = [controller.finished(rule=rule_id, max_tokens=3, **more) for rule_id, more, _ in asked]
    plain = controller.finished(max_tokens=3)
    page = open_page(f"{serve(controller)}?s={plain}")
    expect(page.locator(".ds-round")).not_to_have_count(0)
    expect(page.locator(".ds-reason")).to_be_hidden()
    for session, (rule_id, _, why) in zip(sessions, asked, strict=True):
        page.locator(f"[data-key=session-{session}]").click()
        expect(page.locator(".ds-bar-name")).to_have_text(f"#{session}")
        reason = page.locator(".ds-reason")
        expect(reason).to_contain_text(f"Ran greedy-argmax instead of {rule_id}. {why}: ")
        expect(page.locator(".ds-bar-what")).to_contain_text("greedy-argmax")


def test_every_draft_keeps_its_place_and_fate_beside_what_replaced_it(controller, serve, open_page):
    """Token for token: the accepted, the rejected, the corrected beside it, the untested behind, each by its
    round and place, however often the same word stands elsewhere."""
    session = controller.finished(max_tokens=48)
    page = open_page(f"{serve(controller)}?s={session}")
    rounds = controller.all[session].rounds
    expect(page.locator(".ds-round")).to_have_count(len(rounds))
    shown = page.locator(".ds-flow .ds-token").evaluate_all(
        "tokens => tokens.map((t) => [Number(t.dataset.round), Number(t.dataset.pos), [...t.classList]"
        ".find((name) => /^is-(accepted|rejected|untested|corrected|bonus)$/.test(name)).slice(3)])"
    )
    expected = []
    for done in rounds:
        k, n = done.block.k, done.verdict.n_accepted
        places = [(i, done.fate(i)) for i in range(k)]
        if done.verdict.next_token is not None:
            places.insert(min(n + 1, k), (k, done.verdict.next_source))
        expected += [[done.index, pos, fate] for pos, fate in places]
    assert shown == expected
    assert any(fate == "untested" for *_, fate in shown)
    assert sum(fate in EMITTED for *_, fate in shown) == 48
    words = page.locator(".ds-flow .ds-token .ds-piece").all_inner_texts()
    assert len(words) > 2 * len(set(words)), "the same words stand in many places"


def test_a_newline_is_a_glyph_and_every_token_has_its_id(controller, serve, open_page):
    """Newlines where a token holds one, and the id of each listed token."""
    session = controller.finished(max_tokens=120, temperature=0.7)
    page = open_page(f"{serve(controller)}?s={session}")
    newline = page.locator(".ds-flow .ds-token", has_text="⏎").first
    expect(newline).to_be_visible()
    newline.click()
    row = page.locator(".ds-pqtable tbody tr.is-marked", has_text="⏎").first
    newlines = [token for piece, token in IDS.items() if b"\n" in piece]
    expect(row).to_have_attribute("title", re.compile(rf"^id ({'|'.join(map(str, newlines))})\b"))
    titles = page.locator(".ds-pqtable tbody tr:not(.is-rest)").evaluate_all(
        "rows => rows.map((r) => r.title)"
    )
    assert titles and all(title.startswith("id ") for title in titles)


def test_after_a_stop_every_probability_is_still_there(controller, serve, open_page):
    """Stop in the middle, open the page anew: numbers, or "<0.01 %", never a blank."""
    controller.hold(6)
    session = controller.start(FORM)
    controller.until(lambda: controller.count(session)[0] == 6)
    controller.stop(session)
    page = open_page(f"{serve(controller)}?s={session}")
    expect(page.locator(".ds-status").first).to_have_text("stopped by you")
    for token in page.locator(".ds-flow .ds-token").all()[:12]:
        token.click()
        numbers = page.locator(".ds-pqtable .ds-number").all_inner_texts()[2:]
        assert numbers and all(text.strip() for text in numbers)
        assert any("%" in text for text in numbers)
    texts = page.locator(".ds-pqtable .ds-number").all_inner_texts()
    assert "0.00 %" not in texts
