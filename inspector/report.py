"""What the command line prints: JSON objects for programs, and the same as text for people."""

from __future__ import annotations

import importlib.metadata
import json
import sys
from pathlib import Path

import click

from engine import rules
from engine.core import rows, stats
from engine.core.events import Event, PromptRead, Round, SessionStarted
from engine.core.types import Row
from engine.errors import BadSetting, ModelError
from engine.worker import Run
from inspector import view_model
from inspector.controller import Controller, closed_forms
from storage import Store, default_path

TOP = 8  # tokens of a row in `show`


def emit(body: dict) -> None:
    """One object on stdout. NaN would be no JSON, so it is an error here."""
    click.echo(json.dumps(body, ensure_ascii=False, allow_nan=False, indent=1))


class Live:
    """Writes text as it arrives, each character once it is whole, and the state of affairs to stderr."""

    def __init__(self, controller: Controller, to_stderr: bool) -> None:
        self.controller = controller
        self.to_stderr = to_stderr
        self.prompt: PromptRead | None = None
        self.pending = b""
        self.status = ""

    def hear(self, event: Event) -> None:
        if isinstance(event, PromptRead):
            self.prompt = event
            self.say("")
        elif isinstance(event, Round):
            self.write([token for token in event.emitted if token not in self.prompt.special])

    def write(self, tokens: list[int]) -> None:
        pieces = self.controller.store.pieces(self.prompt.tokenizer, tokens)
        self.pending += b"".join(pieces.get(token, b"") for token in tokens)
        whole = whole_characters(self.pending)
        text, self.pending = self.pending[:whole], self.pending[whole:]
        click.echo(text.decode("utf-8", errors="replace"), nl=False, err=self.to_stderr)

    def say(self, status: str) -> None:
        """Replace the progress line."""
        if status != self.status and sys.stderr.isatty():
            click.echo("\r\x1b[K" + status, nl=False, err=True)
        elif status != self.status and status:
            click.echo(status, err=True)
        self.status = status

    def wait(self, run: Run) -> None:
        """Until the run has ended; Ctrl-C stops it and keeps what it has."""
        try:
            while not run.done.wait(0.1):
                self.say("" if self.prompt else run.progress)
        except KeyboardInterrupt:
            self.controller.worker.stop(run)
            run.done.wait()
        click.echo("", err=self.to_stderr)


def whole_characters(data: bytes) -> int:
    """How many leading bytes end on a character's boundary; a tail that can never be one counts too."""
    for back in range(1, min(3, len(data)) + 1):
        byte = data[-back]
        if byte >= 0xC0:
            needed = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return len(data) - back if back < needed else len(data)
        if byte < 0x80:
            break
    return len(data)


def follow(controller: Controller, started: SessionStarted, to_stderr: bool) -> int:
    """Run a session to its end, showing it; its id. Raises ModelError when it failed.

    A session that failed before it read its prompt leaves nothing behind.
    """
    live = Live(controller, to_stderr)
    if started.reason:
        click.echo(f"{started.asked} runs as {started.rule}: {started.reason}", err=True)
    session_id, run = controller.submit(started, listen=live.hear)
    live.wait(run)
    info = controller.store.session(session_id)
    if info.status == "failed" and live.prompt is None:
        controller.store.delete(session_id)
    if info.status == "failed":
        raise ModelError(info.reason)
    return session_id


def rerun(controller: Controller, session_id: int, rule_ids: list[str]) -> list[int]:
    """Run the lanes of a comparison to their ends; their ids. Raises ModelError when one failed."""
    children = controller.rerun(session_id, rule_ids)
    for n, child in enumerate(children, 1):
        run = controller.run_of(child)
        click.echo(f"{n}/{len(children)} {run.started.rule}: session {child}", err=True)
        try:
            run.done.wait()
        except KeyboardInterrupt:
            for other in children:
                controller.stop(other)
            raise
        info = controller.store.session(child)
        if info.status == "failed":
            raise ModelError(info.reason)
    return children


def session_object(controller: Controller, session_id: int) -> dict:
    """What `run --json` prints."""
    info = controller.store.session(session_id)
    events = [event for _, event in controller.store.events(session_id)]
    started = events[0]
    return {
        "session": session_id,
        "text": controller.text(session_id) if info.rounds else "",
        "tokens": [token for e in events if isinstance(e, Round) for token in e.emitted],
        "rule": info.rule,
        "asked": info.asked,
        "rule_reason": started.reason,
        "status": info.status,
        "reason": info.reason,
        "counters": info.counters.to_dict(),
        **closed_forms(info),
        "timings": stats.timings(events),
    }


def show_object(controller: Controller, session_id: int, index: int | None) -> dict:
    """What `show --json` prints: the session's head and its rounds, or one of them."""
    head = controller.head(session_id)
    if index is not None and not 0 <= index < head["rounds"]:
        raise BadSetting(
            f"round is {index}; session {session_id} has {head['rounds']}.",
            f"Give a number from 0 to {head['rounds'] - 1}."
            if head["rounds"]
            else "It has no round to show.",
        )
    lo, hi = (0, head["rounds"]) if index is None else (index, index + 1)
    shown = controller.store.rounds(session_id, lo, hi)
    text = TokenText(controller, session_id, shown) if shown else None
    return {"session": session_id, "head": head, "rounds": [round_object(done, text) for done in shown]}


class TokenText:
    """Token ids as text, for the tokens some rounds name; bytes that are no UTF-8 as \\xNN."""

    def __init__(self, controller: Controller, session_id: int, rounds: list[Round]) -> None:
        _, prompt = controller.beginning(session_id)
        named = set().union(*(view_model.tokens_of(view_model.round_view(done)) for done in rounds))
        self.pieces = controller.store.pieces(prompt.tokenizer, named)

    def __call__(self, token: int) -> str:
        return self.pieces.get(token, b"").decode("utf-8", errors="backslashreplace")


def round_object(done: Round, text: TokenText) -> dict:
    """A round with every position: the drafts by their fates, then the token that followed them."""
    positions = [draft_object(done, i, text) for i in range(done.block.k)]
    if done.verdict.next_token is not None:
        positions.append(next_object(done, text))
    return {
        "round": done.index,
        "start": done.block.start,
        "drafted": done.block.k,
        "tested": done.n_tested,
        "accepted": done.verdict.n_accepted,
        "emitted": list(done.emitted),
        "positions": positions,
    }


def draft_object(done: Round, i: int, text: TokenText) -> dict:
    block, verdict, measure = done.block, done.verdict, done.measures[i]
    check = verdict.checks[i] if i < len(verdict.checks) else None
    x, own = block.tokens[i], done.own[i]
    return {
        "position": block.start + i,
        "attempt": block.attempts[i],
        "fate": done.fate(i),
        "x": x,
        "text": text(x),
        "q": view_model.known(block.q[i], x),
        "p": view_model.known(block.p[i], x),
        "u": check.u if check else None,
        "accept_prob": check.accept_prob if check else None,
        "own_draw": own,
        "own_text": text(own),
        "rescued": done.fate(i) == "accepted" and own != x,
        "tv": 1.0 - measure.overlap,
        "overlap": measure.overlap,
        "entropy_p": measure.entropy_p,
        "entropy_q": measure.entropy_q,
        "top_p": top_rows(block.p[i], text),
        "top_q": top_rows(block.q[i], text),
    }


def next_object(done: Round, text: TokenText) -> dict:
    block, verdict, i = done.block, done.verdict, done.verdict.n_accepted
    token = verdict.next_token
    purpose = "residual" if verdict.residual is not None else "target"
    coin = next((c for c in done.coins if c.at == block.at(purpose, i) and c.outcome == token), None)
    return {
        "position": block.start + i,
        "attempt": block.attempts[i],
        "fate": verdict.next_source,
        "x": token,
        "text": text(token),
        "q": view_model.known(block.q[i], token) if i < block.k else None,
        "p": view_model.known(block.p[i], token),
        "u": coin.u if coin else None,
        "drawn_from": purpose,
        "own_draw": done.own[i],
        "own_text": text(done.own[i]),
        "residual_mass": verdict.mass,
        "residual_draw": token if verdict.residual is not None else None,
        "degenerate": verdict.degenerate,
        "top_residual": top_rows(verdict.residual, text) if verdict.residual is not None else None,
        "entropy_p": done.entropy_bonus if i == block.k else done.measures[i].entropy_p,
        "top_p": top_rows(block.p[i], text),
    }


def top_rows(row: Row, text: TokenText) -> list[dict]:
    return [{"id": t, "text": text(t), "prob": row.prob(t)} for t in rows.top(row, TOP).tolist()]


def doctor_object(db: Path | None) -> dict:
    """What `doctor --json` prints."""
    from engine.mlx_backend import about

    path = Path(db) if db else default_path()
    found = about.report()
    database: dict = {"path": str(path), "exists": path.exists()}
    if path.exists():
        with Store.open(path) as store:
            database |= {"bytes": store.size_bytes(), "sessions": store.number_of_sessions()}
    packages = ("gradio", "plotly", "sqlite-utils", "click")
    versions = found["versions"] | {name: importlib.metadata.version(name) for name in packages}
    return found | {"versions": versions, "database": database, "rules": list(rules.RULES)}


def doctor_text(body: dict) -> str:
    lines = [
        f"backend   MLX on the {body['device']}",
        f"BLAS      {body['blas']['kind']}: {body['blas']['detail']}",
    ]
    if body["blas"]["advice"]:
        lines.append(f"          {body['blas']['advice']}")
    lines += [f"model     {model['name']}: {model['detail']}" for model in body["models"]]
    base = body["database"]
    size = f"{base['sessions']} sessions, {base['bytes'] / 1e6:.1f} MB" if base["exists"] else "not made yet"
    lines.append(f"database  {base['path']} ({size})")
    lines.append("versions  " + ", ".join(f"{name} {version}" for name, version in body["versions"].items()))
    return "\n".join(lines)


def lanes_text(body: dict) -> str:
    """A comparison as a table, then each lane's text."""
    lines = [f"session {body['session']}, {body['mode']}"]
    for lane in body["lanes"]:
        parts = "never" if lane["first_divergence"] is None else f"at {lane['first_divergence']}"
        rate, passes = lane["counters"]["per_position_acceptance"], lane["counters"]["tokens_per_target_pass"]
        line = f"  {lane['rule']:<26} accepts {shown(rate)}  tokens/pass {shown(passes)}  parts {parts}"
        if "reproduced" in lane:
            line += "  reproduced" if lane["reproduced"] else f"  NOT reproduced ({lane['difference']})"
        if lane["mode"] == "rejudge":
            line += "" if lane["exact"] else f"  approximate (rows lack up to {lane['missing_mass']:.2%})"
        if lane["status"] not in ("finished",):
            line += f"  {lane['status']}: {lane['reason']}"
        lines.append(line)
    for lane in body["lanes"]:
        lines += ["", f"{lane['rule']} (session {lane['session']})", lane["text"]]
    return "\n".join(lines)


def show_text(body: dict) -> str:
    """One line a position."""
    head = body["head"]
    lines = [
        f"session {body['session']}: {head['rule']}, {head['drafter']}, seed {head['seed']}, {head['status']}"
    ]
    for one in body["rounds"]:
        lines.append(
            f"round {one['round']}: drafted {one['drafted']}, tested {one['tested']}, "
            f"accepted {one['accepted']}"
        )
        lines += [position_line(position) for position in one["positions"]]
    return "\n".join(lines)


def position_line(at: dict) -> str:
    line = f"  {at['position']:>4} {at['fate']:<9} {at['text']!r:<18} p {shown(at['p'])} q {shown(at['q'])}"
    if at["u"] is not None:
        line += f" u {shown(at['u'])}"
    if at.get("accept_prob") is not None:
        line += f" against {shown(at['accept_prob'])}"
    if at.get("residual_mass") is not None:
        line += f" residual mass {shown(at['residual_mass'])}"
    return line + f"  target's own {at['own_text']!r}"


def shown(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.4f}"
