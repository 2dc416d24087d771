"""Whole sessions in a store without MLX: the real loop on toy models, every rule in the matrix, rows cut."""

from __future__ import annotations

from dataclasses import replace

from engine import rules, session
from engine.core import loop
from engine.core.branch import branched
from engine.core.events import PromptRead, SessionFinished, SessionStarted
from engine.core.types import Sampling
from storage import Store
from tests.core import toys

VOCAB = 12
TOKENIZER = "toy-tokenizer"
#: Bytes that a careless page would run, mark up, or lose.
PIECES = dict(
    enumerate(
        (
            b"</script><script>window.pwned=1</script>",
            b"<!--",
            "\u2028".encode(),
            b" the",
            b"\n",
            b"\x00",
            b"\xf0\x9f",
            b"${window.pwned=1}",
            b'"\\',
            "\u202e".encode(),
            b"",
            b"<|end|>",
        )
    )
)


def plan(rule: str = "stochastic", **changes) -> SessionStarted:
    asked = {
        "prompt": "What does a token say? </script>",
        "raw": True,
        "drafter": "lookup",
        "rule": rule,
        "sampling": Sampling(temperature=1.0, top_k=9),
        "seed": 5,
        "k": 3,
        "max_tokens": 20,
    }
    return session.plan(session.Request(**asked | changes))


def rounds_of(begun: SessionStarted):
    rule = rules.get(begun.rule, **begun.params)
    asked = loop.Plan(toys.PROMPT, rule, begun.sampling, begun.seed, begun.k, begun.max_tokens)
    scorer = toys.ToyScorer(toys.random_logits(1, VOCAB))
    drafter = toys.ToyDrafter(toys.random_logits(2, VOCAB))
    scorer.prefill(toys.PROMPT + begun.forced)
    drafter.start(toys.PROMPT)
    drafter.commit(begun.forced)
    return loop.Generation(
        asked,
        drafter,
        scorer,
        output=begun.forced,
        drafted=begun.attempts,
        matrix_rules=rules.with_own(rule),
    )


def put(
    store: Store,
    begun: SessionStarted,
    parent: int | None = None,
    relation: str = "rerun",
    ended: bool = True,
    **more,
) -> int:
    """Run a session into the store; its id. One that has not ended stays as a crash would leave it."""
    store.learn(TOKENIZER, lambda: PIECES)
    session_id = store.create(begun, parent, None if parent is None else relation, **more)
    store.append(session_id, PromptRead(toys.PROMPT, 1.5, VOCAB, TOKENIZER, (11,), {"mlx": "0"}))
    for done in rounds_of(begun):
        store.append(session_id, done)
    if ended:
        store.append(session_id, SessionFinished("finished", f"{begun.max_tokens} tokens", 20.5))
    return session_id


def branch(store: Store, session_id: int, position: int, token: int) -> SessionStarted:
    begun = store.started(session_id)
    done = store.rounds(session_id, 0, store.session(session_id).rounds)
    return replace(branched(begun, rules.get(begun.rule), done, position, token))


def family(store: Store) -> int:
    """A session with a title, a note, tags and a star, two re-runs, a branch and the branch's re-run."""
    parent = put(store, plan(), title="The first <b>one</b>")
    store.update(parent, note="A note\nof two lines.", tags=["a", "b,c"], starred=True)
    for rule in ("block", "argmax"):
        put(store, session.under(store.started(parent), rule), parent)
    begun = branch(store, parent, 4, 3)
    child = put(store, begun, parent, "branch")
    put(store, session.under(begun, "block"), child)
    return parent
