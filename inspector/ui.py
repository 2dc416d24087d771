"""The Gradio side of the screen: a form, one HTML component, and the tail that feeds it. No logic of its own.

The screen itself is the modules in assets/, served under SCREEN and mounted into the component. Runs belong
to the controller: a page only watches, so reloading it, or opening a second one, changes nothing.
"""

from __future__ import annotations

import html
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")

import gradio as gr
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.staticfiles import StaticFiles

from engine.errors import EngineError
from inspector import report
from inspector.tail import PAGE, Tails, encode, error_view

if TYPE_CHECKING:
    from inspector.controller import Controller

ASSETS = Path(__file__).resolve().parent.parent / "assets"
#: Where assets/ is served, below the app's root.
SCREEN = "screen"

ON_LOAD = f"""
const root = (window.gradio_config?.root ?? "").replace(/\\/+$/, "");
const base = root ? new URL(root, location.href).pathname.replace(/\\/+$/, "") : "";
const [{{ mount }}, {{ liveSource }}] = await Promise.all([
  import(`${{base}}/{SCREEN}/main.js`), import(`${{base}}/{SCREEN}/live.js`)]);
const follow = (sessions) => trigger("follow", {{ sessions }});
mount(element.querySelector(".ds-mount"), liveSource({{ props, server, watch, follow }}));
"""
ON_LOAD = f"(async () => {{{ON_LOAD}}})();"


def answers(work: Callable[[dict], object]) -> Callable[[dict], str]:
    """A server function: takes and returns JSON; an EngineError becomes {"error": ...}."""

    def answer(request: dict) -> str:
        try:
            return encode(work(request))
        except EngineError as error:
            return encode(error_view(error))

    answer.__name__ = work.__name__
    return answer


def server_functions(controller: Controller) -> list[Callable[[dict], str]]:
    """What the screen may ask for by itself."""

    def head(request: dict) -> dict:
        return controller.head(int(request["session"]))

    def rounds(request: dict) -> dict:
        lo = int(request["lo"])
        return controller.rounds(int(request["session"]), lo, min(int(request["hi"]), lo + PAGE))

    def sessions(request: dict) -> dict:
        return {"sessions": controller.sessions(search=str(request.get("search", "")))}

    def choices(request: dict) -> dict:
        return controller.choices()

    def rerun(request: dict) -> dict:
        return {"sessions": controller.rerun(int(request["session"]), list(request["rules"]))}

    def stop(request: dict) -> dict:
        controller.stop(int(request["session"]))
        return {}

    def laws(request: dict) -> dict:
        return controller.laws(int(request["session"]), int(request["round"]), int(request["pos"]))

    def position(request: dict) -> dict:
        place = (int(request[name]) for name in ("session", "round", "pos"))
        return report.position_object(controller, *place)

    return [answers(work) for work in (head, rounds, sessions, choices, rerun, stop, laws, position)]


def build(controller: Controller) -> gr.Blocks:
    """The page. Launch it with `launch`, or with `demo.launch(**launch_options())`."""
    tails = Tails(controller)
    choices = controller.choices()
    with gr.Blocks(title="Draftscope", analytics_enabled=False, fill_width=True) as demo:
        form, run = prompt_form(choices)
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
                return encode({"started": controller.start(dict(zip(form, values, strict=True)))})
            except EngineError as error:
                return tails.banner(error)

        async def follow(event: gr.EventData, request: gr.Request):
            sessions = [int(session) for session in event.sessions]
            try:
                async for delta in tails.follow(request.session_hash, sessions):
                    yield delta
            except EngineError as error:
                yield tails.banner(error)

        def leave(request: gr.Request) -> None:
            tails.forget(request.session_hash)

        quiet = {"show_progress": "hidden", "concurrency_limit": None, "api_visibility": "private"}
        gr.on([run.click, form["prompt"].submit], start, list(form.values()), inspector, **quiet)
        inspector.follow(follow, None, inspector, trigger_mode="multiple", **quiet)
        demo.unload(leave)
    return demo


def prompt_form(choices: dict) -> tuple[dict[str, gr.components.Component], gr.Button]:
    """Prompt, Run and the settings; the dict's keys are the form's names, in the order of the inputs."""
    defaults = choices["defaults"]
    rules = {rule["id"]: rule for rule in choices["rules"]}
    form: dict[str, gr.components.Component] = {}
    with gr.Row(elem_classes="ds-formrow", equal_height=True):
        gr.HTML("<h1>draftscope</h1>", elem_classes="ds-brand", apply_default_css=False)
        form["prompt"] = gr.Textbox(
            value=defaults["prompt"],
            placeholder="Ask the target model something",
            show_label=False,
            label="Prompt",
            container=False,
            lines=1,
            max_lines=6,
            scale=8,
            elem_id="prompt",
        )
        run = gr.Button("Run", variant="primary", scale=0, min_width=96, elem_id="run")
    with gr.Row(elem_classes="ds-settings"):
        form["rule"] = gr.Dropdown(
            [(f"{rule['title']} ({kind(rule)})", rule["id"]) for rule in rules.values()],
            value=defaults["rule"],
            label="Acceptance rule",
            scale=3,
            min_width=220,
            elem_id="rule",
        )
        form["drafter"] = gr.Dropdown(
            choices["drafters"],
            value=defaults["drafter"],
            label="Drafter",
            allow_custom_value=True,
            scale=2,
            min_width=150,
            elem_id="drafter",
        )
        form["k"] = number(defaults, "k", "Drafts, k", 0)
        form["temperature"] = number(defaults, "temperature", "Temperature, T", None, step=0.1)
        form["seed"] = number(defaults, "seed", "Seed", 0)
        form["max_tokens"] = number(defaults, "max_tokens", "Max tokens", 0)
    meaning = gr.HTML(meaning_of(rules[defaults["rule"]]), elem_classes="ds-meaning", apply_default_css=False)
    with (
        gr.Accordion("More settings", open=False, elem_classes="ds-more"),
        gr.Row(elem_classes="ds-settings"),
    ):
        form["target"] = gr.Dropdown(
            choices["targets"],
            value=defaults["target"],
            label="Target model",
            allow_custom_value=True,
            scale=2,
            min_width=200,
        )
        form["top_k"] = number(defaults, "top_k", "Top-k (0: off)", 0)
        form["top_p"] = number(defaults, "top_p", "Top-p (1: off)", None, step=0.05)
        form["min_p"] = number(defaults, "min_p", "Min-p (0: off)", None, step=0.01)
        form["stop"] = gr.Textbox(label="Stop string", value="", scale=1, min_width=110)
        form["raw"] = gr.Checkbox(label="Raw prompt, no chat template", value=defaults["raw"], min_width=200)
    form["rule"].change(
        lambda rule: meaning_of(rules[rule]),
        form["rule"],
        meaning,
        queue=False,
        show_progress="hidden",
        api_visibility="private",
    )
    return form, run


def number(defaults: dict, name: str, label: str, precision: int | None, step: float = 1) -> gr.Number:
    return gr.Number(
        value=defaults[name],
        label=label,
        precision=precision,
        step=step,
        scale=1,
        min_width=96,
        elem_id=name.replace("_", "-"),
    )


def kind(rule: dict) -> str:
    return "lossless" if rule["lossless"] else "faulty" if rule["faulty"] else "biased"


def meaning_of(rule: dict) -> str:
    """Our own words from the rule table, escaped all the same."""
    return f"{html.escape(rule['meaning'])} <code>{html.escape(rule['formula'])}</code>"


def assets_route() -> Route:
    """assets/ as it is on disk now: a browser asks again after an upgrade instead of mixing versions.

    A route, because a mount looks for its files below the root path that a proxy has cut off.
    """
    files = StaticFiles(directory=ASSETS)

    async def serve(request: Request) -> Response:
        path = os.path.normpath(request.path_params["path"])
        response = await files.get_response(path, request.scope)
        response.headers["Cache-Control"] = "no-cache"
        if path.endswith(".js"):  # whatever this machine's table of types says: modules need this one
            response.headers["Content-Type"] = "text/javascript; charset=utf-8"
        return response

    return Route(f"/{SCREEN}/{{path:path}}", serve)


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
        "head": f'<link rel="stylesheet" href="{SCREEN}/inspector.css">'
        f'<link rel="stylesheet" href="{SCREEN}/inspect.css">'
        f'<link rel="icon" type="image/svg+xml" href="{SCREEN}/icon.svg">',
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
        prevent_thread_lock=not wait,
        quiet=not wait,
        **launch_options(),
    )
    return url
