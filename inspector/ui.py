"""The Gradio side of the screen: a form, one HTML component, and the tail that feeds it. No logic of its own.

The screen itself is the modules in assets/, served as one script (screen/files.py) and mounted into the
component. Runs belong to the controller: a page only watches, so reloading it, or opening a second one,
changes nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")

import gradio as gr

from engine.errors import EngineError
from inspector import report
from inspector.lab import lab_functions
from inspector.screen import api
from inspector.screen.data_calls import data_functions
from inspector.screen.files import SCREEN, assets_route, head
from inspector.screen.lane_calls import lane_functions
from inspector.screen.library_calls import library_functions
from inspector.screen.pages import Pages
from inspector.screen.prompt_form import keep_typed, prompt_form
from inspector.screen.tail import Tails, encode, error_view
from inspector.standalone.static_page import ASSETS
from inspector.view_model import BARS

if TYPE_CHECKING:
    from inspector.controller import Controller


ON_LOAD = f"""
const root = (window.gradio_config?.root ?? "").replace(/\\/+$/, "");
const base = root ? new URL(root, location.href).pathname.replace(/\\/+$/, "") : "";
const {{ mount, liveSource, withDemo }} = await import(`${{base}}/{SCREEN}/screen.js`);
const follow = (sessions) => trigger("follow", {{ sessions }});
const reuse = (session) => trigger("reuse", {{ session }});
const live = liveSource({{ props, server, watch, follow, reuse, plotly: `${{base}}/{SCREEN}/plotly.js` }});
mount(element.querySelector(".ds-mount"), withDemo(live, `${{base}}/{SCREEN}/demo/demo.json`));
"""
ON_LOAD = f"(async () => {{{ON_LOAD}}})();"


def answers(work: Callable[[dict], object]) -> Callable[[dict], str]:
    """A server function: takes and returns JSON (a text is JSON already); an EngineError becomes
    {"error": ...}."""

    def answer(request: dict) -> str:
        try:
            found = work(request)
            return found if isinstance(found, str) else encode(found)
        except EngineError as error:
            return encode(error_view(error))

    answer.__name__ = work.__name__
    return answer


def server_functions(controller: Controller) -> list[Callable[[dict], str]]:
    """What the screen may ask for by itself."""

    def head(request: dict) -> dict:
        return controller.head(int(request["session"]))

    pages = Pages(controller)

    def rounds(request: dict) -> str:
        return pages.text(*(int(request[name]) for name in ("session", "lo", "hi")))

    def wide(request: dict) -> str:
        """One round with all the bars that a screen can show."""
        session, index = (int(request[name]) for name in ("session", "round"))
        return pages.text(session, index, index + 1, BARS)

    def choices(request: dict) -> dict:
        return controller.choices()

    def stop(request: dict) -> dict:
        controller.stop(int(request["session"]))
        return {}

    def laws(request: dict) -> dict:
        return controller.laws(int(request["session"]), int(request["round"]), int(request["pos"]))

    def position(request: dict) -> dict:
        place = (int(request[name]) for name in ("session", "round", "pos"))
        return report.position_object(controller, *place)

    own = (head, rounds, wide, choices, stop, laws, position, *lane_functions(controller))
    return [
        answers(work)
        for work in (*own, *library_functions(controller), *data_functions(controller), *lab_functions())
    ]


def build(controller: Controller) -> gr.Blocks:
    """The page. Launch it with `launch`, or with `demo.launch(**launch_options())`."""
    tails = Tails(controller)
    choices = controller.choices()
    with gr.Blocks(title="Draftscope", analytics_enabled=False, fill_width=True) as demo:
        form = prompt_form(choices, controller.own_rules)
        inspector = gr.HTML(
            None,
            html_template="<div class='ds-mount'></div>",
            js_on_load=ON_LOAD,
            apply_default_css=False,
            elem_id="inspector",
            server_functions=server_functions(controller),
        )

        def start(*values):
            try:
                return encode({"started": controller.start(form.values(values))})
            except EngineError as error:
                return tails.banner(error)

        async def follow(event: gr.EventData, request: gr.Request):
            sessions = [int(session) for session in event.sessions]
            try:
                async for delta in tails.follow(request.session_hash, sessions):
                    yield delta
            except EngineError as error:
                yield tails.banner(error)

        def reuse(event: gr.EventData):
            """The settings of a session, put into the form; what it has no field for is said."""
            try:
                settings, others = controller.library.settings(int(event.session))
            except EngineError as error:
                return [tails.banner(error), *(gr.skip() for _ in form.components)]
            return [tails.reused(int(event.session), others), *form.updates(settings)]

        def leave(request: gr.Request) -> None:
            tails.forget(request.session_hash)

        quiet = {"show_progress": "hidden", "concurrency_limit": None, "api_visibility": "private"}
        gr.on([form.run.click, form.fields["prompt"].submit], start, form.components, inspector, **quiet)
        inspector.reuse(reuse, None, [inspector, *form.components], **quiet)
        inspector.follow(follow, None, inspector, trigger_mode="multiple", **quiet)
        demo.unload(leave)
        keep_typed(demo, form)
        api.register(controller)
    return demo


def theme() -> gr.themes.Base:
    """Slate and paper, the machine's own fonts: colour is kept for the fates of tokens."""
    return gr.themes.Base(
        primary_hue=gr.themes.colors.slate,
        secondary_hue=gr.themes.colors.slate,
        neutral_hue=gr.themes.colors.slate,
        text_size=gr.themes.sizes.text_sm,
        spacing_size=gr.themes.sizes.spacing_sm,
        radius_size=gr.themes.sizes.radius_sm,
        font=["system-ui", "-apple-system", "Segoe UI", "sans-serif"],
        font_mono=["ui-monospace", "SF Mono", "Menlo", "Consolas", "DejaVu Sans Mono", "monospace"],
    )


def launch_options() -> dict:
    """Everything the page needs from launch(): its files, look and head."""
    return {
        "theme": theme(),
        "head": head(),  # its style sheets are those of static_page.STYLES
        "app_kwargs": {"routes": [assets_route()]},
        "favicon_path": ASSETS / "icon.svg",
        "footer_links": [],
        "run_history": False,
        "ssr_mode": False,
        "enable_monitoring": False,
    }


def launch(
    controller: Controller,
    host: str = "127.0.0.1",
    port: int | None = None,
    root_path: str | None = None,
    in_browser: bool = False,
    wait: bool = True,
) -> str:
    """Serve the page; returns its address. With wait=False the server runs on in the background."""
    demo = build(controller)
    _, url, _ = demo.launch(
        server_name=host,
        server_port=port,
        root_path=root_path,
        inbrowser=in_browser,
        prevent_thread_lock=True,
        quiet=True,
        **launch_options(),
    )
    if wait:
        print(f"Draftscope is at {url} (Ctrl-C ends it)", flush=True)
        demo.block_thread()
    return url
