"""A file of exported sessions, read and checked to the last number before anything is written.

The file may come from anywhere. It is only ever parsed as JSON and compared with the shapes it must have;
whatever does not fit ends the reading with one sentence that names the line.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import NoReturn

import numpy as np

from engine.core.events import Event
from engine.core.rows import SUM_TOLERANCE
from engine.core.types import Row
from engine.errors import EngineError
from storage.codec import StoredRow, check_row, decode, row_hashes, unpack_row
from storage.errors import StoreError
from storage.export_format import LINES, MAX_BYTES, MAX_LINE, MAX_LINES
from storage.import_checks import Checker

AGAIN = "Export the session again."


@dataclass
class ReadSession:
    """A session of the file: its `session` line and its events, as bodies and decoded."""

    line: dict
    bodies: list[dict] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)


@dataclass
class Package:
    """All that a file holds. `pieces` is the bytes by tokenizer and id."""

    sessions: dict[int, ReadSession] = field(default_factory=dict)
    stored: dict[str, StoredRow] = field(default_factory=dict)
    pieces: dict[str, dict[int, bytes]] = field(default_factory=dict)


def read(data: bytes) -> Package:
    """The file's sessions. Raises StoreError, naming the line, for a file that is not as it must be."""
    if len(data) > MAX_BYTES:
        raise StoreError(
            f"The file has {len(data)} bytes; at most {MAX_BYTES} are read.", "Export fewer sessions at once."
        )
    reader = _Reader()
    number = 0
    try:
        for number, line in enumerate(_split(data), 1):  # noqa: B007 (named in the error)
            reader.take(line)
    except EngineError as error:
        raise StoreError(f"Line {number}: {error.message}", error.hint) from error
    reader.finish()
    return reader.package


def _split(data: bytes) -> Iterator[bytes]:
    """The lines with their newlines, none of them copied before it is asked for."""
    start, number = 0, 0
    while start < len(data):
        end = data.find(b"\n", start, start + MAX_LINE)
        number += 1
        if end < 0:
            # Handed on without its newline: cut off, or longer than any line may be.
            yield data[start : start + MAX_LINE]
            return
        if number > MAX_LINES:
            raise StoreError(f"The file has more than {MAX_LINES} lines.", "Export fewer sessions at once.")
        yield data[start : end + 1]
        start = end + 1


def _parse(line: bytes) -> dict:
    if not line.endswith(b"\n"):
        raise StoreError(
            f"It does not end within {MAX_LINE} bytes, or the file was cut off here.",
            "Copy or export the file again.",
        )
    try:
        value = json.loads(line.decode("utf-8"), object_pairs_hook=_once, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        what = "not UTF-8" if isinstance(error, UnicodeDecodeError) else "not JSON"
        raise StoreError(f"It is {what}.", "Choose a file that `export` wrote.") from error
    if not isinstance(value, dict):
        raise StoreError("It is no JSON object.", "Choose a file that `export` wrote.")
    return value


def _once(pairs: list[tuple[str, object]]) -> dict:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


#: What kinds of line may follow which.
FOLLOWS: dict[str | None, tuple[str, ...]] = {
    None: ("header",),
    "header": ("pieces", "row", "session"),
    "pieces": ("pieces", "row", "session"),
    "row": ("row", "session"),
    "session": ("event",),
    "event": ("event", "session", "end"),
    "end": (),
}


class _Reader:
    """Takes the lines in order. `stage` is the kind of line that came last."""

    def __init__(self) -> None:
        self.package = Package()
        self.digest = hashlib.sha256()
        self.stage: str | None = None
        self.header: dict = {}
        self.counts = dict.fromkeys(("sessions", "rows", "pieces", "events"), 0)
        self.rows: dict[str, Row] = {}
        self.unused: set[str] = set()
        self.checker: Checker | None = None

    def take(self, raw: bytes) -> None:
        line = _parse(raw)
        kind = line.get("line")
        if not isinstance(kind, str) or kind not in FOLLOWS[self.stage]:
            wanted = " or ".join(FOLLOWS[self.stage]) or "nothing"
            shown = str(kind)[:40]
            raise StoreError(
                f"It is {shown!r}, where {wanted} should be.", "Choose a file that `export` wrote."
            )
        if kind == "header":
            check_version(line)
        LINES[kind](line, kind)
        getattr(self, f"take_{kind}")(line)
        self.stage = kind
        self.digest.update(raw)

    def take_header(self, line: dict) -> None:
        self.header = line

    def take_pieces(self, line: dict) -> None:
        self._count("pieces")
        known = self.package.pieces.setdefault(line["tokenizer"], {})
        for token, data in enumerate(line["bytes"], line["first"]):
            if token in known:
                raise StoreError(f"Token {token} of {line['tokenizer']!r} stands twice.", AGAIN)
            if data is not None:
                known[token] = base64.b64decode(data)

    def take_row(self, line: dict) -> None:
        self._count("rows")
        stored = StoredRow(
            line["hash"],
            None if line["ids"] is None else base64.b64decode(line["ids"]),
            base64.b64decode(line["probs"]),
            line["vocab"],
            float(line["tail"]),
        )
        if stored.hash in self.rows:
            raise StoreError(f"Row {stored.hash[:12]}… stands twice.", AGAIN)
        self.rows[stored.hash] = checked_row(stored)
        self.package.stored[stored.hash] = stored
        self.unused.add(stored.hash)

    def take_session(self, line: dict) -> None:
        self._close()
        self._count("sessions")
        if line["id"] in self.package.sessions:
            raise StoreError(f"Session {line['id']} stands twice.", AGAIN)
        if line["parent"] is not None and line["parent"] not in self.package.sessions:
            raise StoreError(f"Its parent, session {line['parent']}, does not stand before it.", AGAIN)
        if line["parent"] is not None and line["relation"] is None:
            raise StoreError("It has a parent and no relation to it.", AGAIN)
        check_time(line["created"])
        self.package.sessions[line["id"]] = ReadSession(line)
        self.checker = Checker(self.rows, self.package.pieces)

    def take_event(self, line: dict) -> None:
        self._count("events")
        body = line["body"]
        current = next(reversed(self.package.sessions))
        session = self.package.sessions[current]
        if line["session"] != current or line["seq"] != len(session.bodies):
            raise StoreError(
                f"It is event {line['seq']} of session {line['session']}, where event "
                f"{len(session.bodies)} of session {current} should be.",
                AGAIN,
            )
        self.checker.take(body)
        self.unused -= row_hashes(body)
        session.bodies.append(body)
        session.events.append(decode(body, self.rows))

    def take_end(self, line: dict) -> None:
        self._close()
        if line["sha256"] != self.digest.hexdigest():
            raise StoreError("The file is not as it was written: its SHA-256 is another.", AGAIN)
        for name, n in self.counts.items():
            if self.header[name] != n:
                raise StoreError(
                    f"The file has {n} lines of {name}, its header says {self.header[name]}.", AGAIN
                )
        if self.unused:
            raise StoreError(f"No event names row {min(self.unused)[:12]}….", AGAIN)

    def finish(self) -> None:
        if self.stage != "end":
            raise StoreError(
                f"The file ends behind {self.stage!r}, without its end."
                if self.stage
                else "The file is empty.",
                "Copy or export the file again." if self.stage else "Choose a file that `export` wrote.",
            )

    def _count(self, name: str) -> None:
        self.counts[name] += 1
        if self.counts[name] > self.header[name]:
            raise StoreError(f"The header says {self.header[name]} lines of {name}; here is one more.", AGAIN)

    def _close(self) -> None:
        if self.checker is not None:
            self.checker.end()
            self.checker = None


def check_version(line: dict) -> None:
    """Raise StoreError for a file of another program, or of a newer Draftscope."""
    known = LINES["header"].fields
    if line.get("format") != "draftscope":
        raise StoreError("The file holds no Draftscope sessions.", "Choose a file that `export` wrote.")
    version = line.get("version")
    if type(version) is int and version > 1:
        raise StoreError(
            f"The file has format version {version}; this program reads {known['version'].words}.",
            "Update Draftscope.",
        )


def checked_row(stored: StoredRow) -> Row:
    """The row of checked bytes: as long as they must be, its own hash, ids in order, a distribution."""
    n, left = divmod(len(stored.probs), 8)
    ids = 4 * n if stored.ids is not None else None
    full = stored.ids is None and n == stored.vocab
    if (
        left
        or n == 0
        or not (full or (stored.ids is not None and len(stored.ids) == ids and n < stored.vocab))
    ):
        raise StoreError(f"Row {stored.hash[:12]!r} has arrays of lengths that do not fit.", AGAIN)
    row = unpack_row(stored)
    check_row(row)
    total = float(np.sum(row.probs)) + row.tail
    if not abs(total - 1) <= SUM_TOLERANCE:
        raise StoreError(f"Row {stored.hash[:12]}… sums to {total:.6g} with its tail.", AGAIN)
    return row


def check_time(created: str) -> None:
    try:
        datetime.fromisoformat(created)
    except ValueError:
        raise StoreError(f"created is {created!r}, which is no time.", AGAIN) from None
