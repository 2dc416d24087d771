"""Compare in a real browser: lanes of every kind, why they part, the table, and a link that keeps it all."""

from __future__ import annotations

import csv
import io
import json
import re
from contextlib import closing
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from engine.core import branch, replay
from engine.rules import RULES
from inspector import lane_tables, view_model
from inspector.lane_lines import COLUMNS
from tests.browser.fake import FakeController
from tests.browser.toy import open_toy, run
from tests.browser.waiting import pick_rules

pytestmark = pytest.mark.browser
FIVE = ["stochastic", "sampler-match", "block", "lenient", "fault-shared-coin"]


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    """A session, five re-runs of it, a branch and the branch's re-run."""
    with open_toy(tmp_path_factory.mktemp("compare") / "toy.sqlite") as controller:
        session = run(controller, max_tokens=48, seed=3, top_p=0.95, drafter="lookup")
        for child in controller.rerun(session, FIVE):
            controller.wait(child)
        branched = controller.branch(session, 4, " cat")
        controller.wait(branched)
        (grandchild,) = controller.rerun(branched, ["block"])
        controller.wait(grandchild)
        yield controller


@pytest.fixture
def at(toy, serve, open_page):
    """at(query) -> the page of session 1 under Compare."""
    base = serve(toy)

    def open_it(query: str) -> Page:
        page = open_page(f"{base}?s=1&view=compare&{query}")
        expect(page.locator(".ds-metrics tbody tr").first).to_be_visible(timeout=20_000)
        return page

    return open_it


#: Lanes, one of them under a rule that is faulty on purpose.
ALL = "lanes=1,2,3,4,5,6"


def lanes_of(page: Page) -> list[str]:
    return parse_qs(urlsplit(page.url).query)["lanes"][0].split(",")


def parted(controller, a: int, b: int) -> int | None:
    return replay.first_divergence(controller.output(a), controller.output(b))


def test_six_lanes_are_aligned_and_each_first_divergence_is_marked(toy, at):
    page = at(f"{ALL}&r=0&i=0")
    rows = page.locator(".ds-metrics tbody tr")
    expect(rows).to_have_count(6, timeout=20_000)
    for i, lane in enumerate([2, 3, 4, 5, 6], 1):
        place = parted(toy, 1, lane)
        text = f"diverges at position {place}" if place is not None else "same tokens"
        expect(rows.nth(i)).to_contain_text(text)
        marks = page.locator(f".ds-stave .is-divergence[data-key^='lane-{lane}-']")
        expect(marks).to_have_count(0 if place is None else 1)
        if place is not None:
            assert marks.first.get_attribute("data-at") == str(place)
    expect(rows.nth(1)).to_contain_text("reproduced", timeout=20_000)
    assert page.get_by_text("reproduced", exact=True).count() == 1
    tokens = page.locator(".ds-stave .ds-token[data-key^='lane-3-']")
    assert tokens.count() == len(toy.output(3))


def test_one_cursor_walks_in_all_lanes_and_numbers_jump(at):
    page = at(f"{ALL}&r=1&i=0")
    here = page.locator(".ds-stave .ds-token.is-here")
    expect(here).to_have_count(6, timeout=20_000)
    place = here.first.get_attribute("data-at")
    assert {one.get_attribute("data-at") for one in here.all()} == {place}
    for n in (4, 6, 2, 1):
        page.keyboard.press(str(n))
        page.wait_for_url(re.compile(rf"[?&]s={n}&"))
        current = page.locator(".ds-stave [aria-current=true]")
        expect(current).to_have_count(1)
        expect(current).to_have_attribute("data-key", f"lane-{n}-{place}")
    page.locator(".ds-stave .ds-token[data-key='lane-5-7']").click()
    page.wait_for_url(re.compile("[?&]s=5&"))
    expect(page.locator(".ds-stave .ds-stave-at.is-here")).to_have_text("7")


def test_the_reason_is_built_from_the_stored_numbers(toy, at):
    page = at(f"{ALL}&against=3&r=0&i=0")
    panel = page.locator(".ds-why")
    place = parted(toy, 1, 3)
    expect(panel).to_contain_text(f"at position {place}", timeout=20_000)
    rounds = {
        lane: next(
            done
            for done in toy.all_rounds(lane)
            if done.block.start <= place < done.block.start + len(done.emitted)
        )
        for lane in (1, 3)
    }
    for column, lane in enumerate((1, 3), 1):
        done = rounds[lane]
        i = place - done.block.start
        cell = lambda name: panel.locator(  # noqa: E731
            f"tr:has(th:text-is('{name}')) td:nth-child({column + 1})"  # noqa: B023
        )
        if i < done.block.k:
            check = done.verdict.checks[i]
            expect(cell("outcome")).to_have_text("kept" if i < done.verdict.n_accepted else "rejected")
            tossed = RULES[toy.store.session(lane).rule].id != "sampler-match"
            expect(cell("coin u")).to_have_text(f"{check.u:.3g}" if tossed else "no coin")
    panel.get_by_label("Lane to hold against the baseline").select_option("5")
    page.wait_for_url(re.compile("against=5"))
    expect(panel).to_contain_text(f"at position {parted(toy, 1, 5)}")
    panel.get_by_role("button", name=re.compile("Go to position")).click()
    expect(page.locator(".ds-stave .ds-stave-at.is-here")).to_have_text(str(parted(toy, 1, 5)))


def test_differences_only_leaves_out_what_is_alike(toy, at):
    page = at("lanes=1,2,5&r=0&i=0")
    outputs = [toy.output(lane) for lane in (1, 2, 5)]
    whole = sum(map(len, outputs))
    expect(page.locator(".ds-stave .ds-token")).to_have_count(whole, timeout=20_000)
    page.get_by_label("differences only").check()
    page.wait_for_url(re.compile("diff=1"))
    expect(page.locator(".ds-lane-gap").first).to_be_attached()
    differs = [
        at
        for at in range(len(outputs[0]))
        if any(at < len(one) and one[at] != outputs[0][at] for one in outputs[1:])
    ]
    shown = {int(one.get_attribute("data-at")) for one in page.locator(".ds-stave .ds-token").all()}
    assert set(differs) <= shown and len(shown) < len(outputs[0])
    assert page.locator(".ds-stave .ds-token").count() < whole
    left = len(outputs[0]) - len(shown)
    gaps = [int(text.split()[0]) for text in page.locator(".ds-lane-gap").all_inner_texts() if text]
    assert sum(gaps) == left


def test_lanes_are_reordered_dropped_and_added_and_the_link_keeps_them(toy, at, open_page):
    page = at("lanes=1,2,3,4&r=0&i=0")
    page.get_by_role("button", name="Move down: sampler-match").click()
    page.wait_for_url(re.compile("lanes=1,2,4,3"))
    page.get_by_role("button", name="Make the baseline: block").click()
    page.wait_for_url(re.compile("lanes=4,1,2,3"))
    rows = page.locator(".ds-metrics tbody tr")
    expect(rows.first).to_contain_text("block")
    expect(rows.first).to_contain_text("baseline")
    expect(page.get_by_text("reproduced", exact=True)).to_have_count(0)
    page.get_by_role("button", name="Take this lane away: stochastic").last.click()
    page.wait_for_url(re.compile("lanes=4,1,3"))
    page.locator(".ds-chooser > summary").click()
    page.get_by_label("A session of this prompt to add as a lane").select_option("6")
    page.wait_for_url(re.compile("lanes=4,1,3,6"))
    again = open_page(page.url)
    expect(again.locator(".ds-metrics tbody tr")).to_have_count(4, timeout=20_000)
    assert [text.split(" #")[0] for text in again.locator(".ds-metrics tbody th").all_inner_texts()] == [
        "block",
        "stochastic",
        "sampler-match",
        "fault-shared-coin",
    ]


def test_parameters_drafters_and_k_make_lanes_of_their_own(serve, open_page):
    controller = FakeController()
    session = controller.finished()
    page = open_page(f"{serve(controller)}?s={session}&view=compare")
    pick_rules(page, "lenient")
    field = page.get_by_label("Lenience: leniency")
    field.fill("7")
    assert field.get_attribute("aria-invalid") is not None
    field.fill("0.4")
    assert field.get_attribute("aria-invalid") is None
    ks = page.get_by_label("Values of k, with commas between")
    ks.fill("2, x")
    expect(page.get_by_role("button", name="Re-run under these rules")).to_be_disabled()
    ks.fill("2, 6")
    expect(page.locator(".ds-chooser .ds-hint").first).to_have_text("2 lanes beside the baseline")
    expect(page.get_by_role("button", name="Re-judge, no model")).to_be_disabled()
    page.get_by_role("button", name="Re-run under these rules").click()
    expect(page.locator(".ds-metrics tbody tr")).to_have_count(3, timeout=20_000)
    asked = [controller.all[child].started for child in (session + 1, session + 2)]
    assert [(one.rule, one.params, one.k) for one in asked] == [
        ("lenient", {"leniency": 0.4}, 2),
        ("lenient", {"leniency": 0.4}, 6),
    ]
    expect(page.locator(".ds-metrics tbody th").nth(2)).to_contain_text("lenient 0.4, k 6")


def test_eight_lanes_are_the_most(at):
    page = at("lanes=1,2,3,4,5,6,7,8&r=0&i=0")
    expect(page.locator(".ds-metrics tbody tr")).to_have_count(8, timeout=20_000)
    page.locator(".ds-chooser > summary").click()
    expect(page.locator(".ds-chooser")).to_contain_text("8 lanes are the most: take one away first.")
    expect(page.get_by_role("button", name="Re-run under these rules")).to_be_disabled()


def test_a_re_judged_lane_ends_where_it_parts_and_is_never_taken_for_a_run(toy, at, open_page):
    page = at("lanes=1,5&r=0&i=0")
    sessions = toy.store.number_of_sessions()
    page.locator(".ds-chooser > summary").click()
    pick_rules(page, "argmax", "stochastic")
    page.get_by_role("button", name="Re-judge, no model").click()
    rows = page.locator(".ds-metrics tbody tr")
    expect(rows).to_have_count(4, timeout=20_000)
    assert toy.store.number_of_sessions() == sessions, "nothing ran and nothing was stored"
    lane, own = toy.rejudged(1, ["argmax", "stochastic"])["lanes"]
    expect(rows.nth(2)).to_contain_text("re-judged")
    expect(rows.nth(2)).to_contain_text("confirmed")
    assert own["line"]["reproduced"] is True
    judged = rows.nth(3)
    expect(judged).to_contain_text(f"ends here: {lane['line']['reason']}")
    tokens = page.locator(".ds-stave .ds-token[data-key^='lane-1~argmax-']")
    emitted = sum(view["emitted"] for view in lane["rounds"])
    expect(tokens).to_have_count(emitted)
    hatched = page.locator(".ds-lane-hatched")
    assert hatched.count() == len(toy.output(1)) - emitted
    expect(hatched.first).to_have_text("needs a run")
    expect(page.locator(".ds-numbers thead")).to_contain_text("re-judged")
    expect(page.locator("tr[data-column=ms_per_token] td").last).to_have_text("–")
    page.wait_for_url(re.compile("1~argmax"))
    again = open_page(page.url)
    expect(again.locator(".ds-metrics tbody tr")).to_have_count(4, timeout=20_000)
    expect(again.locator(".ds-metrics tbody tr").nth(3)).to_contain_text("ends here")
    again.keyboard.press("4")
    again.wait_for_url(re.compile(r"against=1~argmax"))
    expect(again.locator(".ds-why select")).to_have_value("1~argmax")
    again.get_by_role("button", name="Re-run argmax to go on").click()
    expect(again.locator("tr[data-lane='1~argmax']")).to_have_count(0, timeout=20_000)
    again.wait_for_url(re.compile(r"lanes=1,5,1~stochastic,\d+(&|$)"))
    expect(again.locator(".ds-metrics tbody tr .ds-kind").last).to_contain_text("re-run")
    child = toy.store.children(1)[-1].id
    assert lanes_of(again) == ["1", "5", "1~stochastic", str(child)]
    toy.wait(child)
    assert (
        toy.output(child)[:emitted]
        == [token for done in toy.all_rounds(child) for token in done.emitted][:emitted]
    )


def test_a_branch_begins_with_the_tokens_it_was_given(toy, at):
    page = at("lanes=1,7&r=0&i=0")
    given = toy.store.started(7).forced
    forced = page.locator(".ds-stave .ds-token.is-forced")
    expect(forced).to_have_count(len(given), timeout=20_000)
    assert [int(one.get_attribute("data-at")) for one in forced.all()] == list(range(len(given)))
    whole = branch.output(toy.store.started(7), toy.all_rounds(7))
    expect(page.locator(".ds-stave .ds-token[data-key^='lane-7-']")).to_have_count(len(whole))
    row = page.locator(".ds-metrics tbody tr").nth(1)
    expect(row).to_contain_text("branch")
    expect(row).to_contain_text(f"diverges at position {len(given) - 1}")
    expect(page.locator(".ds-why")).to_contain_text("was given, not generated")
    grandchild = page.locator(".ds-sessionrows li[data-depth='2']")
    expect(grandchild).to_have_count(1)
    expect(grandchild).to_contain_text("#8")


def number(text: str) -> float | None:
    return None if text == "" else float(text)


def test_the_table_is_the_core_s_and_goes_out_as_csv_and_markdown(toy, at):
    page = at(f"{ALL},1~argmax&r=0&i=0")
    lines = [*toy.compared([1, 2, 3, 4, 5, 6])["lines"], toy.rejudged(1, ["argmax"])["lanes"][0]["line"]]
    expect(page.locator(".ds-numbers thead th")).to_have_count(7, timeout=20_000)
    for column in COLUMNS:
        cells = page.locator(f"tr[data-column={column['id']}] td")
        for i, line in enumerate(lines):
            missing = line["cells"][column["id"]]["value"] is None
            assert (cells.nth(i).inner_text() == "–") == missing, (column["id"], i)
    with page.expect_download() as started:
        page.get_by_role("button", name="Export as CSV").click()
    assert started.value.suggested_filename == "draftscope-compare-1.csv"
    shown, wanted = started.value.path().read_text("utf-8"), lane_tables.as_csv(lines)
    there, here = (list(csv.DictReader(io.StringIO(text))) for text in (shown, wanted))
    assert list(there[0]) == list(here[0]) and len(there) == 7
    for row, core in zip(there, here, strict=True):
        for name, value in core.items():
            measured = any(name.startswith(column["id"]) for column in COLUMNS)
            assert number(row[name]) == number(value) if measured else row[name] == value, name
    with page.expect_download() as started:
        page.get_by_role("button", name="Export as Markdown").click()
    assert started.value.path().read_text("utf-8") == lane_tables.as_markdown(lines)


def test_every_pair_of_rules_gets_a_reason_that_its_rounds_bear_out(serve, open_page):
    """The panel's own module over real rounds of every rule, on both sides."""
    controller = FakeController()
    session = controller.finished(max_tokens=40)
    names = [rule.id for rule in RULES.values() if not rule.greedy_only]
    children = [controller.rerun(session, [name])[0] for name in names]
    controller.ended(*children)
    sessions = [
        {
            "id": child,
            "head": controller.head(child),
            "rounds": [view_model.round_view(done) for done in controller.all[child].rounds],
        }
        for child in children
    ]
    page = open_page(f"{serve(controller)}?s={session}")
    found = page.evaluate(
        """async (sessions) => {
          const { whyTheyPart } = await import("/screen/compare/why.js");
          const { firstDivergence, output } = await import("/screen/compare/align.js");
          const out = [];
          for (const a of sessions) for (const b of sessions) {
            const at = firstDivergence(output(a), output(b));
            if (at !== null) out.push({ a: a.id, b: b.id, at, ...whyTheyPart(a, b, at) });
          }
          return out;
        }""",
        sessions,
    )
    outputs = {
        child: [t for done in controller.all[child].rounds for t in done.emitted] for child in children
    }
    kinds = set()
    assert len(found) > 200
    for one in found:
        kinds.add(one["kind"])
        a, b = one["sides"]
        assert [a["token"], b["token"]] == [outputs[one["a"]][one["at"]], outputs[one["b"]][one["at"]]]
        assert a["token"] != b["token"]
        told = "".join(part if isinstance(part, str) else "<token>" for part in one["sentence"])
        assert "undefined" not in told and "NaN" not in told and "null" not in told, told
        assert f"position {one['at']}" in told
        if one["sameCoin"]:
            assert a["draft"]["u"] == b["draft"]["u"] and a["draft"]["x"] == b["draft"]["x"]
        if one["kind"] == "coin":
            assert (a["fate"] == "accepted") != (b["fate"] == "accepted")
            assert one["sameDraft"]
        named = {part["token"] for part in one["sentence"] if isinstance(part, dict)}
        assert named <= {side["token"] for side in (a, b)} | {
            token
            for side in (a, b)
            if side["draft"]
            for token in (side["draft"]["x"], side["draft"]["own"]["token"])
        }
    assert {"coin", "draw", "drafts", "rounds"} <= kinds


def test_the_static_page_has_the_lanes_and_the_table(toy, browser, tmp_path):
    path = tmp_path / "compare.html"
    path.write_text(toy.export_html(1, [2, 3, 4]), "utf-8")
    with closing(browser.new_context(viewport={"width": 1440, "height": 900})) as context:
        page = context.new_page()
        faults = []
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.goto(path.as_uri())
        expect(page.locator(".ds-metrics tbody tr")).to_have_count(4)
        expect(page.locator(".ds-metrics")).to_contain_text("reproduced")
        expect(page.locator(".ds-numbers thead th")).to_have_count(4)
        page.get_by_role("button", name="Take this lane away: block").click()
        expect(page.locator(".ds-numbers thead th")).to_have_count(3)
        with page.expect_download() as started:
            page.get_by_role("button", name="Export as CSV").click()
        rows = list(csv.DictReader(io.StringIO(started.value.path().read_text("utf-8"))))
        assert [row["session"] for row in rows] == ["1", "2", "3"]
        expect(page.locator(".ds-why")).to_contain_text("at position")
        assert not faults


@pytest.mark.model
def test_compare_on_the_bundled_pair(bundled_controller, serve, open_page):
    form = bundled_controller.choices()["defaults"] | {"prompt": "Name three colours.", "max_tokens": 10}
    session = bundled_controller.start(form | {"seed": 3})
    bundled_controller.wait(session)
    lanes = bundled_controller.rerun(
        session, ["stochastic", "sampler-match", {"rule": "lenient", "params": {"leniency": 0.4}}, {"k": 2}]
    )
    for lane in lanes:
        bundled_controller.wait(lane)
    ids = ",".join(map(str, [session, *lanes]))
    page = open_page(
        f"{serve(bundled_controller)}?s={session}&view=compare&lanes={ids},{session}~block&r=0&i=0"
    )
    expect(page.locator(".ds-metrics tbody tr")).to_have_count(6, timeout=60_000)
    expect(page.get_by_text("reproduced", exact=True)).to_be_visible(timeout=60_000)
    expect(page.locator(".ds-numbers tbody tr")).to_have_count(len(COLUMNS) + 1)
    place = parted(bundled_controller, session, lanes[1])
    assert place is not None, "seed 3 parts them; if the models changed, choose another seed"
    page.keyboard.press("3")
    expect(page.locator(".ds-whysentence")).to_contain_text(f"at position {place}")
    lines = bundled_controller.compared([session, *lanes])["lines"]
    assert lines[0]["cells"]["law_tv"]["value"] == pytest.approx(0, abs=1e-9)
    assert lines[3]["cells"]["law_tv"]["value"] > 0
    json.dumps(lines, allow_nan=False)
