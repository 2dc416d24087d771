"""Each engine fault shows in the numbers of a toy pair, where it should and nowhere else; the healthy engine
shows in none. Everything here is decided by seeds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from engine import faults, rules
from engine.core import rows
from engine.core.coins import RecordingCoins
from engine.core.exactness import ALPHA
from engine.core.loop import Generation, Plan
from engine.core.types import Address, Sampling
from engine.core.verify import Question
from engine.drafters.spec import parse
from engine.errors import BadSetting
from engine.fault_probe import Probe, probe
from engine.session import Request, plan, under
from engine.worker import Run, generate
from tests.core.toys import PROMPT, ToyDrafter, ToyScorer, random_logits
from tests.engine.fakes import Ear, FakeModels, Target

VOCAB = 6
#: Something for every fault to bite on: a temperature, a filter, a penalty.
SAMPLING = Sampling(temperature=0.6, top_k=4, repetition_penalty=2.0)
SAMPLES = 1500


def pair() -> tuple[ToyScorer, ToyDrafter]:
    return ToyScorer(random_logits(1, VOCAB)), ToyDrafter(random_logits(2, VOCAB))


def probed(fault: str) -> Probe:
    question = Question(PROMPT, rules.get("stochastic"), SAMPLING, 0, 3, SAMPLES, True)
    return probe(question, *pair(), fault)


@pytest.fixture(scope="module")
def found() -> dict[str, Probe]:
    return {name: probed(name) for name in ("", *faults.FAULTS)}


def failing(one: Probe) -> set[str]:
    tests = {"first tokens": one.first, "pairs": one.pairs, "drafts": one.drafts}
    return {name for name, test in tests.items() if test.fails}


#: What fails for each fault with this pair, and nothing else does: a right engine fails each test once in
#: 1 / ALPHA seeds, and this seed is not one of them.
SIGNATURES = {
    "": set(),
    "draft-cache-trimmed": set(),
    "target-not-rewound": {"pairs"},
    "rows-shifted": {"first tokens", "pairs"},
    "stale-penalties": {"pairs"},
    "drafter-at-t1": {"first tokens", "pairs", "drafts"},
    "unfiltered-q": {"drafts"},
}


def test_every_fault_has_a_signature():
    assert set(SIGNATURES) == {"", *faults.FAULTS}


@pytest.mark.parametrize("fault", SIGNATURES)
def test_a_fault_shows_where_it_should_and_nowhere_else(found, fault):
    one = found[fault]
    assert failing(one) == SIGNATURES[fault], (
        f"p-values {one.first.p_value:.2g}, {one.pairs.p_value:.2g}, {one.drafts.p_value:.2g}; a right "
        f"engine fails one of them in {1 / ALPHA:.0f} seeds"
    )


def test_the_same_probe_twice_is_the_same(found):
    assert probed("rows-shifted").firsts == found["rows-shifted"].firsts


def play(fault: str, seed: int, k: int = 4, n: int = 60) -> list:
    """One long session of the toy pair."""
    known = faults.find(fault)
    scorer, drafter = pair()
    scorer, drafter = known.scorer(scorer), known.drafter(drafter)
    scorer.prefill(PROMPT)
    drafter.start(PROMPT)
    asked = Plan(PROMPT, rules.get("stochastic"), SAMPLING, seed, k, n)
    return list(known.generation(asked, drafter, scorer))


def rate(sessions: list[list]) -> float:
    rounds = [done for session in sessions for done in session]
    return sum(done.verdict.n_accepted for done in rounds) / sum(done.n_tested for done in rounds)


def close_logits(seed: int):
    """Two models that nearly agree, as long as they read the same text."""
    base, other = random_logits(3, VOCAB, 2.0), random_logits(seed, VOCAB, 0.2)
    return lambda tokens: base(tokens) + other(tokens)


def test_a_draft_cache_trimmed_too_far_costs_acceptance_and_no_exactness(monkeypatch, found):
    def near() -> tuple[ToyScorer, ToyDrafter]:
        return ToyScorer(close_logits(4)), ToyDrafter(close_logits(5))

    monkeypatch.setitem(globals(), "pair", near)
    healthy = rate([play("", seed) for seed in range(12)])
    faulty = rate([play("draft-cache-trimmed", seed) for seed in range(12)])
    assert healthy > 0.8
    assert faulty < healthy - 0.2
    assert not failing(found["draft-cache-trimmed"])


def test_a_trimmed_cache_follows_a_sequence_with_tokens_missing():
    """After each round in which two or more drafts fell, one token more is missing, the last but one."""
    scorer, inner = pair()
    drafter = faults.find("draft-cache-trimmed").drafter(inner)
    scorer.prefill(PROMPT)
    drafter.start(PROMPT)
    view, lost = list(PROMPT), 0
    asked = Plan(PROMPT, rules.get("stochastic"), SAMPLING, 0, 4, 40)
    for done in Generation(asked, drafter, scorer):
        view.extend(done.emitted)
        if done.block.k - len(done.emitted) >= 1:
            del view[-2]
            lost += 1
        assert [*drafter.prompt, *drafter.output] == view
        assert inner.sequence == view
    assert lost > 3


def test_draft_coins_keep_their_addresses_when_the_drafter_counts_too_few():
    """Every draft's coin lies at the position the draft has in the output, so a re-run meets it again."""
    for done in play("draft-cache-trimmed", 1):
        drafted = [coin.at.position for coin in done.coins if coin.at.purpose == "draft"]
        assert drafted == list(range(done.block.start, done.block.start + done.block.k))


def test_moved_coins_move_every_kind_of_draw():
    coins, moved = RecordingCoins(7), faults.Moved(RecordingCoins(7), 3)
    row = rows.from_dense(np.array([0.2, 0.3, 0.5]))
    here, there = Address("draft", 2), Address("draft", 5)
    assert moved.choose(row, here) == coins.choose(row, there)
    assert moved.race(row, here) == coins.race(row, there)
    assert moved.flip(0.4, here) == coins.flip(0.4, there)


def test_a_target_that_is_not_rewound_keeps_every_draft():
    scorer, drafter = pair()
    kept = faults.find("target-not-rewound").scorer(scorer)
    kept.prefill(PROMPT)
    drafter.start(PROMPT)
    asked = Plan(PROMPT, rules.get("stochastic"), SAMPLING, 0, 3, 30)
    fed = sum(1 + done.block.k for done in Generation(asked, drafter, kept))
    assert len(scorer.held) == len(PROMPT) - 1 + fed


def test_shifted_rows_are_those_behind_and_a_plain_step_is_right():
    scorer, _ = pair()
    scorer.prefill(PROMPT)
    right = scorer.score((1, 2, 3))
    scorer.rewind(3)
    shifted = faults.find("rows-shifted").scorer(scorer)
    assert np.array_equal(shifted.score((1, 2, 3)), right[[1, 2, 2]])
    shifted.rewind(3)
    assert np.array_equal(shifted.score((1,)), right[:1])


def test_stale_penalties_do_not_see_the_rounds_own_drafts():
    """The row behind a drafted token is the one that would stand there had the token not been drafted."""
    for done in play("stale-penalties", 3)[:6]:
        start = done.block.start
        healthy = play("", 3)
        assert all(p.vocab == VOCAB for p in done.block.p)
        if start == 0:
            assert done.block.p[0] == healthy[0].block.p[0]
            assert any(a != b for a, b in zip(done.block.p[1:], healthy[0].block.p[1:], strict=True))


def test_a_drafter_at_temperature_1_states_the_row_at_the_sessions():
    """q is the healthy row to the last bit; what fell is a draw from it at temperature 1."""
    scorer, drafter = pair()
    drafter.start(PROMPT)
    healthy = drafter.propose((), 1, SAMPLING, RecordingCoins(0)).rows[0]
    drafter.start(PROMPT)
    coins = RecordingCoins(0)
    faulty = faults.find("drafter-at-t1").drafter(drafter)
    assert faulty.propose((), 1, SAMPLING, coins).rows == (healthy,)
    (coin,) = coins.take()
    flat = rows.dense(healthy) ** SAMPLING.temperature
    drawn = rows.from_dense(flat / flat.sum())
    assert coin.outcome == rows.quantile(drawn, coin.u)
    assert scorer.vocab == VOCAB


@pytest.mark.parametrize("order", ["filters-then-temperature", "temperature-first"])
def test_unfiltered_q_draws_from_the_filtered_row_and_states_the_whole(order):
    sampling = replace(SAMPLING, order=order)
    _, drafter = pair()
    drafter.start(PROMPT)
    healthy = drafter.propose((), 1, sampling, RecordingCoins(0)).rows[0]
    drafter.start(PROMPT)
    coins = RecordingCoins(0)
    stated = faults.find("unfiltered-q").drafter(drafter).propose((), 1, sampling, coins).rows[0]
    assert len(healthy.ids) == 4 < len(stated.ids) == VOCAB
    (coin,) = coins.take()
    assert coin.outcome == rows.quantile(healthy, coin.u)
    drawn = faults.filtered(stated, sampling)
    assert np.allclose(rows.dense(drawn), rows.dense(healthy), rtol=0, atol=1e-12)


# Asking for one


@pytest.mark.parametrize(
    ("fault", "changes", "why"),
    [
        ("nonsense", {}, "There is no fault 'nonsense'"),
        ("stale-penalties", {}, "no penalty is on"),
        ("unfiltered-q", {}, "no filter cuts"),
        ("unfiltered-q", {"sampling": Sampling(temperature=0)}, "no filter cuts"),
        ("drafter-at-t1", {"sampling": Sampling(temperature=1)}, "at temperature 1"),
        ("drafter-at-t1", {"sampling": Sampling(temperature=0)}, "at temperature 0"),
        ("drafter-at-t1", {"drafter": "lookup"}, "lookup runs no model"),
        ("draft-cache-trimmed", {"drafter": "lookup"}, "lookup runs no model"),
        ("rows-shifted", {"drafter": "none"}, "nothing is drafted"),
        ("target-not-rewound", {"k": 0}, "k is 0"),
    ],
)
def test_a_fault_that_would_change_nothing_is_refused(fault, changes, why):
    with pytest.raises(BadSetting, match=why):
        plan(Request("hello", fault=fault, **changes))


@pytest.mark.parametrize("fault", faults.FAULTS)
def test_a_session_keeps_its_fault_and_so_does_its_rerun(fault):
    started = plan(Request("hello", sampling=SAMPLING, fault=fault))
    assert started.fault == fault
    assert under(started, "block").fault == fault


def test_the_worker_runs_a_session_with_its_fault():
    """The same seed on the worker's fake pair: the faulty session leaves out the penalty within a round."""
    heard = {}
    for fault in ("", "stale-penalties"):
        asked = Request(
            "a b", sampling=Sampling(temperature=1.0, presence_penalty=2.0), fault=fault, max_tokens=16
        )
        ear = Ear()
        generate(Run(plan(asked), ear), FakeModels().pair("", "", lambda message, fraction: None))
        heard[fault] = ear.rounds
    assert heard[""][0].block.p[0] == heard["stale-penalties"][0].block.p[0]
    assert any(a.block.p != b.block.p for a, b in zip(heard[""], heard["stale-penalties"], strict=False))


def test_a_healthy_pair_is_left_as_it_is():
    pair = FakeModels().pair("", "", lambda message, fraction: None)
    same = faults.switched("", pair)
    assert (same.scorer, same.drafter) == (pair.scorer, pair.drafter)
    assert isinstance(same.target, Target)
    assert faults.find("").generation is Generation


def test_faults_know_which_drafters_they_fit():
    assert faults.checked("rows-shifted", Sampling(), parse("lookup"), 4) == "rows-shifted"
    assert faults.checked("", Sampling(temperature=0), parse("none"), 0) == ""
