"""Chromium on a page of our own: a page error, a console error or an outside request fails the test."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import gradio as gr
import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, sync_playwright

from inspector import ui
from inspector.controller import Controller
from tests.browser.fake import FakeController
from tests.browser.toy import open_toy

pytestmark = pytest.mark.browser
LOCAL_SCHEMES = ("data", "blob", "about")


def chromium() -> str | None:
    """CHROMIUM, else a chromium on the path, best the one without a window; None: Playwright's own."""
    names = ("chromium-headless-shell", "chromium", "chromium-browser")
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser a module: Playwright's loop runs until it is closed, and no other can run beside it."""
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        yield started
        started.close()


@contextmanager
def serving() -> Iterator[Callable[..., str]]:
    served: list[gr.Blocks] = []

    def start(controller: object, root_path: str | None = None) -> str:
        demo = ui.build(controller)
        _, url, _ = demo.launch(
            server_name="127.0.0.1",
            prevent_thread_lock=True,
            quiet=True,
            root_path=root_path,
            **ui.launch_options(),
        )
        served.append(demo)
        return url

    try:
        yield start
    finally:
        for demo in served:
            demo.close()


@pytest.fixture
def serve() -> Iterator[Callable[..., str]]:
    """serve(controller, root_path) -> address; closed after the test."""
    with serving() as start:
        yield start


@pytest.fixture(scope="module")
def serve_for_all() -> Iterator[Callable[..., str]]:
    """The same for tests that change nothing: closed after the last test of the module."""
    with serving() as start:
        yield start


@pytest.fixture(scope="module")
def demo_url(serve_for_all, tmp_path_factory) -> Iterator[str]:
    """The address of an inspector without sessions, which shows the recorded demo."""
    with open_toy(tmp_path_factory.mktemp("demo") / "toy.sqlite") as controller:
        yield serve_for_all(controller)


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Callable[..., Page]]:
    """open_page(url) -> a page with the screen mounted. What goes wrong on any page fails the test."""
    contexts, faults = [], []

    def start(url: str, **options: object) -> Page:
        context = browser.new_context(viewport={"width": 1440, "height": 900}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: faults.append(f"page error: {error}"))
        page.on(
            "console", lambda message: ours(message) and faults.append(f"{message.text} {message.location}")
        )
        page.on("request", lambda request: leaves(request.url) and faults.append(f"request to {request.url}"))
        page.goto(url)
        page.locator(".ds").wait_for(timeout=30_000)
        return page

    yield start
    for context in contexts:
        context.close()
    assert not faults, "\n".join(map(str, faults))


@pytest.fixture
def reload() -> Callable[[Page], None]:
    """reload(page) in the middle of a stream. Gradio's own client calls the cut connection an error."""

    def again(page: Page) -> None:
        page.evaluate("console.error = () => {}")
        page.reload()

    return again


#: What Gradio's own client says when a page is left while it streams.
LEAVING = ("AbortError: signal is aborted", "Unexpected error Connection errored out.")


def ours(message: ConsoleMessage) -> bool:
    """A console error, unless it is about a file that Gradio, or the browser, wants without the root path,
    or about a page that was left in the middle of a stream."""
    elsewhere = message.location.get("url", "").endswith(("/manifest.json", "/favicon.ico"))
    left = message.text.startswith(LEAVING)
    return message.type == "error" and not elsewhere and not left


def leaves(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme not in LOCAL_SCHEMES and parts.hostname not in ("127.0.0.1", "localhost")


@pytest.fixture
def controller() -> FakeController:
    return FakeController(pace=0.01)


@pytest.fixture
def toy(tmp_path) -> Iterator[Controller]:
    """The real controller over a database of its own, on the toy pair: no model is loaded."""
    with open_toy(tmp_path / "toy.sqlite") as controller:
        yield controller
