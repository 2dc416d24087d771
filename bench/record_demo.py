"""Record the session that the first start shows: one prompt on the bundled pair under three rules, same seed.

    python -m bench.record_demo [--prompt TEXT] [--seed N] [--max-tokens N]

Writes assets/demo/demo.json: what the screen would ask a running Draftscope for, the first session as 0 and
its re-runs as -1, -2, so that a recorded id is never one of a database.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from contextlib import closing
from pathlib import Path

from inspector.controller import Controller
from inspector.standalone.static_page import record
from storage import Store

OUT = Path(__file__).resolve().parent.parent / "assets" / "demo" / "demo.json"
PROMPT = "Write two sentences about the sea."
RULES = ("sampler-match", "block")
#: Rows of a position that are kept, besides the tokens that matter: the screen shows 8 at first.
BARS = 8
MOST_BYTES = 300_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--prompt", default=PROMPT)
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--max-tokens", type=int, default=56)
    asked = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        Store.open(Path(folder) / "demo.sqlite") as store,
        closing(Controller(store)) as controller,
    ):
        recording = recorded(controller, asked)
    text = json.dumps(recording, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    if len(text.encode()) > MOST_BYTES:
        raise SystemExit(
            f"The demo has {len(text.encode())} bytes, more than {MOST_BYTES}: fewer tokens, please."
        )
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(text + "\n", encoding="utf-8")
    print(f"{OUT.name}: {len(text.encode())} bytes, {len(recording['rounds']['0'])} rounds")


def recorded(controller: Controller, asked: argparse.Namespace) -> dict:
    """Run the lanes and take what the screen would be told of them."""
    form = controller.choices()["defaults"] | {
        "prompt": asked.prompt,
        "seed": asked.seed,
        "max_tokens": asked.max_tokens,
        "drafter": "self:4bit",
    }
    first = controller.start(form)
    controller.wait(first)
    lanes = [first, *controller.rerun(first, list(RULES))]
    for lane in lanes:
        controller.wait(lane)
    recording = record(controller, lanes)
    recording["stats"] = {str(lane): controller.statistics.of(lane) for lane in lanes}
    for lane in lanes[1:]:  # their tables will do
        recording["stats"][str(lane)] = recording["stats"][str(lane)] | {"figures": {}}
    return renamed(recording, {lane: -i for i, lane in enumerate(lanes)})


def renamed(recording: dict, ids: dict[int, int]) -> dict:
    """The recording with its sessions' ids put below 1, marked as recorded, and with shorter rows."""
    out = {"sessions": [line | fresh(line, ids) for line in recording["sessions"]]}
    for name in ("heads", "rounds", "pieces", "stats"):
        out[name] = {str(ids[int(old)]): body for old, body in recording[name].items()}
    out["heads"] = {key: head | fresh(head, ids) for key, head in out["heads"].items()}
    out["stats"] = {key: body | {"session": int(key)} for key, body in out["stats"].items()}
    out["compared"] = {
        "columns": recording["compared"]["columns"],
        "lines": [rounded(line | fresh_line(line, ids)) for line in recording["compared"]["lines"]],
    }
    out["rounds"] = {key: rounded(rounds) for key, rounds in out["rounds"].items()}
    for key, rounds in out["rounds"].items():
        for view in rounds:
            for place in (*view["positions"], *([view["next"]] if view["next"] else [])):
                shorten(place)
        named = named_in(rounds) | {str(token) for token in out["heads"][key]["prompt_tokens"]}
        out["pieces"][key] = {token: piece for token, piece in out["pieces"][key].items() if token in named}
    return out


def rounded(value: object) -> object:
    """Numbers with seven digits: more than the screen shows of any."""
    if isinstance(value, float):
        return float(f"{value:.7g}")
    if isinstance(value, dict):
        return {name: rounded(one) for name, one in value.items()}
    return [rounded(one) for one in value] if isinstance(value, list | tuple) else value


def fresh_line(line: dict, ids: dict[int, int]) -> dict:
    parent = line["parent_id"]
    return {"session": ids[line["session"]], "parent_id": None if parent is None else ids[parent]}


def fresh(line: dict, ids: dict[int, int]) -> dict:
    parent = line["parent_id"]
    return {"id": ids[line["id"]], "parent_id": None if parent is None else ids[parent], "recorded": True}


def shorten(place: dict) -> None:
    """Keep the top rows of a position, and the tokens that its decision turned on."""
    if "bars" not in place:
        return
    kept = {place.get("x"), place.get("token"), place["own"]["token"]}
    shown = [bar for i, bar in enumerate(place["bars"]) if i < BARS or bar[0] in kept]
    gone = [bar for bar in place["bars"] if bar not in shown and (bar[1] or bar[2])]
    p, q, n = place["rest"]
    place["bars"] = shown
    place["rest"] = [
        p + sum(bar[1] or 0 for bar in gone),
        None if q is None else q + sum(bar[2] or 0 for bar in gone),
        n + len(gone),
    ]


def named_in(rounds: list[dict]) -> set[str]:
    """Every token that the shortened rounds name."""
    from inspector.view_model import tokens_of

    return {str(token) for view in rounds for token in tokens_of(view)}


if __name__ == "__main__":
    main()
