"""The lines of an exported file: JSON Lines, one object a line, in this order.

`header`, `pieces` (the bytes behind token ids), `row` (each distinct row once), then every `session` with its
`event` lines, and `end`, which carries the SHA-256 of all bytes before it. docs/export.md is made from LINES.
"""

from __future__ import annotations

import json

from storage.event_shapes import BODIES, MAX_VOCAB, NAME, name
from storage.shapes import Record, Shape, bytes_of, flag, listing, maybe, number, one_of, sha256, text, whole

FORMAT = "draftscope"
VERSION = 1

#: The largest file, the longest line (both in bytes), and the most lines of one that is read.
MAX_BYTES = 2**30
MAX_LINE = 2**25
MAX_LINES = 5_000_000
MAX_SESSIONS = 10_000
#: Ids in one `pieces` line.
PIECES_A_LINE = 4096

_local_id = whole(1, MAX_SESSIONS)
_lines = whole(0, MAX_LINES)


def _event_body(value: object, where: str) -> None:
    one_of(*BODIES)(value.get("type") if isinstance(value, dict) else value, f"{where}.type")
    BODIES[value["type"]](value, where)


LINES: dict[str, Record] = {
    "header": Record(
        {
            "line": one_of("header"),
            "format": one_of(FORMAT),
            "version": one_of(VERSION),
            "created": text(40),
            "sessions": whole(1, MAX_SESSIONS),
            "rows": _lines,
            "pieces": _lines,
            "events": _lines,
        }
    ),
    "pieces": Record(
        {
            "line": one_of("pieces"),
            "tokenizer": name,
            "first": whole(0, MAX_VOCAB - 1),
            "bytes": listing(
                maybe(bytes_of(2**20)),
                PIECES_A_LINE,
                "a list: the bytes of each id from `first` on, in base64",
            ),
        }
    ),
    "row": Record(
        {
            "line": one_of("row"),
            "hash": sha256,
            "vocab": whole(1, MAX_VOCAB),
            "tail": number(0, 1),
            "ids": maybe(bytes_of(4 * MAX_VOCAB)),
            "probs": bytes_of(8 * MAX_VOCAB),
        }
    ),
    "session": Record(
        {
            "line": one_of("session"),
            "id": _local_id,
            "parent": maybe(_local_id),
            "relation": one_of("rerun", "branch", None),
            "created": text(40),
            "title": text(100_000),
            "note": text(10_000_000),
            "tags": listing(text(NAME), 1000),
            "starred": flag,
        }
    ),
    "event": Record(
        {
            "line": one_of("event"),
            "session": _local_id,
            "seq": whole(0, MAX_LINES),
            "body": Shape("the event (below)", _event_body),
        }
    ),
    "end": Record({"line": one_of("end"), "sha256": sha256}),
}


def dump(value: dict) -> bytes:
    """One line, its newline included."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode() + b"\n"
