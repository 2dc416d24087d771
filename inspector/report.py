"""What the command line prints: JSON objects for programs, and the same as text for people."""

from __future__ import annotations

import importlib.metadata
import json
from pathlib import Path

import click

from engine import rules
from engine.core import rows, stats
from engine.core.events import Judged, Round
from engine.core.types import Row
from engine.errors import BadSetting
from inspector import view_model
from inspector.controller import Controller
from inspector.faults import marked, watermark
from inspector.lanes import closed_forms
from inspector.law_view import drafts_otherwise
from storage import Store, default_path

TOP = 8  # tokens of a row in `show`


def emit(body: dict) -> None:
    """One object on stdout. NaN would be no JSON, so it is an error here."""
    click.echo(json.dumps(body, ensure_ascii=False, allow_nan=False, indent=1))


def session_object(controller: Controller, session_id: int) -> dict:
    """What `run --json` prints."""
    info = controller.store.session(session_id)
    events = [event for _, event in controller.store.events(session_id)]
    started = events[0]
    return {
        "session": session_id,
        "text": controller.text(session_id),
        "tokens": controller.output(session_id),
        "rule": info.rule,
        "asked": info.asked,
        "rule_reason": started.reason,
        "fault": info.fault,
        "watermark": watermark(info.fault, info.rule),
        "status": info.status,
        "reason": info.reason,
        "counters": info.counters.to_dict(),
        **closed_forms(info.counters),
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
        "matrix": [matrix_object(done, one, text) for one in done.matrix],
    }


def matrix_object(done: Round, one: Judged, text: TokenText) -> dict:
    """What one rule would have done with the round's drafts; `laws` is per tested draft, None where the rule
    has no law of a position by itself."""
    rule = rules.find(one.rule)
    fates = [
        "accepted" if i < one.n_accepted else "rejected" for i in range(min(one.n_accepted + 1, done.block.k))
    ]
    fates += ["untested"] * (done.block.k - len(fates))
    return {
        "rule": one.rule,
        "params": one.params,
        "lossless": None if rule is None else rule.lossless,
        "faulty": None if rule is None else rule.faulty,
        "draws_drafts_otherwise": drafts_otherwise(one.rule),
        "accepted": one.n_accepted,
        "fates": fates,
        "next_token": one.next_token,
        "next_text": None if one.next_token is None else text(one.next_token),
        "next_source": one.next_source,
        "laws": [None if law is None else {"tv": law.tv, "acceptance": law.acceptance} for law in one.laws],
    }


def position_object(controller: Controller, session_id: int, index: int, pos: int) -> dict:
    """What `show --json` prints for one position of a round: a draft by its place in the block, or k for the
    token that follows the accepted ones. Raises BadSetting for a place that is not there."""
    one = show_object(controller, session_id, index)["rounds"][0]
    followed = one["positions"][one["drafted"] :]
    if pos == one["drafted"] and followed:
        return followed[0]
    if not 0 <= pos < one["drafted"]:
        raise BadSetting(
            f"position is {pos}; round {index} drafted {one['drafted']}.",
            "Give a draft's place from 0, or the number of drafts for the token that follows them.",
        )
    return one["positions"][pos]


def draft_object(done: Round, i: int, text: TokenText) -> dict:
    """Draft i: the rule's test and its coin; where it was rejected, also the residual's draw."""
    x, fate, checks = done.block.tokens[i], done.fate(i), done.verdict.checks
    return place_object(done, i, x, fate, text) | {
        "u": checks[i].u if i < len(checks) else None,
        "accept_prob": checks[i].accept_prob if i < len(checks) else None,
        "rescued": fate == "accepted" and done.own[i] != x,
        **residual_object(done if fate == "rejected" else None, text),
    }


def next_object(done: Round, text: TokenText) -> dict:
    """The corrected or bonus token; its u is the coin of the draw that chose it."""
    i, token = done.verdict.n_accepted, done.verdict.next_token
    return place_object(done, i, token, done.verdict.next_source, text) | {
        "u": done.draw.u if done.draw else None,
        "accept_prob": None,
        "rescued": False,
        **residual_object(done, text),
    }


def place_object(done: Round, i: int, token: int, fate: str, text: TokenText) -> dict:
    """What a position of the block has whatever became of it; no q, so no TV, behind a whole block.
    `logprob` is ln p of the token where it was emitted, under the target's effective row."""
    p, q = done.block.p[i], done.block.q[i] if i < done.block.k else None
    measure = None if q is None else done.measures[i]
    return {
        "position": done.block.start + i,
        "attempt": done.block.attempts[i],
        "fate": fate,
        "x": token,
        "text": text(token),
        "q": None if q is None else view_model.known(q, token),
        "p": view_model.known(p, token),
        "logprob": None if fate in ("rejected", "untested") else rows.log_prob(p, token),
        "own_draw": done.own[i],
        "own_text": text(done.own[i]),
        "tv": None if measure is None else max(0.0, 1.0 - measure.overlap),
        "entropy_p": done.entropy_bonus if measure is None else measure.entropy_p,
        "entropy_q": None if measure is None else measure.entropy_q,
        "top_p": top_rows(p, text),
        "top_q": None if q is None else top_rows(q, text),
    }


def residual_object(done: Round | None, text: TokenText) -> dict:
    """The residual of the position that was rejected: mass, draw and top; None where there is none."""
    verdict = done.verdict if done and done.verdict.residual is not None else None
    return {
        "residual_mass": verdict.mass if verdict else None,
        "residual_draw": verdict.next_token if verdict else None,
        "degenerate": verdict.degenerate if verdict else False,
        "top_residual": top_rows(verdict.residual, text) if verdict else None,
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
        line = f"  {lane['lane']:<26} accepts {shown(rate)}  tokens/pass {shown(passes)}  parts {parts}"
        if "reproduced" in lane:
            line += f"  {repeated(lane)}"
        if lane["mode"] == "rejudge":
            line += (
                "" if lane["exact"] else f"  approximate (rows lack up to {percent(lane['missing_mass'])})"
            )
        if lane["status"] != "finished":
            line += f"  {lane['status']}: {lane['reason']}"
        if lane["rule_reason"]:
            line += f"  instead of {lane['asked']}, {lane['rule_reason']}"
        if lane["watermark"]:
            line += f"  [{lane['watermark']}]"
        lines.append(line)
    for lane in body["lanes"]:
        lines += ["", marked(f"{lane['rule']} (session {lane['session']})", lane["watermark"]), lane["text"]]
    return "\n".join(lines)


def repeated(lane: dict) -> str:
    """How a lane under the session's own rule compares with the session."""
    if lane["reproduced"] is None:
        return "the same as far as it goes"
    if lane["reproduced"]:
        return "reproduced"
    return f"NOT reproduced ({lane['difference']}{row_text(lane.get('row'))})"


def row_text(row: dict | None) -> str:
    """The first row that is not the same, and by how much."""
    if row is None:
        return ""
    place = f"{row['side']} at position {row['position']}, round {row['round']}"
    return f"; the first row that differs is {place}, by up to {row['largest']:.1e}, TV {row['tv']:.1e}"


def show_text(body: dict) -> str:
    """One line a position."""
    head = body["head"]
    lines = [
        f"session {body['session']}: {head['rule']}, {head['drafter']}, seed {head['seed']}, {head['status']}"
    ]
    if head["watermark"]:
        lines.append(head["watermark"])
    if head["reason"]:
        lines.append(f"{head['asked']} runs as {head['rule']}: {head['reason']}")
    for one in body["rounds"]:
        lines.append(
            f"round {one['round']}: drafted {one['drafted']}, tested {one['tested']}, "
            f"accepted {one['accepted']}"
        )
        lines += [position_line(position) for position in one["positions"]]
    return "\n".join(lines)


def position_line(at: dict) -> str:
    line = f"  {at['position']:>4} {at['fate']:<9} {at['x']:>6} {at['text']!r:<18}"
    line += f" p {shown(at['p'])} q {shown(at['q'])}"
    if at["u"] is not None:
        line += f" u {shown(at['u'])}"
    if at["accept_prob"] is not None:
        line += f" against {shown(at['accept_prob'])}"
    if at["residual_mass"] is not None:
        line += f" residual mass {shown(at['residual_mass'])}"
    return line + f"  target's own {at['own_text']!r}"


def percent(share: float) -> str:
    return "<0.01%" if 0 < share < 1e-4 else f"{share:.2%}"


def shown(value: float | None) -> str:
    """Four places; what they would round to a false 0 is named as small."""
    if value is None:
        return "n/a"
    return "<0.0001" if 0 < value < 1e-4 else f"{value:.4f}"
