"""The session's line in table `sessions`: made from SessionStarted, then carried along by each event."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime

from sqlite_utils import Database

from engine.core.events import STATUSES, Event, PromptRead, Round, SessionFinished, SessionStarted
from engine.core.stats import Counters
from storage.errors import StoreError
from storage.info import SessionInfo


def as_text(value: str) -> str:
    """`value` as SQLite can hold it: a lone surrogate, which is no Unicode text, is written as its escape."""
    return value.encode("utf-8", "backslashreplace").decode("utf-8")


def new_line(started: dict) -> dict[str, object]:
    """The columns of a new session from the plain body of its SessionStarted."""
    texts = {name: as_text(started[name]) for name in ("prompt", "target", "drafter", "rule", "asked")}
    texts["fault"] = as_text(started.get("fault", ""))
    return texts | {
        "created": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "status": "queued",
        "raw": int(started["raw"]),
        "params": json.dumps(started["params"]),
        "temperature": started["sampling"]["temperature"],
        **{name: started[name] for name in ("seed", "k", "max_tokens")},
    }


def check_order(info: SessionInfo, seq: int, event: Event) -> None:
    """Rounds must be contiguous, since `rounds` finds one by its distance from the first."""
    if isinstance(event, SessionStarted) or (isinstance(event, PromptRead) and seq != 1):
        raise StoreError(
            f"Event {seq} of session {info.id} cannot be a {type(event).__name__}.",
            "A session is: started, prompt, rounds, finished.",
        )
    if isinstance(event, Round) and event.index != info.rounds:
        raise StoreError(
            f"Session {info.id} has {info.rounds} rounds; round {event.index} cannot follow.",
            f"Append round {info.rounds} next.",
        )
    if isinstance(event, SessionFinished) and event.status not in STATUSES:
        raise StoreError(f"A session ends with status {event.status!r}.", f"Use {', '.join(STATUSES)}.")


def advance(db: Database, session_id: int, event: Event) -> None:
    """Let the session's line follow an event: its status and the cached counters."""
    changes: dict[str, object] = {"status": "running", "id": session_id}
    if isinstance(event, SessionFinished):
        changes |= {"status": event.status, "reason": as_text(event.reason), "ms": float(event.ms)}
        sets = "status = :status, reason = :reason, ms = :ms, owner = NULL"
    elif isinstance(event, Round):
        more = asdict(Counters().plus(event))
        changes |= {name: float(n) if name.startswith("sum_") else int(n) for name, n in more.items()}
        sets = ", ".join(["status = :status", *(f"{name} = {name} + :{name}" for name in more)])
    elif isinstance(event, PromptRead):
        changes |= {"vocab": int(event.vocab), "tokenizer": as_text(event.tokenizer)}
        changes |= {"versions": json.dumps(event.versions)}
        sets = "status = :status, vocab = :vocab, tokenizer = :tokenizer, versions = :versions"
    else:
        sets = "status = :status"
    db.execute(f"UPDATE sessions SET {sets} WHERE id = :id", changes)
