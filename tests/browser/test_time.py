"""Moving through a session in a real browser: every key, every breakpoint, playing, following, lanes."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from engine.core import rows
from engine.core.events import Round
from engine.rules import RULES
from tests.browser.fake import END, PIECES, FakeController

pytestmark = pytest.mark.browser
FORM = FakeController().choices()["defaults"] | {"stop": ""}
Place = tuple[int, int]


@pytest.fixture(scope="module")
def ran() -> FakeController:
    controller = FakeController()
    controller.finished()
    return controller


@pytest.fixture(scope="module")
def url(ran, serve_for_all) -> str:
    return serve_for_all(ran)


@pytest.fixture
def open_at(ran, url, open_page) -> Callable[[str], Page]:
    def start(link: str) -> Page:
        page = open_page(f"{url}?s=1&{link}")
        last = len(ran.all[1].rounds) - 1
        expect(page.locator(".ds-where")).to_have_text(re.compile(rf"round \d+ of {last}"))
        return page

    return start


def place(page: Page) -> Place:
    found = re.search(r"r=(\d+)&i=(\d+)", page.url)
    return int(found[1]), int(found[2])


def lands(page: Page, wanted: Place) -> None:
    page.wait_for_url(re.compile(rf"r={wanted[0]}&i={wanted[1]}(&|$)"))


def keys(page: Page) -> list[dict]:
    """The table of keys that the page itself uses."""
    return page.evaluate("import('/screen/parts/keys.js').then(({ KEYS }) => KEYS)")


# Keys


def test_every_key_has_a_button_that_names_it(ran, url, open_page):
    lanes = ran.rerun(1, ["stochastic", "sampler-match"])
    ran.ended(*lanes)
    page = open_page(f"{url}?s=1&r=3&i=0&u=0.2&view=compare&lanes=1,{lanes[0]},{lanes[1]}")
    expect(page.locator(".ds-metrics tbody tr")).to_have_count(3, timeout=20_000)
    expect(page.locator(".ds-badge.is-hypothetical")).to_be_visible()
    page.get_by_role("button", name="Slow motion").click()
    titles = page.evaluate(
        "[...document.querySelectorAll('.ds button')].map((one) => one.title || one.innerText)"
    )
    named = {key for title in titles for key in re.findall(r"\(([^()]+)\)$", title)}
    wanted = {entry["shown"] for entry in keys(page)} - {"1 – 9", "s", "Esc"} | {"1", "2", "3"}
    assert wanted <= named, f"no button for {sorted(wanted - named)}"


def test_every_key_does_what_its_line_says(ran, open_at):
    page = open_at("r=0&i=0")
    rounds = ran.all[1].rounds
    last = len(rounds) - 1
    rejecting = [
        (one.index, one.verdict.n_accepted) for one in rounds if one.verdict.n_accepted < one.block.k
    ]
    bonus = [(one.index, one.block.k) for one in rounds if one.verdict.next_source == "bonus"]
    tried = set()

    def press(key: str) -> None:
        tried.add(key.removeprefix("Shift+"))
        page.keyboard.press(key)

    def walk(key: str, wanted: Place) -> None:
        press(key)
        lands(page, wanted)

    walk("ArrowRight", (0, 1))
    walk("ArrowLeft", (0, 0))
    press("Shift+ArrowRight")
    expect(page.locator(".ds-where")).to_have_text(f"round 1 of {last}")
    press("Shift+ArrowLeft")
    expect(page.locator(".ds-where")).to_have_text(f"round 0 of {last}")
    press("End")
    expect(page.locator(".ds-where")).to_have_text(f"round {last} of {last}")
    press("Home")
    expect(page.locator(".ds-where")).to_have_text(f"round 0 of {last}")
    after = [at for at in rejecting if at > place(page)]
    walk("n", after[0])
    walk("n", after[1])
    walk("p", after[0])
    walk("]", after[1])
    walk("[", after[0])
    following = [at for at in bonus if at > after[0]]
    walk("b", following[0])
    walk("b", following[1])
    walk("Shift+B", following[0])
    press("d")
    expect(page.locator(".ds-notice")).to_contain_text("No divergence")
    press("Shift+D")
    press(".")
    expect(page.locator(".ds-stage")).to_contain_text("1 of")
    press(".")
    expect(page.locator(".ds-stage")).to_contain_text("2 of")
    press(",")
    expect(page.locator(".ds-stage")).to_contain_text("1 of")
    press("f")
    expect(page.get_by_role("button", name="Follow")).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".ds-where")).to_have_text(f"round {last} of {last}")
    press("f")
    press("g")
    expect(page.get_by_label("Position or round")).to_be_focused()
    press("Escape")
    expect(page.get_by_label("Position or round")).to_be_hidden()
    press("/")
    expect(page.get_by_label("Text or /regex/ to find")).to_be_focused()
    press("Escape")
    press("t")
    expect(page.locator(".ds-roundtable")).to_be_visible()
    press("t")
    expect(page.locator(".ds-roundtable")).to_be_hidden()
    for key in ("l", "j"):
        press(key)
        expect(page.locator(".ds-notice")).to_have_text(re.compile("Copied|clipboard"))
    press("?")
    expect(page.locator(".ds-help")).to_be_visible()
    press("Escape")
    expect(page.locator(".ds-help")).to_be_hidden()
    press("Home")
    press(" ")
    expect(page.get_by_role("button", name="Pause", exact=True)).to_be_visible()
    press(" ")
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
    press("Shift+P")
    expect(page.get_by_role("toolbar", name="Presenting")).to_be_visible()
    press("Escape")
    expect(page.get_by_role("toolbar", name="Presenting")).to_be_hidden()
    # Lanes have a test of their own; the star belongs to the list of sessions.
    left = {entry["key"] for entry in keys(page)} - tried - set("123456789") - {"s"}
    assert not left, f"keys that no line here tries: {sorted(left)}"


def test_the_help_sheet_shows_every_key_and_can_switch_single_keys_off(open_at):
    page = open_at("r=2&i=0")
    page.keyboard.press("?")
    shown = page.locator(".ds-help kbd").all_inner_texts()
    assert shown == list(dict.fromkeys(entry["shown"] for entry in keys(page)))
    page.get_by_label("Single keys work").uncheck()
    page.keyboard.press("Escape")
    expect(page.locator(".ds-help")).to_be_hidden()
    page.keyboard.press("n")
    page.keyboard.press("End")
    page.wait_for_timeout(300)
    assert place(page) == (2, 0)
    page.keyboard.press("?")
    expect(page.locator(".ds-help")).to_be_visible()
    page.get_by_label("Single keys work").check()
    page.keyboard.press("Escape")
    expect(page.locator(".ds-help")).to_be_hidden()
    page.keyboard.press("Home")
    expect(page.locator(".ds-where")).to_contain_text("round 0")


def test_keys_are_letters_inside_inputs_and_arrows_inside_sliders(open_at):
    page = open_at("r=2&i=0")
    page.locator("#prompt textarea").press("n")
    page.locator(".ds-breakvalue.is-text").fill("b")
    page.locator(".ds-dart [role=slider]").first.press("ArrowRight")
    page.wait_for_timeout(300)
    assert place(page) == (2, 0)


def test_numbers_open_lanes_and_d_finds_where_they_part(serve, open_page):
    controller = FakeController()
    controller.finished()
    lanes = controller.rerun(1, ["stochastic", "sampler-match"])
    controller.ended(*lanes)
    outputs = [[t for one in controller.all[i].rounds for t in one.emitted] for i in (1, lanes[1])]
    parted = next(i for i, (a, b) in enumerate(zip(*outputs, strict=False)) if a != b)
    page = open_page(f"{serve(controller)}?s=1&r=0&i=0&view=compare&lanes=1,{lanes[0]},{lanes[1]}")
    expect(page.locator(".ds-metrics")).to_contain_text(f"diverges at position {parted}", timeout=20_000)
    page.keyboard.press("3")
    page.wait_for_url(re.compile(f"s={lanes[1]}&"))
    page.keyboard.press("1")
    page.wait_for_url(re.compile("s=1&"))
    page.keyboard.press("Home")
    assert parted > 0
    page.keyboard.press("d")
    expect(page.locator(".ds-place")).to_contain_text(f"position {parted}")
    expect(page.locator(".ds-pair[aria-label=divergence]")).to_be_visible()


def test_every_number_from_one_to_nine_opens_its_lane(serve, open_page):
    controller = FakeController()
    lanes = [controller.finished(max_tokens=12, seed=seed) for seed in range(9)]
    page = open_page(f"{serve(controller)}?s=1&view=compare&lanes={','.join(map(str, lanes))}")
    expect(page.locator(".ds-bar-name")).to_have_text("#1", timeout=20_000)
    for number in (*range(2, 10), 1):
        page.keyboard.press(str(number))
        expect(page.locator(".ds-bar-name")).to_have_text(f"#{lanes[number - 1]}")
        expect(page).to_have_url(re.compile(rf"s={lanes[number - 1]}&"))


# Breakpoints


def each(rounds: list[Round]) -> list[tuple[Round, int]]:
    """Every tested draft and every token that follows, in reading order."""
    return [
        (one, i)
        for one in rounds
        for i in [*range(one.n_tested), *([one.block.k] if one.verdict.next_token is not None else [])]
    ]


def draft(one: Round, i: int) -> bool:
    return i < one.block.k


def entropy(one: Round, i: int) -> float:
    if draft(one, i):
        return one.measures[i].entropy_p
    return one.entropy_bonus if one.verdict.next_source == "bonus" else 0.0


def outcomes(one: Round) -> int:
    lines = {line.rule: (line.n_accepted, line.next_token) for line in one.matrix}
    alike = {"gumbel", "fault-softmax-q", "fault-raw-q", "greedy-argmax"}
    own = lines["stochastic"]
    return sum(outcome != own for rule, outcome in lines.items() if rule not in alike)


def token(one: Round, i: int) -> int:
    return one.block.tokens[i] if draft(one, i) else one.verdict.next_token


#: id -> (how it is written in a link, the same condition over events)
CONDITIONS: dict[str, tuple[str, Callable[[Round, int], bool]]] = {
    "rejection": ("rejection", lambda one, i: i == one.verdict.n_accepted < one.block.k),
    "accepted": ("accepted", lambda one, i: i == one.block.k > 0 and one.verdict.n_accepted == i),
    "near": (
        "near:0.1",
        lambda one, i: (
            draft(one, i) and abs(one.verdict.checks[i].u - one.verdict.checks[i].accept_prob) < 0.1
        ),
    ),
    "ratio": ("ratio:0.3", lambda one, i: draft(one, i) and one.block.p_of(i) / one.block.q_of(i) < 0.3),
    "tv": ("tv:0.35", lambda one, i: draft(one, i) and 1 - one.measures[i].overlap > 0.35),
    "mass": (
        "mass:0.4",
        lambda one, i: i == one.verdict.n_accepted < one.block.k and (one.verdict.mass or 0) > 0.4,
    ),
    "entropy": ("entropy:1", lambda one, i: entropy(one, i) > 1),
    "tops": (
        "tops",
        lambda one, i: draft(one, i) and rows.argmax(one.block.p[i]) != rows.argmax(one.block.q[i]),
    ),
    "text": (
        "text&brktext=cat",
        lambda one, i: (i < one.verdict.n_accepted or not draft(one, i)) and b"cat" in PIECES[token(one, i)],
    ),
    "special": ("special", lambda one, i: token(one, i) == END),
    "degenerate": ("degenerate", lambda one, i: one.verdict.degenerate and i == one.verdict.n_accepted),
    "disagree": ("disagree:9", lambda one, i: i == one.block.k and outcomes(one) >= 9),
    "rescued": ("rescued", lambda one, i: i < one.verdict.n_accepted and one.own[i] != one.block.tokens[i]),
}


@pytest.mark.parametrize("name", CONDITIONS)
def test_a_breakpoint_runs_forwards_and_back(ran, open_at, name):
    written, holds = CONDITIONS[name]
    wanted = [(one.index, i) for one, i in each(ran.all[1].rounds) if holds(one, i)]
    page = open_at(f"r=0&i=0&brk={written}")
    expect(page.locator(f"[data-break={name}]")).to_be_checked()
    expect(page.locator(".ds-breakfoot .ds-facts")).to_have_text(
        f"{len(wanted)} place{'' if len(wanted) == 1 else 's'}"
    )
    ahead = [at for at in wanted if at > (0, 0)]
    for at in ahead[:3]:
        page.keyboard.press("]")
        lands(page, at)
    for at in reversed(ahead[:2]):
        page.keyboard.press("[")
        lands(page, at) if len(ahead) > 2 else None
    if not ahead:
        page.keyboard.press("]")
        expect(page.locator(".ds-notice")).to_contain_text("No breakpoint after")


def test_every_breakpoint_is_tried_here(open_at):
    page = open_at("r=0&i=0")
    known = page.evaluate("import('/screen/time/breaks.js').then(({ BREAKS }) => Object.keys(BREAKS))")
    assert set(known) == {*CONDITIONS, "divergence"}, "divergence is tried with lanes"
    assert page.locator("[data-break]").count() == len(known)


def test_breakpoints_combine(ran, open_at):
    _, steep = CONDITIONS["ratio"]
    _, apart = CONDITIONS["tv"]
    both = [(one.index, i) for one, i in each(ran.all[1].rounds) if steep(one, i) and apart(one, i)]
    either = [(one.index, i) for one, i in each(ran.all[1].rounds) if steep(one, i) or apart(one, i)]
    assert 0 < len(both) < len(either)
    page = open_at("r=0&i=0&brk=ratio:0.3,tv:0.35")
    expect(page.locator(".ds-breakfoot .ds-facts")).to_have_text(f"{len(either)} places")
    page.get_by_label("How breakpoints combine").select_option("1")
    expect(page.locator(".ds-breakfoot .ds-facts")).to_contain_text(str(len(both)))
    page.get_by_label("Breakpoint after this").click()
    lands(page, next(at for at in both if at > (0, 0)))


def test_a_threshold_is_typed_and_switches_its_breakpoint_on(ran, open_at):
    page = open_at("r=0&i=0&brk=")
    expect(page.locator(".ds-breakfoot .ds-facts")).to_have_text("none chosen")
    page.keyboard.press("]")
    expect(page.locator(".ds-notice")).to_contain_text("No breakpoint is chosen")
    page.get_by_label("TV >").fill("0.35")
    expect(page.locator("[data-break=tv]")).to_be_checked()
    n = sum(CONDITIONS["tv"][1](one, i) for one, i in each(ran.all[1].rounds))
    expect(page.locator(".ds-breakfoot .ds-facts")).to_have_text(f"{n} places")
    page.get_by_label("TV >").fill("7")
    expect(page.locator(".ds-breakfoot .ds-facts")).to_have_text(f"{n} places")
    assert page.get_by_label("TV >").get_attribute("aria-invalid") is not None


def test_playing_stops_at_a_breakpoint(ran, open_at):
    wanted = next(
        at for at in ((o.index, i) for o, i in each(ran.all[1].rounds) if CONDITIONS["rescued"][1](o, i))
    )
    before = (max(0, wanted[0] - 1), 0)
    page = open_at(f"r={before[0]}&i=0&brk=rescued&brkpause=1")
    page.get_by_label("Speed of playing").select_option("8")
    page.get_by_role("button", name="Play", exact=True).click()
    expect(page.locator(".ds-notice")).to_have_text("Paused at a breakpoint.", timeout=15_000)
    assert place(page) == wanted or page.wait_for_url(re.compile(rf"r={wanted[0]}&i={wanted[1]}")) is None
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()


def test_following_stops_at_a_breakpoint_while_the_run_goes_on(serve, open_page):
    controller = FakeController(pace=0.03)
    controller.hold(2)
    session = controller.start(FORM)
    page = open_page(f"{serve(controller)}?s={session}&brk=accepted&brkpause=1")
    expect(page.locator(".ds-where")).to_contain_text("round 1", timeout=20_000)
    controller.release()
    expect(page.locator(".ds-status").first).to_have_text("finished: 64 tokens", timeout=20_000)
    rounds = controller.all[session].rounds
    first = next(one for one in rounds[2:] if one.verdict.n_accepted == one.block.k)
    expect(page.locator(".ds-notice")).to_contain_text("the run goes on")
    expect(page.locator(".ds-where")).to_have_text(f"round {first.index} of {len(rounds) - 1}")
    expect(page.get_by_role("button", name="Follow")).to_have_attribute("aria-pressed", "false")


def test_playing_waits_at_the_end_of_a_live_run(serve, open_page):
    controller = FakeController()
    controller.hold(2)
    session = controller.start(FORM)
    page = open_page(f"{serve(controller)}?s={session}&r=0&i=0")
    expect(page.locator(".ds-where")).to_have_text("round 0 of 1", timeout=20_000)
    page.get_by_label("Speed of playing").select_option("8")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Play", exact=True).click()
    expect(page.locator(".ds-where")).to_have_text("round 1 of 1", timeout=10_000)
    controller.release()
    expect(page.locator(".ds-where")).to_have_text(re.compile(r"round ([2-9]|\d\d) of \d\d"), timeout=10_000)


def test_a_rule_that_weighs_the_block_can_be_watched_in_slow_motion(serve, open_page):
    controller = FakeController()
    controller.finished(rule="block")
    assert RULES["block"].looks_ahead
    page = open_page(f"{serve(controller)}?s=1&r=1&stage=0&i=0")
    k = controller.all[1].rounds[1].block.k
    expect(page.locator(".ds-card.is-blank")).to_have_count(k)
    for _ in range(2 * k):
        page.keyboard.press(".")
    expect(page.locator(".ds-card.is-drafted")).to_have_count(0)
    expect(page.locator(".ds-stage")).to_contain_text(f"test {k}")
