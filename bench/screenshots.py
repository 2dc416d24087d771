"""Take the pictures in docs/screenshots from the running app on the bundled pair: they show what is there.

    python -m bench.screenshots [--prompt TEXT] [--seed N]

Each is a PNG of at most 256 colours. The session, and so each picture but for times, is always the same.
"""

from __future__ import annotations

import argparse
import io
import tempfile
from contextlib import closing
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from inspector import ui
from inspector.controller import Controller
from storage import Store
from tests.browser.conftest import chromium

OUT = Path(__file__).resolve().parent.parent / "docs" / "screenshots"
PROMPT = "Why is the sky blue? Answer in two sentences."
RULES = ("stochastic", "block", "typical")
MOST_BYTES = 250_000

#: name -> the link ({here}: the rejection, {lanes}: the session and its lanes), the window, the theme, and
#: what must be on the page first.
SHOTS = {
    "inspect": ("{here}", (1440, 900), "light", ".ds-card"),
    "inspect-dark": ("{here}", (1440, 900), "dark", ".ds-card"),
    "rules": ("{here}&pane=rules", (1440, 900), "light", "#ds-under table"),
    "laws": ("{here}&pane=laws", (1440, 900), "light", ".ds-lawbars"),
    "compare": ("{here}&view=compare&lanes={lanes}", (1440, 1000), "light", ".ds-stave .is-divergence"),
    "stats": ("{here}&view=stats", (1440, 1420), "light", ".is-stages .main-svg"),
    "lab": ("?view=lab", (1440, 1100), "light", ".ds-lab"),
    "tour": ("?tour=2", (1440, 900), "light", ".ds-tourkicker"),
    "faults": ("?view=faults", (1440, 1100), "dark", ".ds-faultwords"),
    "present": ("{here}&present=decision", (1280, 720), "light", ".ds-presentbar"),
    "narrow": ("{here}", (700, 1100), "light", ".ds-card"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--prompt", default=PROMPT)
    parser.add_argument("--seed", type=int, default=12)
    asked = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        Store.open(Path(folder) / "shots.sqlite") as store,
        closing(Controller(store)) as controller,
        sync_playwright() as playwright,
    ):
        session, lanes = sessions(controller, asked.prompt, asked.seed)
        place = rejection(controller, session)
        words = {
            "here": f"?s={session}&r={place[0]}&i={place[1]}",
            "lanes": ",".join(map(str, [session, *lanes])),
        }
        url = ui.launch(controller, wait=False)
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        for name, (link, size, theme, ready) in SHOTS.items():
            save(name, taken(opened(browser, url + link.format(**words), size, theme, ready)))
        exactness(browser, url)
        browser.close()


def sessions(controller: Controller, prompt: str, seed: int) -> tuple[int, list[int]]:
    """One session, its lanes under other rules, and two more so that the list is one."""
    form = controller.choices()["defaults"] | {"drafter": "self:4bit", "max_tokens": 64}
    older = controller.start(form | {"prompt": "Name three colours.", "drafter": "lookup", "max_tokens": 24})
    session = controller.start(form | {"prompt": prompt, "seed": seed})
    for one in (older, session):
        controller.wait(one)
    lanes = controller.rerun(session, list(RULES))
    for lane in lanes:
        controller.wait(lane)
    controller.library.change(session, {"title": "Sky", "starred": True, "tags": "physics"})
    controller.library.change(older, {"tags": "warm-up"})
    return session, lanes


def rejection(controller: Controller, session: int) -> tuple[int, int]:
    """The round and place of a rejection that shows much: behind accepted drafts, its coin not far off."""
    found = []
    for done in controller.all_rounds(session):
        n = done.verdict.n_accepted
        if 0 < n < done.block.k and done.verdict.checks[n].u is not None:
            check = done.verdict.checks[n]
            found.append((n < 2, abs(check.accept_prob - 0.4) + abs(check.u - 0.65), done.index, n))
    if not found:
        raise SystemExit("No draft was rejected after an accepted one: choose another seed.")
    return min(found)[2:]


def exactness(browser: Browser, url: str) -> None:
    """The exactness tab with a finished verification."""
    page = opened(browser, f"{url}?view=exactness", (1440, 1000), "light", ".ds-session")
    page.locator("[data-key='session-2']").click()
    page.get_by_role("button", name="Exactness", exact=True).click()
    page.get_by_role("button", name="Verify").click()
    page.locator(".ds-verdict").wait_for(timeout=600_000)
    save("exactness", taken(page))


def opened(browser: Browser, address: str, size: tuple[int, int], theme: str, ready: str) -> Page:
    page = browser.new_page(viewport={"width": size[0], "height": size[1]}, color_scheme=theme)
    page.goto(address)
    page.locator(ready).first.wait_for(timeout=60_000)
    return page


def taken(page: Page) -> bytes:
    page.mouse.move(0, 0)
    page.wait_for_timeout(1500)
    picture = page.screenshot()
    page.close()
    return picture


def save(name: str, picture: bytes) -> None:
    """Write a picture with as few colours as it needs, 256 at most."""
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    small = image.quantize(256, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    path = OUT / f"{name}.png"
    small.save(path, optimize=True)
    size = path.stat().st_size
    if size > MOST_BYTES:
        raise SystemExit(f"{path.name} has {size} bytes, more than {MOST_BYTES}.")
    print(f"{path.name}: {size} bytes")


if __name__ == "__main__":
    main()
