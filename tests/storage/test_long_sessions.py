"""A long session costs the same every round: counted in SQL, in SQLite's own steps, in bytes and in drafts.
Nothing here is timed."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest

from engine.core import loop
from engine.core.events import PromptRead
from engine.rules import RULES
from inspector.controller import Controller
from inspector.screen.tail import PAGE, Tails, encode
from storage import Store
from tests.core.toys import PROMPT, ToyDrafter, ToyScorer, random_logits
from tests.core.toys import plan as loop_plan
from tests.stored import PIECES, TOKENIZER, VOCAB, plan, rounds_of

ROUNDS = 3000
EARLY, LATE = range(100, 200), range(ROUNDS - 100, ROUNDS)
K = 3


@pytest.fixture(scope="module")
def template():
    """Two real rounds that take turns, so that every round stores and sends what a real one does."""
    return list(rounds_of(plan(max_tokens=12)))[:2]


class Steps:
    """SQL statements and steps of SQLite's virtual machine on the connections of one thread."""

    def __init__(self) -> None:
        self.statements = 0
        self.machine = 0

    def watch(self, conn: sqlite3.Connection) -> None:
        conn.set_trace_callback(lambda sql: setattr(self, "statements", self.statements + 1))
        conn.set_progress_handler(lambda: setattr(self, "machine", self.machine + 1) or 0, 1)

    def leave(self, conn: sqlite3.Connection) -> None:
        conn.set_trace_callback(None)
        conn.set_progress_handler(None, 0)

    def take(self) -> tuple[int, int]:
        taken = self.statements, self.machine
        self.statements = self.machine = 0
        return taken


@pytest.fixture(scope="module")
def long_session(tmp_path_factory, template):
    """A session of 3 000 rounds as the worker writes them and a page follows them: for an early
    and a late hundred of them the steps of writing a round, those of sending it, and the bytes sent."""
    steps = Steps()
    written, sent, sizes = {}, {}, {}
    with (
        Store.open(tmp_path_factory.mktemp("long") / "a.sqlite") as store,
        closing(Controller(store)) as owner,
    ):
        store.learn(TOKENIZER, lambda: PIECES)
        session_id = store.create(plan())
        store.append(session_id, PromptRead(PROMPT, 1.5, VOCAB, TOKENIZER, (11,), {}))
        conn = store._connections._here().conn
        tails, seen = Tails(owner), {}
        for index in range(ROUNDS):
            if index in (EARLY.start, LATE.start):
                tails.update(session_id, seen := {})
                steps.watch(conn)
            steps.take()
            store.append(session_id, replace(template[index % 2], index=index))
            if index in EARLY or index in LATE:
                written[index] = steps.take()
                update = tails.update(session_id, seen)
                sent[index] = steps.take()
                assert [view["i"] for view in update["rounds"]] == [index]
                sizes[index] = len(encode({"updates": [update]}))
            else:
                steps.leave(conn)
        yield owner, session_id, written, sent, sizes


def of(steps, which) -> dict[int, int]:
    return {index: pair[("statements", "machine").index(which)] for index, pair in steps.items()}


def mean(values, where) -> float:
    return sum(values[i] for i in where) / len(where)


@pytest.mark.parametrize("which", ["statements", "machine"])
def test_writing_a_round_takes_as_many_steps_at_the_end_as_at_the_beginning(long_session, which):
    """A step more at each level of a B-tree is all that 3 000 rounds may add: a tenth, where a scan of the
    session would multiply them."""
    written = of(long_session[2], which)
    assert mean(written, EARLY) > 5
    assert mean(written, LATE) <= 1.1 * mean(written, EARLY)


@pytest.mark.parametrize("which", ["statements", "machine"])
def test_sending_a_round_takes_as_many_steps_at_the_end_as_at_the_beginning(long_session, which):
    sent = of(long_session[3], which)
    assert mean(sent, EARLY) > 2
    assert mean(sent, LATE) <= 1.1 * mean(sent, EARLY)


def test_a_delta_holds_its_round_alone(long_session):
    """The same round costs the same bytes, but for the digits of its number."""
    sizes = long_session[4]
    for parity in (0, 1):
        early, late = sizes[EARLY.start + parity], sizes[LATE.start + parity]
        assert 0 < late - early <= 8 * len(str(ROUNDS))
    assert max(sizes.values()) < 20_000


def test_a_page_that_comes_late_fetches_what_it_lacks_in_pages(long_session):
    """No delta ever carries more than a page; a tail that finds 3 000 rounds says how many there are."""
    owner, session_id, *_ = long_session
    update = Tails(owner).update(session_id, {session_id: (0, "queued", "")})
    assert update["n"] == ROUNDS and "rounds" not in update
    page = owner.rounds(session_id, ROUNDS - PAGE, ROUNDS)
    assert [view["i"] for view in page["rounds"]] == list(range(ROUNDS - PAGE, ROUNDS))
    assert json.dumps(page)


def test_the_counters_of_the_list_are_never_counted_again(long_session):
    """They are carried along round by round, and are what counting all rounds would give."""
    owner, session_id, *_ = long_session
    info = owner.store.session(session_id)
    assert info.rounds == info.counters.rounds == ROUNDS
    emitted = sum(len(done.emitted) for done in owner.store.outlines(session_id, 0, ROUNDS))
    assert info.counters.emitted == emitted


def test_the_loop_passes_no_more_rows_in_its_last_round_than_in_its_first():
    """Each round is one target pass of at most k + 1 rows and at most k drafts and k + 2 tokens fed
    to the drafter, and nothing is taken back but what was drafted."""
    target, draft, rounds = random_logits(1, 5), random_logits(2, 5), 600

    def recent(logits):
        return lambda tokens: logits(tuple(tokens)[-3:])

    class Counting(ToyDrafter):
        fed = 0

        def propose(self, context, k, sampling, coins):
            before = len(self.held)
            found = super().propose(context, k, sampling, coins)
            self.fed = len(self.held) - before
            return found

    scorer, drafter = ToyScorer(recent(target)), Counting(recent(draft))
    scorer.prefill(PROMPT)
    drafter.start(PROMPT)
    asked = loop_plan(RULES["stochastic"], k=K, max_tokens=4 * rounds)
    done = 0
    for played in loop.Generation(asked, drafter, scorer):
        assert len(scorer.widths) == done + 1 and scorer.widths[-1] <= K + 1
        assert drafter.fed <= K + 2
        assert len(played.coins) <= 4 * K + 2
        done += 1
        if done == rounds:
            break
    assert done == rounds
