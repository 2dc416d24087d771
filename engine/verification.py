"""A verification as a task of the worker: load the pair, read the prompt, draw the samples, test them."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field, replace

from engine import rules, worker
from engine.core import verify
from engine.core.ending import Ending
from engine.core.events import SessionStarted
from engine.core.tally import LENGTH
from engine.core.types import Sampling
from engine.core.verify import Finding, Question
from engine.drafters import spec
from engine.errors import BadSetting
from engine.models import Models, Pair
from engine.session import Request, plan

#: What is asked when nothing is said: a prompt whose next tokens are open and whose drafts are often wrong,
#: so that few samples tell much, and few tokens to a row, so that every pair comes often enough.
DEFAULTS = Request(
    prompt="Heads or tails? Heads. Heads or tails? Tails. Heads or tails?",
    raw=True,
    sampling=Sampling(temperature=1.0, top_k=8),
    k=2,
)
SAMPLES = 4000


def planned(request: Request, samples: int) -> SessionStarted:
    """The session every sample begins. Raises BadSetting for what cannot be run or cannot be tested."""
    if request.fault:
        raise BadSetting(
            f"A verification was asked for with the fault {request.fault}.",
            "It tests the engine as it is; run a session with the fault to see it.",
        )
    started = plan(replace(request, max_tokens=max(LENGTH, request.k)))
    question(started, (0,), samples)
    return started


def question(started: SessionStarted, prompt: tuple[int, ...], samples: int) -> Question:
    return Question(
        prompt=prompt,
        rule=rules.get(started.rule, **started.params),
        sampling=started.sampling,
        seed=started.seed,
        k=started.k,
        samples=samples,
        by_context=spec.parse(started.drafter).kind in ("self", "model"),
    )


@dataclass(eq=False)
class Verification(worker.Task):
    """One verification on its way. `status` is running, finished, stopped or failed; `finding` stands once
    it is finished, `reason` once it is not to be. `fraction` is how far the samples are, None before.
    `pieces` holds the bytes of the tokens the finding names."""

    started: SessionStarted
    samples: int
    progress: str = "Starting"
    fraction: float | None = None
    status: str = "running"
    reason: str = ""
    seconds: float = 0.0
    finding: Finding | None = None
    pieces: dict[int, bytes] = field(default_factory=dict)
    prompt: tuple[int, ...] | None = None
    tokenizer: str = ""
    cancelled: threading.Event = field(default_factory=threading.Event)
    done: threading.Event = field(default_factory=threading.Event)

    def execute(self, models: Models) -> None:
        try:
            self.check()
            pair = models.pair(self.started.target, self.started.drafter, self.loading)
            begun = time.perf_counter()
            self.finding = self.verified(pair)
            self.seconds = time.perf_counter() - begun
            self._end("finished")
        except Exception as error:
            # What a stop broke off may come back as another error than Cancelled.
            by_hand = self.cancelled.is_set()
            self._end(*(("stopped", "stopped by hand") if by_hand else ("failed", worker.told(error))))

    def withdraw(self) -> None:
        self._end("stopped", "stopped before it began")

    def verified(self, pair: Pair) -> Finding:
        """Ask the question of a pair."""
        started, target = self.started, pair.target
        self.prompt = worker.prompt_tokens(self, pair)
        worker.check_bias(started, target.vocab)
        ends = Ending(target.eos_ids, started.stop, target.text.pieces).reached
        asked = question(started, self.prompt, self.samples)
        others = tuple(rules.RULES.values())
        finding = verify.verify(asked, pair.scorer, pair.drafter, ends, others, self._told)
        named = {token for one in finding.violations for token in (*one.before, one.token)}
        self.pieces = target.text.pieces(named)
        return finding

    def _told(self, message: str, fraction: float) -> None:
        self.check()
        self.progress, self.fraction = message, fraction

    def _end(self, status: str, reason: str = "") -> None:
        self.status, self.reason, self.progress = status, reason, ""
        self.done.set()
