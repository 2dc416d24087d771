"""A branch: where it starts, what it starts with, and that what follows is drawn from the target."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from types import SimpleNamespace

import pytest

from engine import rules
from engine.core import law, loop, replay
from engine.core.branch import branched, drafted_before, output
from engine.core.coins import PhiloxCoins
from engine.core.events import SessionStarted, from_dict
from engine.core.types import Sampling
from engine.errors import BadSetting
from tests.core import tables, toys

WARM = Sampling(temperature=1.0)


def started(rule: str = "stochastic", **changes) -> SessionStarted:
    body = {
        "prompt": "p",
        "raw": True,
        "target": "toy",
        "drafter": "toy",
        "rule": rule,
        "params": {},
        "asked": rule,
        "reason": "",
        "sampling": WARM,
        "seed": 3,
        "k": 3,
        "max_tokens": 12,
    }
    return SessionStarted(**body | changes)


def run(begun: SessionStarted, vocab: int = 6) -> list:
    """The session's rounds on two toy models, started as the worker starts them."""
    rule = rules.get(begun.rule, **begun.params)
    plan = loop.Plan(toys.PROMPT, rule, begun.sampling, begun.seed, begun.k, begun.max_tokens)
    scorer = toys.ToyScorer(toys.random_logits(1, vocab))
    drafter = toys.ToyDrafter(toys.random_logits(2, vocab))
    scorer.prefill(toys.PROMPT + begun.forced)
    drafter.start(toys.PROMPT)
    drafter.commit(begun.forced)
    return list(loop.Generation(plan, drafter, scorer, output=begun.forced, drafted=begun.attempts))


def branch_of(begun: SessionStarted, rounds: list, position: int, token: int, **rest) -> SessionStarted:
    return branched(begun, rules.get(begun.rule), rounds, position, token, **rest)


@pytest.mark.parametrize("rule", ["stochastic", "block", "gumbel", "sampler-match", "fly"])
@pytest.mark.parametrize("position", [0, 1, 5, 10])
def test_a_branch_starts_behind_its_forced_token_and_keeps_the_budget(rule, position):
    begun = started(rule)
    rounds = run(begun)
    branch = branch_of(begun, rounds, position, 4)
    assert branch.forced == (*output(begun, rounds)[:position], 4)
    after = run(branch)
    assert after[0].block.start == position + 1
    assert len(output(branch, after)) == begun.max_tokens
    assert output(branch, after)[: position + 1] == [*output(begun, rounds)[:position], 4]


@pytest.mark.parametrize("position", range(11))
def test_forcing_the_own_token_goes_on_as_the_parent_did_where_draws_are_keyed_by_position_alone(position):
    begun = started("sampler-match")
    whole = output(begun, run(begun))
    branch = branch_of(begun, run(begun), position, whole[position])
    assert output(branch, run(branch)) == whole


@pytest.mark.parametrize("rule", ["stochastic", "block"])
def test_a_branch_repeats_itself_and_can_be_judged_again(rule):
    begun = started(rule)
    branch = branch_of(begun, run(begun), 3, 5)
    rounds = run(branch)
    assert replay.difference(rounds, run(branch)) == ""
    again = replay.rejudge(rounds, rules.get(rule), branch.seed, drafted=dict(branch.attempts))
    assert again.complete
    assert [done.emitted for done in again.rounds] == [done.emitted for done in rounds]


def test_a_branch_of_a_branch_keeps_all_that_was_given():
    begun = started("block")
    first = branch_of(begun, run(begun), 2, 5)
    rounds = run(first)
    second = branch_of(first, rounds, 6, 1)
    assert second.forced == (*output(first, rounds)[:6], 1)
    assert second.forced[:3] == first.forced
    given = {at: n for at, n in first.attempts if at > 6}
    assert all(dict(second.attempts)[at] >= n for at, n in given.items())
    above = branch_of(first, rounds, 1, 0)
    assert above.forced == (first.forced[0], 0)


def test_only_drafts_that_decided_what_stands_before_are_counted():
    rounds = [
        SimpleNamespace(block=SimpleNamespace(start=0, k=4)),
        SimpleNamespace(block=SimpleNamespace(start=2, k=4)),
        SimpleNamespace(block=SimpleNamespace(start=3, k=4)),
    ]
    begun, block = started("block"), rules.get("block")
    assert drafted_before(begun, block, rounds, 3) == ((4, 1), (5, 1))
    assert drafted_before(begun, block, rounds, 2) == ((3, 1),)
    assert drafted_before(begun, block, rounds, 0) == ()
    assert drafted_before(begun, rules.get("stochastic"), rounds, 3) == ()
    earlier = replace(begun, attempts=((2, 9), (5, 2)))
    assert drafted_before(earlier, block, rounds, 3) == ((4, 1), (5, 3))


def joint_law(rule_id: str, p_of, q_of, k: int, position: int, more: int, counted: bool = True) -> dict:
    """The exact law of (the tokens before `position`, the tokens behind the forced one), the parent's and
    the branch's rounds run on the same coins."""
    rule = rules.get(rule_id)
    p_row, q_row = law._rows_of(p_of), law._rows_of(q_of)

    def play(coins, given: tuple, attempts: dict, length: int) -> tuple[tuple, list]:
        out, done, tries = given, [], Counter(attempts)
        while len(out) < length:
            block = law._block(rule, p_row, q_row, k, out, tries, coins)
            verdict = rule.judge(block, coins)
            emitted = (*block.tokens[: verdict.n_accepted], verdict.next_token)
            done.append(SimpleNamespace(block=block, emitted=emitted))
            if rule.looks_ahead:
                tries.update(range(len(out), len(out) + k))
            out += emitted
        return out, done

    def both(coins):
        done = play(coins, (), {}, position + 1)[1]
        begun = branch_of(started(rule_id), done, position, 0)
        given = dict(begun.attempts) if counted else {}
        after, _ = play(coins, begun.forced, given, position + 1 + more)
        return begun.forced[:position], after[position + 1 :][:more]

    found: dict = defaultdict(float)
    for key, weight in law.branches(both):
        found[key] += weight
    return dict(found)


def wanted_law(p_of, position: int, more: int) -> dict:
    """Plain sampling, twice: what stands before, then what follows the forced token 0."""
    return {
        (prefix, tail): weight * share
        for prefix, weight in law.target_law(p_of, position).items()
        for tail, share in law.target_law(
            lambda after, prefix=prefix: p_of((*prefix, 0, *after)), more
        ).items()
    }


@pytest.mark.parametrize("rule_id", ["stochastic", "sampler-match", "one-hot", "block"])
def test_what_follows_a_forced_token_is_drawn_from_the_target_given_what_stands_before(rule_id):
    p_of, q_of = tables.random_table(0, 2), tables.random_table(100, 2)
    found = joint_law(rule_id, p_of, q_of, k=3, position=1, more=1)
    assert law.law_tv(found, wanted_law(p_of, 1, 1)) < 1e-12


def test_block_verification_needs_the_drafts_before_a_branch_counted():
    p_of, q_of = tables.random_table(0, 2), tables.random_table(100, 2)
    found = joint_law("block", p_of, q_of, k=3, position=1, more=1, counted=False)
    assert law.law_tv(found, wanted_law(p_of, 1, 1)) > 1e-3


def test_the_beginning_survives_its_event():
    begun = branch_of(started("block"), run(started("block")), 4, 2)
    assert begun.attempts, "the case below must have something to lose"
    assert from_dict(begun.to_dict()) == begun


def test_an_event_from_before_there_were_branches_is_read():
    body = started().to_dict()
    del body["forced"], body["attempts"]
    assert from_dict(body) == started()


@pytest.mark.parametrize(
    ("position", "rest", "named"),
    [
        (-1, {}, "position -1"),
        (12, {}, "position 12"),
        (11, {}, "max_tokens is 12"),
        (3, {"max_tokens": 4}, "4 tokens"),
    ],
)
def test_a_branch_that_cannot_be_is_refused(position, rest, named):
    begun = started()
    with pytest.raises(BadSetting) as caught:
        branch_of(begun, run(begun), position, 0, **rest)
    assert named in caught.value.message and caught.value.hint


def test_coins_keep_their_addresses():
    begun = started("sampler-match")
    branch = branch_of(begun, run(begun), 4, 0)
    coins = PhiloxCoins(begun.seed)
    for done in run(branch):
        assert all(coin.u == coins.uniform(coin.at) for coin in done.coins)
        assert all(coin.at.position > 4 for coin in done.coins)
