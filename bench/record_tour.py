"""Record what the tour and the fault gallery show, on the bundled pair: faults beside the healthy engine.

    python -m bench.record_tour [--only tour|faults|words]

Writes assets/demo/tour.json (two faulty re-runs of the recorded demo, and the laws of the places that
a card points at) and assets/demo/faults.json (what each known fault does to the numbers, with the healthy
engine beside it). Both are fetched when somebody asks for them.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from bench import record_faults
from bench.record_demo import OUT as DEMO
from bench.record_demo import renamed, rounded
from inspector.controller import Controller
from inspector.standalone.static_page import record
from storage import Store

FOLDER = DEMO.parent
#: Both files and the demo together.
MOST_BYTES = 1_500_000
#: The tour's own sessions: how each differs from the demo, by its recorded id.
SESSIONS = {
    -10: {"fault": "target-not-rewound", "title": "The same prompt, with a bug in the engine"},
    -11: {"rule": "fault-residual-from-p", "title": "The same prompt, with a bug in the rule"},
}
#: Places of the demo whose laws a card asks about: (round, draft).
LAWS = ((6, 0), (6, 1), (6, 2))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--only", choices=["tour", "faults", "words"])
    only = parser.parse_args().only
    if only == "words":
        write("faults.json", record_faults.worded(json.loads((FOLDER / "faults.json").read_text("utf-8"))))
        return
    with engine() as controller:
        if only != "faults":
            write("tour.json", tour(controller))
        if only != "tour":
            write("faults.json", record_faults.worded(record_faults.recorded(controller)))
    total = sum(path.stat().st_size for path in FOLDER.glob("*.json"))
    if total > MOST_BYTES:
        raise SystemExit(f"The recordings have {total} bytes together, more than {MOST_BYTES}.")


@contextmanager
def engine() -> Iterator[Controller]:
    with (
        tempfile.TemporaryDirectory() as folder,
        Store.open(Path(folder) / "tour.sqlite") as store,
        closing(Controller(store)) as controller,
    ):
        yield controller


def write(name: str, recording: dict) -> None:
    text = json.dumps(recording, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    (FOLDER / name).write_text(text + "\n", encoding="utf-8")
    print(f"{name}: {len(text.encode())} bytes", flush=True)


def tour(controller: Controller) -> dict:
    """The demo's prompt again, healthy to read its laws, then with each fault."""
    demo = json.loads(DEMO.read_text("utf-8"))
    form = form_of(controller, demo["heads"]["0"])
    healthy = run(controller, form)
    told = [[at["x"] for at in view["positions"]] for view in demo["rounds"]["0"]]
    again = [list(done.block.tokens) for done in controller.all_rounds(healthy)]
    if told != again:
        raise SystemExit("The demo does not come out the same here: record it anew first (make demo).")
    laws = {f"0/{r}/{i}": rounded(controller.laws(healthy, r, i)) for r, i in LAWS}
    faulty = [run(controller, form | only_form(changes)) for changes in SESSIONS.values()]
    recording = record(controller, faulty)
    recording["stats"] = {str(lane): controller.statistics.of(lane) | {"figures": {}} for lane in faulty}
    out = renamed(recording, dict(zip(faulty, SESSIONS, strict=True)))
    for line in (*out["sessions"], *out["heads"].values()):
        line["title"] = SESSIONS[line["id"]]["title"]
        line["parent_id"], line["relation"] = 0, "rerun"
    return out | {"laws": laws}


def form_of(controller: Controller, head: dict) -> dict:
    """The form that asks for a recorded session again."""
    names = ("prompt", "raw", "target", "drafter", "rule", "seed", "k", "max_tokens")
    sampling = {name: head["sampling"][name] for name in ("temperature", "top_k", "top_p", "min_p")}
    return controller.choices()["defaults"] | {name: head[name] for name in names} | sampling


def only_form(changes: dict) -> dict:
    return {name: value for name, value in changes.items() if name != "title"}


def run(controller: Controller, form: dict) -> int:
    session_id = controller.start(form)
    controller.wait(session_id)
    info = controller.store.session(session_id)
    if info.status != "finished":
        raise SystemExit(f"A session {info.status}: {info.reason}")
    return session_id


if __name__ == "__main__":
    main()
