"""What a session list shows of a session, without reading its events."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields, replace

from engine.core.stats import Counters

#: States in which a living program may still add events.
UNFINISHED = ("queued", "running")

#: Why a session is interrupted, in the words of its `reason`.
WRITER_GONE = "the program that ran it ended before the session did"


@dataclass(frozen=True)
class SessionInfo:
    """One line of table `sessions`.

    `reason` says why it ended; `ms` is None until then. `rule` is what ran, `asked` what was asked for.
    `vocab`, `tokenizer` and `versions` are known once the prompt was read. `rounds` to `sum_prod` are the
    fields of `counters`, kept beside the events so that a list needs no fold; `relation` outlives a
    deleted parent. `branch_at` is the position of a branch's forced token; `imported` says when a session
    that was run elsewhere came in from a file, None for one's own. `fault` is "" for a healthy session.
    """

    id: int
    parent_id: int | None
    relation: str | None  # "rerun", "branch"
    created: str  # ISO 8601, UTC
    title: str
    note: str
    tags: tuple[str, ...]
    starred: bool
    prompt: str
    raw: bool
    target: str
    drafter: str
    rule: str
    asked: str
    params: dict[str, float]
    seed: int
    k: int
    max_tokens: int
    temperature: float
    vocab: int
    tokenizer: str
    versions: dict[str, str]
    status: str  # "queued", "running", "finished", "stopped", "failed", "interrupted"
    reason: str
    ms: float | None
    rounds: int
    proposed: int
    positions_tested: int
    accepted: int
    emitted: int
    rescued: int
    sum_min: float
    sum_prod: float
    branch_at: int | None = None
    imported: str | None = None  # ISO 8601, UTC
    fault: str = ""  # of engine.faults, switched on on purpose

    @property
    def counters(self) -> Counters:
        """What the session's rounds add up to."""
        return Counters(**{field.name: getattr(self, field.name) for field in fields(Counters)})

    @property
    def unfinished(self) -> bool:
        """True while events may still come."""
        return self.status in UNFINISHED


COLUMNS = tuple(field.name for field in fields(SessionInfo))


def from_line(line: tuple) -> SessionInfo:
    """The session of a line with COLUMNS in order."""
    body = dict(zip(COLUMNS, line, strict=True))
    return SessionInfo(
        **body
        | {
            "tags": tuple(json.loads(body["tags"])),
            "starred": bool(body["starred"]),
            "raw": bool(body["raw"]),
            "params": json.loads(body["params"]),
            "versions": json.loads(body["versions"]),
        }
    )


def interrupted(info: SessionInfo) -> SessionInfo:
    """An unfinished session without a living writer, as a reader must see it."""
    return replace(info, status="interrupted", reason=WRITER_GONE)
