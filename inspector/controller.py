"""What the command line and the screen ask for: run, stop, look, compare. Knows no Gradio and no MLX.

Sessions belong to the store and the worker. Whoever starts one may go away; whoever comes later reads the
same events. Everything returned here is plain JSON types, ready for a page or a pipe.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import asdict

from engine import rules, session
from engine.core import branch
from engine.core.ending import visible_text
from engine.core.events import PromptRead, Round, SessionFinished, SessionStarted
from engine.drafters.spec import BITS
from engine.errors import BadSetting, EngineError
from engine.faults import FAULTS
from engine.session import Request
from engine.verification import Verification
from engine.worker import Run, Worker
from inspector import law_view, view_model
from inspector.comparisons import Comparisons
from inspector.form import form_of, request_of
from inspector.lane_lines import LaneLines
from inspector.lanes import Lanes, closed_forms
from inspector.library import Library, line_view
from inspector.own_rules import in_form
from inspector.sharing import Sharing
from inspector.sinks import LateSink, Listener, StoreSink, deaf
from inspector.stats_view import Statistics
from inspector.verifying import Verifying
from storage import Store

DEFAULT_PROMPT = "Why is the sky blue?"


class Controller(Lanes, Sharing, Verifying):
    """One store, one worker. Safe to call from any thread."""

    def __init__(self, store: Store, worker: Worker | None = None) -> None:
        self.store = store
        self.worker = worker or Worker()
        self.warming = ""
        self.library = Library(store)
        self.statistics = Statistics(store)
        self.lines = LaneLines(store)
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

    def rounds(self, session_id: int, lo: int, hi: int, bars: int = view_model.BARS) -> dict:
        """Rounds lo to hi - 1 as the browser draws them, `bars` tokens a position, with the token texts they
        name."""
        views = [view_model.round_view(done, bars) for done in self.store.rounds(session_id, lo, hi)]
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

    # What can be chosen

    def choices(self) -> dict:
        """What the form offers, and its defaults."""
        return {
            "targets": ["bundled"],
            "drafters": [*(f"self:{bits}bit" for bits in BITS), "lookup", "none"],
            "rules": [rule_view(rule) for rule in rules.RULES.values()],
            "faults": [{"id": fault.id, "title": fault.title} for fault in FAULTS.values()],
            "defaults": form_of(Request(prompt=DEFAULT_PROMPT)),
        }


def rule_view(rule: rules.Rule) -> dict:
    """A rule as lists and forms show it."""
    names = ("id", "title", "meaning", "formula", "source", "closed_form")
    names += ("lossless", "greedy_only", "looks_ahead", "faulty", "params")
    view = {name: getattr(rule, name) for name in names}
    view["parameters"] = [asdict(param) for param in rule.parameters]
    return view | {"drafts_otherwise": law_view.drafts_otherwise(rule.id)}
