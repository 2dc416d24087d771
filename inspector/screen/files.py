"""The screen's own files as the page gets them: the modules in one script, the styles in one sheet.

Both are made at the first request and again when a file has changed, so that editing one needs no restart.
The modules themselves are served beside them, for the source map.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.staticfiles import StaticFiles

from inspector.standalone.bundle import BundleError, module
from inspector.standalone.static_page import ASSETS, STYLES, styles

#: Where the files are served, below the app's root.
SCREEN = "screen"
#: What the page takes from the script, by module.
EXPORTS = {"main.js": ["mount"], "source/live.js": ["liveSource"], "source/demo.js": ["withDemo"]}
TYPES = {
    ".js": "text/javascript; charset=utf-8",  # whatever this machine's table of types says: modules need it
    ".css": "text/css; charset=utf-8",
    ".map": "application/json",
}


class Made:
    """Texts by name that are made from a folder, and made again when a file in it has changed."""

    def __init__(self, folder: Path, make: Callable[[], dict[str, str]]) -> None:
        self.folder = folder
        self.make = make
        self._state: tuple | None = None
        self._texts: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def get(self, name: str) -> bytes | None:
        """The text of this name as it is now, None if there is none."""
        found = (*self.folder.rglob("*.js"), *self.folder.rglob("*.css"))
        state = tuple(sorted((str(path), path.stat().st_mtime_ns) for path in found))
        with self._lock:
            if state != self._state:
                self._texts = {key: text.encode() for key, text in self.make().items()}
                self._state = state
            return self._texts.get(name)


def screen_texts(folder: Path = ASSETS) -> dict[str, str]:
    """screen.js with its source map, and screen.css. A module that cannot be put into the script becomes an
    error on the page's console, not a page without one."""
    try:
        script, mapping = module(folder, EXPORTS, "screen.js.map")
    except BundleError as error:
        script, mapping = f"throw new Error({json.dumps(str(error))});\n", "{}"
    style = styles(STYLES, folder)
    return {"screen.js": script, "screen.js.map": mapping, "screen.css": style}


def assets_route() -> Route:
    """The script, the style sheet, assets/ and Plotly's own script as they are on disk now: a browser asks
    again, so that an upgrade never mixes versions.

    A route, because a mount looks for its files below the root path that a proxy has cut off.
    """
    files = StaticFiles(directory=ASSETS)
    plotly = StaticFiles(packages=[("plotly", "package_data")])
    made = Made(ASSETS, screen_texts)

    async def serve(request: Request) -> Response:
        path = os.path.normpath(request.path_params["path"])
        text = made.get(path)
        if text is not None:
            response = tagged(text, request)
        elif path == "plotly.js":
            response = await plotly.get_response("plotly.min.js", request.scope)
        else:
            response = await files.get_response(path, request.scope)
        response.headers["Cache-Control"] = "no-cache"
        kind = TYPES.get(Path(path).suffix)
        if kind:
            response.headers["Content-Type"] = kind
        return response

    return Route(f"/{SCREEN}/{{path:path}}", serve)


def tagged(text: bytes, request: Request) -> Response:
    """The text, or word that the browser has it already."""
    tag = f'"{hashlib.sha256(text).hexdigest()[:20]}"'
    known = request.headers.get("if-none-match") == tag
    return Response(b"" if known else text, 304 if known else 200, {"ETag": tag})


def head() -> str:
    """What the page's head needs: style, script and icon, fetched while Gradio's own are still being read."""
    return (
        f'<link rel="stylesheet" href="{SCREEN}/screen.css">'
        f'<link rel="modulepreload" href="{SCREEN}/screen.js">'
        f'<link rel="icon" type="image/svg+xml" href="{SCREEN}/icon.svg">'
    )
