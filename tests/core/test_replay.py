"""Re-judging is the beginning of the re-run; a comparison finds the first thing that differs."""

import functools
from dataclasses import replace

import pytest

from engine.core import replay, rows
from engine.core.events import StageTimes
from engine.core.types import Coin
from engine.rules import RULES
from tests.core.rounds import made_round
from tests.core.toys import ToyDrafter, ToyScorer, output, plan, play, random_logits

V = 5
TARGET, DRAFT = random_logits(1, V), random_logits(2, V)
SAMPLING = [rule for rule in RULES.values() if not rule.greedy_only]
ENDS = lambda output: output[-1] == 4  # noqa: E731


def ids(value):
    return value.id if hasattr(value, "id") else None


def session(rule, seed=0, **settings):
    asked = {"k": 3, "max_tokens": 16, "seed": seed} | settings
    return play(plan(rule, **asked), ToyDrafter(DRAFT), ToyScorer(TARGET), ends=ENDS)


def untimed(done):
    return [replace(played, times=StageTimes()) for played in done]


@pytest.mark.parametrize("rule", SAMPLING, ids=ids)
def test_under_its_own_rule_a_session_is_re_judged_to_itself(rule):
    for seed in range(4):
        stored = session(rule, seed)
        judged = replay.rejudge(stored, rule, seed, ran=rule)
        assert judged.complete and judged.exact and judged.why == ""
        assert list(judged.rounds) == untimed(stored)
        assert replay.difference(stored, judged.rounds) == ""
        assert judged.tokens == output(stored)


@functools.cache
def cached(rule_id, seed, **settings):
    return session(RULES[rule_id], seed, **settings)


@pytest.mark.parametrize("own", SAMPLING, ids=ids)
def test_a_re_judge_is_how_the_re_run_begins(own):
    """Under every other rule, round for round and coin for coin, up to where it says that it ends; and it
    goes on where it can. More seeds, and greedy sessions, are tried in tests/exactness/test_every_pair.py."""
    for other in SAMPLING:
        begins_alike(own, other, [(cached(own.id, seed), cached(other.id, seed), seed) for seed in range(5)])


def begins_alike(own, other, runs):
    """runs: (stored session, re-run, seed)."""
    seen = 0
    for stored, rerun, seed in runs:
        judged = replay.rejudge(stored, other, seed, ran=own)
        n = len(judged.rounds)
        assert list(judged.rounds) == untimed(rerun[:n]), (own.id, other.id, seed)
        assert replay.row_difference(judged.rounds, rerun) is None
        seen += n
        if judged.complete:
            assert judged.tokens == output(stored) == output(rerun)
            continue
        left = n > 0 and judged.rounds[-1].emitted != stored[n - 1].emitted
        redrawn = n < len(stored) and "fall on other coins" in judged.why
        assert left or redrawn or (n == 0 and "another way" in judged.why)
    draws_alike = type(own).draft is type(other).draft
    assert (seen > 0) == draws_alike


def test_it_says_where_it_leaves_the_stored_text():
    parted = 0
    for seed in range(9):
        stored = session(RULES["stochastic"], seed)
        judged = replay.rejudge(stored, RULES["argmax"], seed)
        if judged.why.startswith("another token at position "):
            position = int(judged.why.split()[-1])
            assert judged.tokens[:position] == output(stored)[:position]
            assert judged.tokens[position] != output(stored)[position]
            parted += 1
    assert parted > 3


def test_it_says_when_only_the_rounds_part():
    """A draft that is rejected and redrawn to the same token, where the other rule accepts it and goes on."""
    for seed in range(200):
        stored = session(RULES["fault-residual-from-p"], seed)
        judged = replay.rejudge(stored, RULES["sampler-match"], seed)
        if judged.why.startswith("same tokens"):
            n = len(judged.rounds)
            position = int(judged.why.split()[-2])
            ends = [len(output(done)) for done in (judged.rounds, stored[:n])]
            assert position == min(ends) < max(ends)
            return
    pytest.fail("no seed met the case")


def test_it_stops_where_drafts_would_fall_on_other_coins():
    """Block verification counts attempts: after its first stop inside a block the re-run drafts anew."""
    for seed in range(6):
        stored = session(RULES["block"], seed)
        judged = replay.rejudge(stored, RULES["stochastic"], seed)
        first = next((i for i, r in enumerate(stored) if any(r.block.attempts)), len(stored))
        assert len(judged.rounds) <= first
        if len(judged.rounds) == first < len(stored) and judged.tokens == output(stored[:first]):
            assert (
                judged.why == f"the drafts from position {stored[first].block.start} on fall on other coins"
            )
            return
    pytest.fail("no seed met the case")


def test_a_rule_that_draws_its_drafts_otherwise_has_no_path_in_common():
    judged = replay.rejudge(session(RULES["stochastic"]), RULES["gumbel"], 0, ran=RULES["stochastic"])
    assert judged.rounds == () and not judged.complete
    assert judged.why == "gumbel draws its drafts in another way than stochastic"


def test_it_goes_through_an_end_that_the_other_rule_does_not_reach():
    """The stored session ended with its block; a rule that rejects inside draws what was never drawn."""
    found = False
    for seed in range(40):
        stored = session(RULES["stochastic"], seed, k=4)
        judged = replay.rejudge(stored, RULES["sampler-match"], seed)
        if stored[-1].verdict.next_source != "ended" or len(judged.rounds) != len(stored):
            continue
        last = judged.rounds[-1]
        if last.verdict.next_source != "ended":
            rerun = session(RULES["sampler-match"], seed, k=4)
            assert last == untimed(rerun)[len(stored) - 1]
            found = True
    assert found, "no seed met the case"


def test_rows_that_were_cut_make_it_inexact_and_say_by_how_much():
    stored = session(RULES["stochastic"])
    cut = []
    for played in stored:
        block = replace(played.block, p=tuple(rows.cut(row, 3, played.own) for row in played.block.p))
        cut.append(replace(played, block=block))
    judged = replay.rejudge(cut, RULES["stochastic"], 0)
    assert not judged.exact
    judged_rows = [row for played in cut[: len(judged.rounds)] for row in played.block.p]
    assert judged.tail == max(row.tail for row in judged_rows) > 0
    assert all(played.own == before.own for played, before in zip(judged.rounds, stored, strict=False))
    assert replay.rejudge(stored, RULES["stochastic"], 0).tail == 0.0


def test_no_work_was_done_so_no_time_was_taken():
    judged = replay.rejudge(session(RULES["stochastic"]), RULES["one-hot"], 0)
    assert {played.times for played in judged.rounds} == {StageTimes()}


def test_counters_of_a_re_judge_are_those_of_its_rounds():
    stored = session(RULES["stochastic"], 3)
    judged = replay.rejudge(stored, RULES["stochastic"], 3)
    assert judged.counters.rounds == len(stored)
    assert judged.counters.emitted == len(judged.tokens)


@pytest.mark.parametrize(
    ("a", "b", "position"),
    [
        ([1, 2, 3], [1, 2, 3], None),
        ([1, 2, 3], [1, 9, 3], 1),
        ([1, 2], [1, 2, 3], None),  # still running, or stopped: nothing differs yet
        ([], [1], None),
        ([4], [5], 0),
    ],
)
def test_the_first_divergence(a, b, position):
    assert replay.first_divergence(a, b) == position
    assert replay.first_divergence(b, a) == position


def changed(done, **fields):
    return [done[0], replace(done[1], **fields), *done[2:]]


def test_a_repeated_session_does_not_differ():
    assert replay.difference(session(RULES["block"], 2), session(RULES["block"], 2)) == ""


def test_what_differs_first_is_named():
    done = session(RULES["stochastic"], 2)
    first = done[1].coins[0]
    moved = Coin(first.at, first.u / 2, first.outcome)
    found = replay.difference(done, changed(done, coins=(moved, *done[1].coins[1:])))
    assert found.startswith("round 1: coins differ: ") and repr(moved.u) in found

    check = done[1].verdict.checks[0]
    verdict = replace(
        done[1].verdict, checks=(replace(check, accept_prob=0.125), *done[1].verdict.checks[1:])
    )
    assert replay.difference(done, changed(done, verdict=verdict)).startswith("round 1: tests differ")

    emitted = (*done[1].emitted[:-1], 99)
    found = replay.difference(done, changed(done, emitted=emitted))
    assert found == f"round 1: output differ: {done[1].emitted[-1]} and 99"

    block = replace(done[1].block, tokens=(99, *done[1].block.tokens[1:]))
    assert replay.difference(done, changed(done, block=block)).startswith("round 1: drafts differ")


def test_a_missing_coin_and_a_missing_round_are_differences():
    done = session(RULES["stochastic"], 2)
    assert "coins differ" in replay.difference(done, changed(done, coins=done[1].coins[:-1]))
    assert replay.difference(done, done[:-1]) == f"round {len(done) - 1}: only one of the two has it"


def test_times_are_no_difference():
    a, b = made_round(times=StageTimes(1, 1, 1)), made_round(times=StageTimes(9, 9, 9))
    assert replay.difference([a], [b]) == ""


# The first row that differs


def nudged(done, side, at, by=1e-6):
    """A session's rounds with one row of round 1 a little off."""
    row = getattr(done[1].block, side)[at]
    probs = row.probs.copy()
    probs[0] += by
    probs[1] -= by
    rows_ = list(getattr(done[1].block, side))
    rows_[at] = replace(row, probs=probs)
    return changed(done, block=replace(done[1].block, **{side: tuple(rows_)}))


@pytest.mark.parametrize(("side", "at"), [("p", 0), ("p", 2), ("q", 0), ("q", 1)])
def test_the_first_row_that_differs_is_named_with_its_size(side, at):
    done = session(RULES["stochastic"], 2)
    found = replay.row_difference(done, nudged(done, side, at))
    assert (found.round, found.position, found.side) == (1, done[1].block.start + at, side)
    assert found.largest == pytest.approx(1e-6) and found.tv == pytest.approx(1e-6)
    assert found.token in getattr(done[1].block, side)[at].ids[:2]
    assert replay.row_difference(done, done) is None


def test_rows_behind_a_token_that_differs_are_of_another_text():
    done = session(RULES["stochastic"], 2)
    other = nudged(done, "p", 2)
    tokens = (done[1].block.tokens[0] + 1, *done[1].block.tokens[1:])
    other[1] = replace(other[1], block=replace(other[1].block, tokens=tokens))
    assert replay.row_difference(done, other) is None
    assert replay.row_difference(done, nudged(done, "p", 0)[:2]) is not None
    assert replay.row_difference(done[:1], done) is None


def test_what_one_of_two_cut_rows_leaves_out_is_no_difference_of_the_other():
    done = session(RULES["stochastic"], 2)
    kept = tuple(rows.cut(row, 2) for row in done[1].block.p)
    found = replay.row_difference(done, changed(done, block=replace(done[1].block, p=kept)))
    assert (found.side, found.tv, found.largest) == ("p", 0.0, 0.0)
