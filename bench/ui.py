"""How quick the screen is, in Chromium on this machine: first content, opening a long session, scrubbing in
it, and the way from the server's yield to paint at ten rounds a second.

    python -m bench.ui [--rounds 3000] [--seconds 8]

Sessions come from the real loop over toy models, so no model's time is in the numbers. The budgets are for
two cores with the browser beside the server.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from contextlib import closing
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from bench import long_session
from inspector import ui
from inspector.controller import Controller
from inspector.screen import tail
from inspector.view_model import FIRST_BARS
from storage import Store
from tests.browser.conftest import chromium
from tests.browser.toy import ToyWorker

#: What may be, in milliseconds.
BUDGETS = {
    "first content after the server answers": 1500,
    "long session usable after its click": 1000,
    "scrub p50": 50,
    "yield to paint p95": 100,
}
SCRUBS = 120

#: Resolves with the milliseconds from an action to the frame that shows it.
TIMED = """async ([action, seen]) => {
    const look = new Function('return ' + seen);
    const begun = performance.now();
    new Function(action)();
    for (;;) {
        await new Promise((done) => requestAnimationFrame(done));
        if (look()) break;
    }
    await new Promise((done) => setTimeout(done));  // after this frame's paint
    return performance.now() - begun;
}"""

SINCE_ANSWER = "performance.now() - performance.getEntriesByType('navigation')[0].responseStart"

#: Notes when each number of rounds was on the page, in the clock that Python has too.
WATCH = """() => {
    window.painted = {};
    let last = -1;
    const look = () => {
        const n = document.querySelectorAll('.ds-flow .ds-round').length;
        if (n !== last) {
            last = n;
            setTimeout(() => (window.painted[n] = Date.now()));  // after this frame's paint
        }
        requestAnimationFrame(look);
    };
    look();
}"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=3000)
    parser.add_argument("--seconds", type=float, default=8.0)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        found = {**empty(browser, Path(folder)), **long(browser, Path(folder), asked.rounds)}
        found |= live(browser, Path(folder), asked.seconds)
        browser.close()
    print(table(found))


def opened(browser, url: str) -> Page:
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(url)
    page.locator(".ds").wait_for()
    return page


def served(folder: Path, name: str, worker: ToyWorker) -> tuple[Controller, Store, str]:
    store = Store.open(folder / name)
    controller = Controller(store, worker)
    return controller, store, ui.launch(controller, wait=False)


def empty(browser, folder: Path) -> dict[str, float]:
    """The first start: an empty database, the recorded demo."""
    controller, store, url = served(folder, "empty.sqlite", ToyWorker())
    with store, closing(controller):
        times = []
        for _ in range(3):
            page = opened(browser, url)
            page.locator(".ds-flow .ds-token").first.wait_for()
            times.append(page.evaluate(SINCE_ANSWER))
            page.close()
    return {"first content after the server answers": min(times)}


def long(browser, folder: Path, rounds: int) -> dict[str, float]:
    """A long session: its click, all of it, and jumps in it."""
    session = long_session.write(folder / "long.sqlite", rounds)
    controller, store, url = served(folder, "long.sqlite", ToyWorker())
    with store, closing(controller):
        page = opened(browser, url)
        page.locator(f"[data-key='session-{session}']").wait_for()
        click = f"document.querySelector('[data-key=\"session-{session}\"]').click()"
        usable = "document.querySelector('.ds-flow .ds-token') && document.querySelector('.ds-decision h3')"
        out = {"long session usable after its click": page.evaluate(TIMED, [click, usable])}
        begun = time.perf_counter()
        page.wait_for_function(f"document.querySelectorAll('.ds-round').length === {rounds}", timeout=120_000)
        out["all of it on the page"] = out["long session usable after its click"] + 1e3 * (
            time.perf_counter() - begun
        )
        times = [scrub(page, (37 * i * rounds // SCRUBS) % rounds) for i in range(SCRUBS)]
        out |= {"scrub p50": statistics.median(times), "scrub p95": percentile(times, 95)}
        size = len(tail.encode(controller.rounds(session, 0, 100, FIRST_BARS))) / 100
        out["kilobytes a round, wide rows"] = size / 1e3
        page.close()
        far = opened(browser, f"{url}?s={session}&r={rounds - 1}")
        far.locator(".ds-place", has_text=f"round {rounds - 1} ").wait_for(timeout=60_000)
        out["a link to its last round, after the server answers"] = far.evaluate(SINCE_ANSWER)
        far.close()
    return out


def scrub(page: Page, index: int) -> float:
    """A jump to a round on the timeline, until the decision shows it."""
    token = f"document.querySelector('.ds-flow [data-round=\"{index}\"]').click()"
    seen = f"document.querySelector('.ds-decision .ds-place').textContent.startsWith('round {index} ')"
    return page.evaluate(TIMED, [token, seen])


def live(browser, folder: Path, seconds: float) -> dict[str, float]:
    """A run of ten rounds a second with its bars drawn: from each yield to its paint."""
    yields: dict[int, float] = {}
    sizes: list[int] = []
    follow = tail.Tails.follow

    async def noted(self, page, sessions):
        async for delta in follow(self, page, sessions):
            for update in json.loads(delta).get("updates", ()):
                if "rounds" in update:
                    yields[update["n"]] = 1e3 * time.time()
                    sizes.append(len(delta) // len(update["rounds"]))
            yield delta

    tail.Tails.follow = noted
    controller, store, url = served(folder, "live.sqlite", ToyWorker(pace=0.1))
    try:
        with store, closing(controller):
            page = opened(browser, url)
            page.evaluate(WATCH)
            form = controller.choices()["defaults"] | {"prompt": "Run", "max_tokens": 4000}
            session = controller.start(form)
            page.goto(f"{url}?s={session}")
            page.locator(".ds").wait_for()
            page.evaluate(WATCH)
            page.wait_for_timeout(1e3 * seconds)
            controller.stop(session)
            painted = {int(n): at for n, at in page.evaluate("window.painted").items()}
            page.close()
    finally:
        tail.Tails.follow = follow
    times = [painted[n] - at for n, at in yields.items() if n in painted]
    return {
        "deltas measured": float(len(times)),
        "yield to paint p50": statistics.median(times),
        "yield to paint p95": percentile(times, 95),
        "kilobytes a round, live": statistics.mean(sizes) / 1e3,
    }


def percentile(values: list[float], percent: int) -> float:
    return sorted(values)[min(len(values) - 1, len(values) * percent // 100)]


def table(found: dict[str, float]) -> str:
    """A Markdown table; times in milliseconds."""
    lines = ["| what | measured | budget |", "|---|---|---|"]
    for name, value in found.items():
        budget = BUDGETS.get(name)
        unit = "" if "kilobytes" in name or "measured" in name else " ms"
        shown = f"{value:.1f}" if value < 100 and unit == "" else f"{value:.0f}"
        word = "" if budget is None else f"{budget} ms{'' if value <= budget else ', over'}"
        lines.append(f"| {name} | {shown}{unit} | {word} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
