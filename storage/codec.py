"""Event <-> JSON text, Row <-> bytes: the border at which numpy ends and nothing is silently changed.

A row is stored once under the SHA-256 of its content and events name it by that hash. Rows wider than a
cap are cut to their top tokens and to those that the round turned on; `tail` says how much mass was left
out, and what is kept is kept bit for bit. NaN and infinity are refused, because SQLite would turn the
first into NULL and JSON has neither.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from engine.core.events import Event, Round, from_dict
from engine.core.rows import cut
from engine.core.types import Row
from storage.errors import StoreError


@dataclass(frozen=True, slots=True)
class StoredRow:
    """One line of table `rows`. `ids` is None where the row holds every id from 0 to vocab - 1."""

    hash: str
    ids: bytes | None  # uint32[n], little-endian
    probs: bytes  # float64[n], little-endian
    vocab: int
    tail: float


@dataclass(frozen=True, slots=True)
class Encoded:
    """An event ready to be stored: its type, its JSON text, and the rows the text names by hash."""

    type: str
    body: str
    rows: tuple[StoredRow, ...]


def encode(event: Event, row_cap: int) -> Encoded:
    """Raises StoreError for a number that is not finite or a row that is no distribution."""
    keep = tokens_that_matter(event) if isinstance(event, Round) else ()
    rows: dict[str, StoredRow] = {}

    def put_row(row: Row) -> str:
        check_row(row)
        stored = pack_row(cut(row, row_cap, keep))
        rows[stored.hash] = stored
        return stored.hash

    body = plain(event.to_dict(put_row), event.type)
    return Encoded(event.type, json.dumps(body, separators=(",", ":")), tuple(rows.values()))


def decode(body: dict, rows: Mapping[str, Row]) -> Event:
    """The event of a parsed body; `rows` holds every row that `row_hashes(body)` names."""
    return from_dict(body, rows.__getitem__)


def row_hashes(body: dict) -> set[str]:
    """The hashes an event's body names."""
    lists = [body.get(name, []) for name in ("q", "p", "raw_q", "raw_p")]
    return {ref for refs in (*lists, [body.get("residual")]) for ref in refs if ref is not None}


def tokens_that_matter(event: Round) -> tuple[int, ...]:
    """The tokens whose probabilities a reader will ask for, in whichever row of the round."""
    verdict = event.verdict
    following = () if verdict.next_token is None else (verdict.next_token,)
    wanted = {int(token) for token in (*event.block.tokens, *event.own, *event.emitted, *following)}
    return tuple(sorted(wanted))


def check_row(row: Row) -> None:
    """Raise StoreError unless ids ascend below vocab and every probability is finite and not negative."""
    ids, probs = np.asarray(row.ids), np.asarray(row.probs)
    if ids.shape != probs.shape or ids.ndim != 1:
        raise _bad_row(f"{ids.shape} ids and {probs.shape} probabilities")
    bad = np.flatnonzero(~(np.isfinite(probs) & (probs >= 0)))
    if len(bad):
        raise _bad_row(f"probability {probs[bad[0]]} at token {ids[bad[0]]}")
    if not (math.isfinite(row.tail) and row.tail >= 0):
        raise _bad_row(f"tail {row.tail}")
    if len(ids) and (ids[0] < 0 or ids[-1] >= row.vocab or (ids[1:] <= ids[:-1]).any()):
        raise _bad_row(f"ids that do not ascend from 0 to {row.vocab - 1}")


def _bad_row(what: str) -> StoreError:
    return StoreError(f"A row has {what}; it cannot be stored.", "Check the model's weights and the rule.")


def pack_row(row: Row) -> StoredRow:
    """The bytes of a checked row, and their address."""
    full = len(row.ids) == row.vocab
    ids = None if full else np.ascontiguousarray(row.ids, dtype="<u4").tobytes()
    probs = np.ascontiguousarray(row.probs, dtype="<f8").tobytes()
    vocab, tail = int(row.vocab), float(row.tail)
    return StoredRow(_address(ids, probs, vocab, tail), ids, probs, vocab, tail)


def unpack_row(stored: StoredRow) -> Row:
    """The row, its arrays read-only views of the bytes. Raises StoreError where the bytes were changed."""
    if _address(stored.ids, stored.probs, stored.vocab, stored.tail) != stored.hash:
        raise StoreError(
            f"Row {stored.hash[:12]}… does not match its own hash.", "Restore a copy of the database."
        )
    ids = _every_id(stored.vocab) if stored.ids is None else np.frombuffer(stored.ids, dtype="<u4")
    return Row(ids, np.frombuffer(stored.probs, dtype="<f8"), stored.vocab, stored.tail)


@lru_cache(maxsize=4)
def _every_id(vocab: int) -> np.ndarray:  # uint32[vocab]
    return np.arange(vocab, dtype=np.uint32)


def _address(ids: bytes | None, probs: bytes, vocab: int, tail: float) -> str:
    digest = hashlib.sha256(struct.pack("<QdQ", vocab, tail, len(probs) // 8))
    digest.update(ids or b"")
    digest.update(probs)
    return digest.hexdigest()


def plain(value: object, where: str) -> object:
    """`value` in plain JSON types: numpy scalars become Python's, and a number that is not finite raises
    StoreError with its place, such as `round.mass`."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, dict):
        return {str(key): plain(item, f"{where}.{key}") for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, f"{where}[{i}]") for i, item in enumerate(value)]
    if isinstance(value, float) and not math.isfinite(value):
        raise StoreError(
            f"{where} is {value}; only finite numbers are stored.", "Check the model's weights and the rule."
        )
    if value is None or isinstance(value, str | int | float):
        return value
    raise StoreError(f"{where} is a {type(value).__name__}, which JSON lacks.", "Store plain values only.")
