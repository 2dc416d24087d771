"""What the command line and the screen ask for: run, stop, look, compare. Knows no Gradio and no MLX.

Sessions belong to the store and the worker. Whoever starts one may go away; whoever comes later reads the
same events. Everything returned here is plain JSON types, ready for a page or a pipe.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import asdict

from engine import rules, session
from engine.core import branch, replay
from engine.core.ending import visible_text
from engine.core.events import PromptRead, Round, SessionFinished, SessionStarted
from engine.core.stats import Counters
from engine.drafters.spec import BITS
from engine.errors import BadSetting, EngineError
from engine.session import Request
from engine.verification import Verification
from engine.worker import Run, Worker
from inspector import law_view, view_model
from inspector.comparisons import Comparisons
from inspector.form import form_of, request_of
from inspector.library import Library, line_view
from inspector.own_rules import in_form
from inspector.sharing import Sharing
from inspector.sinks import LateSink, Listener, StoreSink, deaf
from inspector.stats_view import Statistics
from inspector.verifying import Verifying
from storage import SessionInfo, Store

MAX_LANES = 6
DEFAULT_PROMPT = "Why is the sky blue?"


class Controller(Sharing, Verifying):
    """One store, one worker. Safe to call from any thread."""

    def __init__(self, store: Store, worker: Worker | None = None) -> None:
        self.store = store
        self.worker = worker or Worker()
        self.warming = ""
        self.library = Library(store)
        self.statistics = Statistics(store)
        self.comparisons = Comparisons(store, self.worker)
        self.own_rules = True  # whether the form may name a Python file as its rule
        self._runs: dict[int, Run] = {}
        self._verifications: dict[int, Verification] = {}
        self._lock = threading.Lock()

    def close(self) -> None:
        """Stop what runs here and let go of the models. The store stays open."""
        self.library.close()
        self.comparisons.close()
        self.worker.close()

    # Running

    def warm(self, target: str = "bundled", drafter: str = "self:3bit") -> None:
        """Load a pair in the background; `warming` says how far it is, empty when done."""
        self.warming = f"Loading {target}"
        self.worker.warm(target, drafter, lambda message: setattr(self, "warming", message))

    def start(self, form: dict) -> int:
        """Start a session from the screen's form; its id. Raises BadSetting before anything is stored."""
        return self._submit(session.plan(request_of(in_form(form, self.own_rules))))

    def begin(self, started: SessionStarted, listen: Listener = deaf) -> tuple[Run, LateSink]:
        """Queue a session that is stored from its prompt on, for a caller who waits for it."""
        sink = LateSink(self.store, None, listen, started)
        run = Run(started, sink)
        self.worker.submit(run)
        return run, sink

    def rerun(self, session_id: int, rule_ids: list[str]) -> list[int]:
        """Run a session again under each rule, same prompt, seed and settings; the new sessions' ids.

        Raises BadSetting for an unknown rule or too many, EngineError for a session that read no prompt.
        """
        started, prompt = self.beginning(session_id)
        lanes = [session.under(started, *own_params(started, rule)) for rule in distinct(rule_ids)]
        return [self._submit(lane, session_id, prompt) for lane in lanes]

    def _submit(
        self,
        started: SessionStarted,
        parent: int | None = None,
        prompt: PromptRead | None = None,
        relation: str = "rerun",
    ) -> int:
        """Store a session and queue it. A child names its parent and the prompt it must repeat."""
        session_id = self.store.create(started, parent, None if parent is None else relation)
        run = Run(started, StoreSink(self.store, session_id, deaf))
        if prompt is not None:
            run.prompt, run.tokenizer = prompt.tokens, prompt.tokenizer
        with self._lock:
            self._runs = {i: other for i, other in self._runs.items() if not other.done.is_set()}
            self._runs[session_id] = run
        self.worker.submit(run)
        return session_id

    def stop(self, session_id: int) -> None:
        """End a session within one draft step; one that has ended stays as it is.

        Raises StoreError for an unknown session, EngineError for one that another program runs.
        """
        run = self.run_of(session_id)
        if run is not None:
            self.worker.stop(run)
        elif self.store.session(session_id).unfinished:
            raise EngineError(f"Session {session_id} runs in another Draftscope.", "Stop it there.")

    def wait(self, session_id: int) -> None:
        """Until a session of this program has ended."""
        run = self.run_of(session_id)
        if run is not None:
            run.done.wait()

    def run_of(self, session_id: int) -> Run | None:
        """The run behind a session that this program started and that has not been ended for long."""
        return self._runs.get(session_id)

    def beginning(self, session_id: int) -> tuple[SessionStarted, PromptRead]:
        """A session's first two events."""
        events = [event for _, event in self.store.events(session_id, limit=2)]
        if len(events) < 2 or not isinstance(events[1], PromptRead):
            raise EngineError(
                f"Session {session_id} never read its prompt ({self.store.session(session_id).status}).",
                "Choose a session with rounds, or run the prompt again.",
            )
        return events[0], events[1]

    # Looking

    def sessions(self, search: str = "", limit: int = 100, offset: int = 0) -> list[dict]:
        """The session list, newest first."""
        return [line_view(info) for info in self.store.sessions(search, limit, offset)]

    def head(self, session_id: int) -> dict:
        """All of a session but its rounds (see view_model.session_view)."""
        info = self.store.session(session_id)
        events = [event for _, event in self.store.events(session_id, limit=2)]
        prompt = events[1] if len(events) > 1 and isinstance(events[1], PromptRead) else None
        run = self.run_of(session_id)
        view = view_model.session_view(
            line_view(info),
            events[0],
            prompt,
            None if info.unfinished else SessionFinished(info.status, info.reason, info.ms or 0.0),
            info.counters.to_dict() | closed_forms(info.counters),
            info.rounds,
            run.progress if run else "",
        )
        if prompt is not None:
            view["prompt_pieces"] = self._pieces(prompt, prompt.tokens)
            view["forced_pieces"] = self._pieces(prompt, events[0].forced)
        rule = rules.find(info.rule)
        if rule is not None:
            view |= {"lossless": rule.lossless, "faulty": rule.faulty, "rule_title": rule.title}
        return view

    def rounds(self, session_id: int, lo: int, hi: int) -> dict:
        """Rounds lo to hi - 1 as the browser draws them, with the token texts they name."""
        views = [view_model.round_view(done) for done in self.store.rounds(session_id, lo, hi)]
        if not views:
            return {"rounds": [], "pieces": {}}
        _, prompt = self.beginning(session_id)
        named = set().union(*map(view_model.tokens_of, views))
        return {"rounds": views, "pieces": self._pieces(prompt, named)}

    def laws(self, session_id: int, index: int, i: int) -> dict:
        """Every rule's exact law where draft i of a round stood, with the token texts it names (see
        law_view.laws_view). Raises BadSetting for a round or a draft that is not there."""
        started, prompt = self.beginning(session_id)
        found = self.store.rounds(session_id, index, index + 1)
        if not found:
            raise BadSetting(f"Session {session_id} has no round {index}.", "Choose a round that has ended.")
        view = law_view.laws_at(found[0], i, rules.get(started.rule, **started.params))
        return view | {"pieces": self._pieces(prompt, view["tokens"])}

    def count(self, session_id: int) -> tuple[int, str]:
        """How many rounds there are, and the status."""
        info = self.store.session(session_id)
        return info.rounds, info.status

    def text(self, session_id: int) -> str:
        """The output as people read it: without the end-of-text token or the stop string."""
        started, prompt = self.beginning(session_id)
        return self.text_of(self.output(session_id), prompt, started.stop)

    def output(self, session_id: int) -> list[int]:
        """The output's tokens by absolute position, those a branch was given among them."""
        return branch.output(self.store.started(session_id), self.all_rounds(session_id))

    def text_of(self, tokens: list[int], prompt: PromptRead, stop: tuple[str, ...]) -> str:
        while tokens and tokens[-1] in prompt.special:
            tokens = tokens[:-1]
        pieces = self.store.pieces(prompt.tokenizer, tokens)
        return visible_text(b"".join(pieces.get(token, b"") for token in tokens), stop)

    def all_rounds(self, session_id: int) -> list[Round]:
        return self.store.rounds(session_id, 0, self.store.session(session_id).rounds)

    def _pieces(self, prompt: PromptRead, ids: Iterable[int]) -> dict[str, object]:
        found = self.store.pieces(prompt.tokenizer, ids)
        special = set(prompt.special)
        return {str(i): view_model.piece_view(piece, i in special) for i, piece in found.items()}

    # Comparing

    def lanes(self, session_id: int, children: list[int]) -> list[dict]:
        """Re-runs beside the session they repeat; under its own rule also whether it was reproduced."""
        parent = self.store.session(session_id)
        return [self._lane(parent, child) for child in children]

    def _lane(self, parent: SessionInfo, child: int) -> dict:
        info = self.store.session(child)
        baseline, rounds = self.all_rounds(parent.id), self.all_rounds(child)
        lane = {
            "rule": info.rule,
            "asked": info.asked,
            "rule_reason": self.store.started(child).reason,
            "mode": info.relation or "rerun",
            "session": child,
            "status": info.status,
            "reason": info.reason,
            "text": self.text(child) if rounds else "",
            "counters": info.counters.to_dict(),
            **closed_forms(info.counters),
            "first_divergence": replay.first_divergence(self.output(parent.id), self.output(child)),
        }
        own = info.relation != "branch" and (info.rule, info.params) == (parent.rule, parent.params)
        return lane | (repetition(parent, baseline, info, rounds) if own else {})

    def rejudge(self, session_id: int, rule_ids: list[str]) -> list[dict]:
        """The stored blocks under other rules, same drafts, same coins; no model runs."""
        started, prompt = self.beginning(session_id)
        baseline, ran = self.all_rounds(session_id), rules.get(started.rule, **started.params)
        lanes = []
        for rule_id in distinct(rule_ids):
            asked, rule, why = session.chosen(*own_params(started, rule_id), started.sampling)
            judged = replay.rejudge(baseline, rule, started.seed, ran, dict(started.attempts))
            lane = {"rule": rule.id, "asked": asked.id, "rule_reason": why}
            lane |= {"mode": "rejudge", "session": session_id}
            lane |= self._judged(started, prompt, baseline, judged)
            lanes.append(lane | (confirmation(baseline, judged) if rule == ran else {}))
        return lanes

    def _judged(
        self, started: SessionStarted, prompt: PromptRead, baseline: list[Round], judged: replay.Rejudged
    ) -> dict:
        whole, again = branch.output(started, baseline), branch.output(started, judged.rounds)
        return {
            "status": "finished" if judged.complete else "needs a run",
            "reason": judged.why,
            "exact": judged.exact,
            "missing_mass": judged.tail,
            "text": self.text_of(again, prompt, started.stop),
            "counters": judged.counters.to_dict(),
            **closed_forms(judged.counters),
            "first_divergence": replay.first_divergence(whole, again),
        }

    def choices(self) -> dict:
        """What the form offers, and its defaults."""
        return {
            "targets": ["bundled"],
            "drafters": [*(f"self:{bits}bit" for bits in BITS), "lookup", "none"],
            "rules": [rule_view(rule) for rule in rules.RULES.values()],
            "defaults": form_of(Request(prompt=DEFAULT_PROMPT)),
        }


def own_params(started: SessionStarted, rule_id: str) -> tuple[str, dict[str, float]]:
    """A lane's rule and parameters: the session's own where it is the session's own rule."""
    return rule_id, started.params if rule_id in (started.rule, started.asked) else {}


def distinct(rule_ids: list[str]) -> list[str]:
    """The rules of a comparison, each once. Raises BadSetting for none, too many, or an unknown one."""
    wanted = list(dict.fromkeys(rule_ids))
    if not 1 <= len(wanted) <= MAX_LANES:
        raise BadSetting(f"{len(wanted)} rules were named.", f"Name 1 to {MAX_LANES}.")
    for rule_id in wanted:
        rules.get(rule_id)
    return wanted


def closed_forms(counters: Counters) -> dict:
    """What theory expects of the tested positions."""
    names = ("closed_form_sum_min", "closed_form_sum_prod")
    return {name: getattr(counters, name) for name in names}


def repetition(parent: SessionInfo, baseline: list[Round], child: SessionInfo, rounds: list[Round]) -> dict:
    """Whether a re-run under the session's own rule repeats it, token for token and coin for coin.

    A session that was cut short is repeated when all it has is; `reproduced` is None for a re-run that
    was itself cut short before it came as far.
    """
    if parent.status != "finished":
        rounds = rounds[: len(baseline)]
    cut_short = child.status != "finished" and len(rounds) < len(baseline)
    difference = replay.difference(baseline[: len(rounds)] if cut_short else baseline, rounds)
    changed = changed_versions(parent.versions, child.versions)
    if difference and changed:
        difference += f" ({'; '.join(changed)})"
    return {"reproduced": False if difference else None if cut_short else True, "difference": difference}


def changed_versions(then: dict[str, str], now: dict[str, str]) -> list[str]:
    """What computed a session and its re-run, where that differs: `batch` is a version too, because passes
    that sessions share have other last bits."""
    return [
        f"{name} {then.get(name, 'none')} then, {now.get(name, 'none')} now"
        for name in dict.fromkeys((*now, *then))
        if then.get(name) != now.get(name)
    ]


def confirmation(baseline: list[Round], judged: replay.Rejudged) -> dict:
    """Whether the stored rows and the seed lead the session's own rule to the coins, tests and tokens that
    are stored; None where rows that had been cut led it elsewhere."""
    difference = replay.difference(baseline, judged.rounds)
    reproduced = not difference if judged.exact or not difference else None
    return {"reproduced": reproduced, "difference": difference}


def rule_view(rule: rules.Rule) -> dict:
    """A rule as lists and forms show it."""
    names = ("id", "title", "meaning", "formula", "source", "closed_form")
    names += ("lossless", "greedy_only", "looks_ahead", "faulty", "params")
    view = {name: getattr(rule, name) for name in names}
    view["parameters"] = [asdict(param) for param in rule.parameters]
    return view | {"drafts_otherwise": law_view.drafts_otherwise(rule.id)}
