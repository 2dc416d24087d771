"""A stranger's first minute, on the real pair: run, watch, open a rejected token, compare rules."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.waiting import pick_rules

pytestmark = [pytest.mark.browser, pytest.mark.model]
LOADING = 120_000  # ms: the models may load while the page waits


def setting(page: Page, name: str, value: str) -> None:
    page.locator(f"#{name} input").fill(value)


def test_run_inspect_and_compare_on_the_bundled_pair(bundled_controller, serve, open_page, reload):
    page = open_page(serve(bundled_controller))
    page.locator("#prompt textarea, #prompt input").first.fill("Name three colours.")
    setting(page, "max-tokens", "16")
    setting(page, "seed", "3")
    page.get_by_role("button", name="Run", exact=True).click()
    status = page.locator(".ds-status").first
    expect(status).to_have_text(re.compile("^finished"), timeout=LOADING)
    session = int(re.search(r"s=(\d+)", page.url)[1])
    rounds = bundled_controller.all_rounds(session)
    tokens = [token for done in rounds for token in done.emitted]
    assert 0 < len(tokens) <= 16

    rejected = next((r for r in rounds if r.verdict.next_source == "corrected"), None)
    assert rejected is not None, "seed 3 rejects a draft; if the models changed, choose another seed"
    i = rejected.verdict.n_accepted
    page.locator(f".ds-flow .is-rejected[data-round='{rejected.index}'][data-pos='{i}']").click()
    panel = page.locator(".ds-decision")
    expect(panel.locator(".ds-badge").first).to_have_text("rejected")
    expect(panel).to_contain_text(f"u = {rejected.verdict.checks[i].u:.3g}")
    expect(panel).to_contain_text(f"{rejected.verdict.mass:.3g}")

    page.get_by_role("button", name="Compare").click()
    pick_rules(page, "stochastic", "sampler-match")
    page.get_by_role("button", name="Re-run under these rules").click()
    expect(page.get_by_text("reproduced", exact=True)).to_be_visible(timeout=LOADING)
    lanes = bundled_controller.lanes(
        session, [child.id for child in bundled_controller.store.children(session)]
    )
    assert {lane["rule"]: lane.get("reproduced") for lane in lanes} == {
        "stochastic": True,
        "sampler-match": None,
    }
    reload(page)
    expect(page.get_by_text("reproduced", exact=True)).to_be_visible(timeout=LOADING)
