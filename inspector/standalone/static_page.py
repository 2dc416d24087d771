"""One HTML file that opens from disk and shows sessions as the screen does: no server, no network, no choice.

The page's policy (a CSP in its head) lets it run its own two scripts, known by their hashes, and nothing
else: no request can leave it. What it holds is JSON in a script of a type that no browser runs; the screen's
script, the rounds and the token texts are compressed in there, and assets/static.js unpacks them.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import EngineError
from inspector.lanes import Judged
from inspector.standalone.bundle import bundle
from inspector.standalone.columns import deflated, packed

if TYPE_CHECKING:
    from inspector.controller import Controller

ASSETS = Path(__file__).resolve().parents[2] / "assets"
#: In the order in which the app's own page links them.
STYLES = ("inspector.css", "inspect.css", "library.css", "data.css", "lab.css", "compare.css", "tour.css")
#: Rounds read at once.
PAGE = 200


def page(controller: Controller, lanes: Sequence[int | Judged]) -> str:
    """The page over these sessions, the first on view; with others beside it, re-judged ones among them, the
    compare view.

    Raises EngineError for a session that has no rounds or has not ended.
    """
    recording = record(controller, list(dict.fromkeys(lanes)))
    screen = f"globalThis.draftscope = {bundle(ASSETS, 'exported.js')};"
    held = compressed(recording) | {"code": deflated(screen)}
    return frame(f"Draftscope session {recording['first']['s']}", "static.js", STYLES, held, [screen])


def frame(title: str, entry: str, sheets: Sequence[str], recording: dict, later: Sequence[str] = ()) -> str:
    """A page of one script, made of the module `entry` of assets/ and all it imports, over what it holds; it
    may run the scripts of `later` too."""
    script = bundle(ASSETS, entry) + ";"
    style = styles(sheets)
    return "\n".join(
        (
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy([script, *later], style)}">',
            '<meta name="referrer" content="no-referrer">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{html.escape(title)}</title>",
            f'<link rel="icon" href="{icon()}">',
            f"<style>{style}</style>",
            "</head>",
            '<body class="ds-static">',
            '<div id="screen"></div>',
            "<noscript>This page needs JavaScript to show what it holds.</noscript>",
            f'<script type="application/json" id="recording">{safe_json(recording)}</script>',
            f"<script>{script}</script>",
            "</body>",
            "</html>",
            "",
        )
    )


def styles(sheets: Sequence[str], folder: Path = ASSETS) -> str:
    """The named style sheets of assets/, as one."""
    return "\n".join((folder / "styles" / name).read_text("utf-8") for name in sheets)


def compressed(recording: dict) -> dict:
    """The recording with its rounds, as columns, and its token texts in one compressed text: a quarter of the
    bytes. Sessions whose tokens are the same (`alike`) have one list of them."""
    pieces = list(recording["pieces"].values())
    merged = {token: text for found in pieces for token, text in found.items()}
    alike = all(merged[token] == text for found in pieces for token, text in found.items())
    large = {
        "rounds": {session: packed(rounds) for session, rounds in recording["rounds"].items()},
        "pieces": merged if alike else recording["pieces"],
        "alike": alike,
    }
    found = deflated(json.dumps(large, separators=(",", ":"), allow_nan=False))
    return {name: value for name, value in recording.items() if name not in large} | {"packed": found}


def record(controller: Controller, lanes: list[int | Judged]) -> dict:
    """What assets/source/recorded.js plays: heads, rounds and token texts by lane, as the live screen has
    them, and the answers about re-judged lanes, whose sessions come along."""
    judged = {lane.id: lane for lane in lanes if isinstance(lane, Judged)}
    named = [lane for lane in lanes if not isinstance(lane, Judged)]
    ids = list(dict.fromkeys([*named, *(lane.session for lane in judged.values())]))
    heads = {str(session_id): ended(controller, session_id) for session_id in ids}
    found = {key: whole(controller, head) for key, head in heads.items()}
    if not found[str(ids[0])]["rounds"]:
        raise EngineError(f"Session {ids[0]} has no rounds to show.", "Choose another session.")
    answers = {key: rejudged(controller, lane) for key, lane in judged.items()}
    played = found | answers
    order = [lane.id if isinstance(lane, Judged) else lane for lane in lanes]
    several = len(order) > 1
    return {
        "sessions": [listed(head) for head in heads.values()],
        "heads": heads,
        "rounds": {key: one["rounds"] for key, one in played.items()},
        "pieces": {key: one["pieces"] for key, one in played.items()},
        "rules": controller.choices()["rules"],
        "compared": controller.compared(ids),
        "judged": {key: one["answer"] for key, one in answers.items()},
        "first": {
            "s": ids[0],
            "cursor": {"round": 0, "pos": -1},
            "view": "compare" if several else "inspect",
            "lanes": order if several else [],
        },
    }


def ended(controller: Controller, session_id: int) -> dict:
    """The head of a session. Raises EngineError for one that has not ended."""
    head = controller.head(session_id)
    if head["status"] in ("queued", "running"):
        raise EngineError(f"Session {session_id} is still running.", "Stop it, or wait for its end.")
    return head


def whole(controller: Controller, head: dict) -> dict:
    """All rounds of a session, and the texts of their tokens."""
    rounds, pieces = [], {}
    for lo in range(0, head["rounds"], PAGE):
        found = controller.rounds(head["id"], lo, lo + PAGE)
        rounds += found["rounds"]
        pieces |= found["pieces"]
    return {"rounds": rounds, "pieces": pieces}


def rejudged(controller: Controller, lane: Judged) -> dict:
    """A re-judged lane: the same, and all else that is said of it."""
    found = controller.rejudged(lane.session, [lane.lane])
    (answer,) = found["lanes"]
    return {"rounds": answer.pop("rounds"), "pieces": found["pieces"], "answer": answer}


def listed(head: dict) -> dict:
    """A session's line in the list, from its head."""
    names = ("id", "parent_id", "relation", "created", "title", "note", "starred", "tags", "prompt", "rule")
    names += ("asked", "drafter", "target", "seed", "k", "max_tokens", "status", "rounds", "branch_at")
    names += ("fault", "watermark")
    counters = head["counters"]
    line = {name: head[name] for name in names if name in head}
    counted = ("emitted", "accepted", "positions_tested", "per_position_acceptance")
    return line | {name: counters[name] for name in counted}


def safe_json(value: object) -> str:
    """JSON that nothing in it can end or open an element of the page with."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    # A half character is no UTF-8; JSON's own escape of it is.
    return "".join(c if not "\ud800" <= c <= "\udfff" else f"\\u{ord(c):04x}" for c in text)


def policy(scripts: Sequence[str], style: str) -> str:
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {' '.join(repr(digest(script)) for script in scripts)}",
            f"style-src '{digest(style)}'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def icon() -> str:
    return "data:image/svg+xml;base64," + base64.b64encode((ASSETS / "icon.svg").read_bytes()).decode()
