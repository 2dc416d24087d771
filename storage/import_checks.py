"""What the events of one session must be to each other: what the loop itself never breaks.

Each body has the shape of storage.event_shapes already. Here its lists are held to one length, its tokens to
the vocabulary, its rows to the file, and every round to the one before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from engine.core.types import Row, Sampling
from storage.codec import row_hashes
from storage.errors import StoreError

AGAIN = "Export the session again."


def wrong(what: str) -> StoreError:
    return StoreError(what, AGAIN)


class Checker:
    """Takes one session's bodies in order. `rows` and `pieces` are the file's."""

    def __init__(self, rows: Mapping[str, Row], pieces: Mapping[str, dict[int, bytes]]) -> None:
        self.rows, self.pieces = rows, pieces
        self.started: dict = {}
        self.vocab = 0
        self.spelled = np.zeros(0, dtype=bool)  # which ids have bytes
        self.rounds = 0
        self.output = 0
        self.after = ""  # the event that came last
        self.fine: set[str] = set()  # rows whose ids were looked at

    def take(self, body: dict) -> None:
        """Raises StoreError for an event that cannot follow."""
        follows = {
            "": ("started",),
            "started": ("prompt", "finished"),
            "prompt": ("round", "finished"),
            "round": ("round", "finished"),
            "finished": (),
        }[self.after]
        if body["type"] not in follows:
            after = f"after {self.after!r}" if self.after else "first"
            raise wrong(f"An event {body['type']!r} cannot come {after}.")
        getattr(self, f"take_{body['type']}")(body)
        self.after = body["type"]

    def end(self) -> None:
        if not self.after:
            raise wrong("The session has no events.")

    def take_started(self, body: dict) -> None:
        Sampling.from_dict(body["sampling"])
        self.started = body
        self.output = len(body.get("forced", ()))
        if self.output > body["max_tokens"]:
            raise wrong(f"{self.output} forced tokens are more than max_tokens, {body['max_tokens']}.")

    def take_prompt(self, body: dict) -> None:
        if not body["tokens"]:
            raise wrong("The prompt has no tokens.")
        self.vocab = body["vocab"]
        known = self.pieces.get(body["tokenizer"], {})
        self.spelled = np.zeros(self.vocab, dtype=bool)
        self.spelled[[token for token in known if token < self.vocab]] = True
        self.check_tokens((*body["tokens"], *self.started.get("forced", ())))

    def take_finished(self, body: dict) -> None:
        """Any end will do."""

    def take_round(self, body: dict) -> None:
        if (body["index"], body["start"]) != (self.rounds, self.output):
            raise wrong(
                f"Round {body['index']} at position {body['start']} comes where round {self.rounds} at "
                f"position {self.output} should be."
            )
        check_lengths(body)
        check_decision(body)
        self.check_tokens(tokens_of(body))
        self.check_rows(body)
        self.rounds += 1
        self.output += len(body["emitted"])
        if self.output > self.started["max_tokens"]:
            raise wrong(f"The output passes max_tokens, {self.started['max_tokens']}.")

    def check_tokens(self, tokens: Iterable[int]) -> None:
        for token in tokens:
            if token >= self.vocab:
                raise wrong(f"Token {token} is outside the vocabulary of {self.vocab}.")
            if not self.spelled[token]:
                raise wrong(f"Token {token} has no bytes in the file.")

    def check_rows(self, body: dict) -> None:
        for ref in sorted(row_hashes(body) - self.fine):
            row = self.rows.get(ref)
            if row is None:
                raise wrong(f"Row {ref[:12]}… is not in the file.")
            if row.vocab != self.vocab:
                raise wrong(f"Row {ref[:12]}… is {row.vocab} wide, the vocabulary {self.vocab}.")
            bare = row.ids[~self.spelled[row.ids]]
            if len(bare):
                raise wrong(f"Token {bare[0]} of row {ref[:12]}… has no bytes in the file.")
            self.fine.add(ref)


def check_lengths(body: dict) -> None:
    """Raise StoreError unless every list of the round is as long as its k says."""
    k = len(body["tokens"])
    wanted = {
        "q": (k,),
        "p": (k + 1,),
        "attempts": (k + 1,),
        "own": (k + 1,),
        "measures": (k,),
        "raw_q": (0, k),
        "raw_p": (0, k + 1),
    }
    for name, lengths in wanted.items():
        if len(body[name]) not in lengths:
            raise wrong(f"A round of {k} drafts has {len(body[name])} {name}.")
    if len(body["checks"]) > k:
        raise wrong(f"A round of {k} drafts has {len(body['checks'])} checks.")


def check_decision(body: dict) -> None:
    """Raise StoreError unless what was accepted, what follows and what was emitted belong together."""
    k, n, following = len(body["tokens"]), body["n_accepted"], body["next_token"]
    if n > k:
        raise wrong(f"{n} of {k} drafts are accepted.")
    source = body["next_source"]
    if (following is None) != (source == "ended") or (n == k) != (source != "corrected"):
        raise wrong(f"{n} of {k} accepted drafts are followed by {following!r} as {source!r}.")
    if body["emitted"] != [*body["tokens"][:n], *([] if following is None else [following])]:
        raise wrong("What was emitted is not what was accepted and what followed.")
    if (body["residual"] is None) != (body["mass"] is None):
        raise wrong("A residual and its mass must come together.")
    for purpose, at, *_ in body["coins"]:
        if not body["start"] <= at <= body["start"] + k:
            raise wrong(f"A {purpose} coin fell at position {at}, outside its round.")
    for rule, accepted, _, _, laws, *_ in body["matrix"]:
        if accepted > k or len(laws) > k:
            raise wrong(f"{rule[:40]!r} accepts {accepted} of {k} drafts, with {len(laws)} laws.")


def tokens_of(body: dict) -> Iterable[int]:
    """Every token the round names outside its rows."""
    yield from body["tokens"]
    yield from body["own"]
    if body["next_token"] is not None:
        yield body["next_token"]
    yield from (coin[4] for coin in body["coins"] if coin[0] not in ("accept", "xtc"))
    yield from (line[2] for line in body["matrix"] if line[2] is not None)
