"""The endpoints for programs: run, replay, show and sessions, by name and with types.

docs/api.md is made from them. They are the controller's own methods behind plain types. Everything else on
the page is private.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING

import gradio as gr

from engine import rules
from engine.errors import EngineError
from inspector import report

if TYPE_CHECKING:
    from inspector.controller import Controller

#: Sessions that one call of `sessions` returns at most.
MOST = 1000


def endpoints(controller: Controller) -> list[Callable]:
    """The functions, their names and docstrings being those of the endpoints."""

    def run(
        prompt: str,
        rule: str = "stochastic",
        drafter: str = "self:3bit",
        target: str = "bundled",
        k: int = 4,
        max_tokens: int = 64,
        seed: int = 0,
        temperature: float = 0.8,
        top_k: int = 0,
        top_p: float = 1.0,
        min_p: float = 0.0,
        raw: bool = False,
    ) -> dict:
        """Generate once under an acceptance rule, wait for the end, and return the session.

        Parameters:
            prompt: what to ask the target model.
            rule: the id of an acceptance rule; docs/rules.md lists them.
            drafter: self:Nbit, lookup, model:PATH-OR-ID or none.
            target: bundled, a folder or a hub id.
            k: drafted tokens a round.
            max_tokens: tokens to generate at most.
            seed: decides every coin.
            temperature: 0 takes the argmax.
            top_k: keep the k most probable tokens; 0 keeps all.
            top_p: keep the fewest most probable tokens that reach this mass.
            min_p: keep tokens at least this fraction as probable as the most probable.
            raw: send the prompt as it is, without the chat template.
        Returns:
            session, text, tokens, rule, status, reason, counters, closed forms and timings, as `run --json`.
        """
        rules.get(rule)  # an id, never a file
        form = {"prompt": prompt, "rule": rule, "drafter": drafter, "target": target, "raw": raw}
        form |= {"k": k, "max_tokens": max_tokens, "seed": seed}
        form |= {"temperature": temperature, "top_k": top_k, "top_p": top_p, "min_p": min_p}
        session_id = controller.start(form)
        controller.wait(session_id)
        info = controller.store.session(session_id)
        if info.status == "failed":
            raise EngineError(f"Session {session_id} failed: {info.reason}")
        return report.session_object(controller, session_id)

    def replay(session: int, rules: list[str], mode: str = "rerun") -> dict:
        """Replay a session under other rules at its own seed.

        Parameters:
            session: the session's number.
            rules: ids of acceptance rules.
            mode: rerun (the models again, each rule on its own path, stored as child sessions) or rejudge
                (no model: the stored drafts and coins judged again until the rule leaves the stored path).
        Returns:
            session, mode, and lanes with rule, text, counters, first_divergence and, under the session's own
            rule, reproduced; as `replay --json`.
        """
        session = int(session)
        if mode == "rejudge":
            lanes = controller.rejudge(session, list(rules))
        elif mode == "rerun":
            children = controller.rerun(session, list(rules))
            for child in children:
                controller.wait(child)
            lanes = controller.lanes(session, children)
        else:
            raise EngineError(f"mode is {mode!r}.", "Choose rerun or rejudge.")
        return {"session": session, "mode": mode, "lanes": lanes}

    def show(session: int, round: int = -1) -> dict:
        """Every position of a session: drafts, rows, coins, fates.

        Parameters:
            session: the session's number.
            round: only this round; -1 shows all.
        Returns:
            session, head, and rounds with their positions, as `show --json`.
        """
        return report.show_object(controller, int(session), None if round == -1 else int(round))

    def sessions(search: str = "", limit: int = 100, offset: int = 0) -> list[dict]:
        """The session list, newest first.

        Parameters:
            search: words that must all occur in title, note, tags, prompt, rule, drafter, target or status.
            limit: how many to return, 1000 at most.
            offset: how many to skip.
        Returns:
            one object a session: id, parent_id, title, prompt, rule, status, rounds and more.
        """
        if not (1 <= limit <= MOST and offset >= 0):
            raise EngineError(
                f"limit is {limit} and offset {offset}.",
                f"Give a limit from 1 to {MOST}, an offset from 0 up.",
            )
        return controller.sessions(str(search), limit=int(limit), offset=int(offset))

    return [run, replay, show, sessions]


def register(controller: Controller) -> None:
    """Publish the endpoints. To be called inside the page's Blocks."""
    for endpoint in endpoints(controller):
        gr.api(spoken(endpoint), api_name=endpoint.__name__, concurrency_limit=4)


def spoken(endpoint: Callable) -> Callable:
    """The same function, whose refusals reach the caller as one sentence instead of a server error."""

    @wraps(endpoint)
    def call(*args: object, **kwargs: object) -> object:
        try:
            return endpoint(*args, **kwargs)
        except EngineError as error:
            raise gr.Error(str(error), print_exception=False) from error

    return call
