"""Counters as folds over rounds, each with its own denominator."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core import stats
from engine.core.events import PromptRead, SessionFinished, SessionStarted, StageTimes
from engine.core.types import Sampling
from engine.rules import RULES
from tests.core.rounds import made_round
from tests.core.toys import ToyDrafter, ToyScorer, plan, play, random_logits


def started(drafter="self:3bit") -> SessionStarted:
    return SessionStarted(
        "Hi", False, "bundled", drafter, "stochastic", {}, "stochastic", "", Sampling(), 0, 3, 12
    )


PROMPT = PromptRead(tokens=(1, 2, 3, 4), ms=200.0, vocab=3, tokenizer="t")


def test_drafts_behind_a_rejection_are_proposed_but_not_tested():
    c = stats.counters([made_round(n_accepted=1)])
    assert (c.rounds, c.proposed, c.positions_tested, c.accepted, c.emitted) == (1, 3, 2, 1, 2)
    assert (c.per_position_acceptance, c.acceptance_rate) == (1 / 2, 1 / 3)
    assert (c.mean_accepted_len, c.tokens_per_target_pass) == (1.0, 2.0)


def test_a_full_accept_tests_every_draft_and_no_more():
    c = stats.counters([made_round(n_accepted=3)])
    assert (c.proposed, c.positions_tested, c.accepted, c.emitted) == (3, 3, 3, 4)
    ended = stats.counters([made_round(n_accepted=3, ended=True)])
    assert (ended.positions_tested, ended.accepted, ended.emitted) == (3, 3, 3)


def test_a_round_without_drafts_counts_as_a_round():
    c = stats.counters([made_round((), 0)])
    assert (c.rounds, c.proposed, c.positions_tested, c.accepted, c.emitted) == (1, 0, 0, 0, 1)
    assert (c.per_position_acceptance, c.acceptance_rate, c.mean_accepted_len) == (None, None, 0.0)


def test_rounds_add_up():
    c = stats.counters([made_round(n_accepted=n) for n in (0, 1, 2, 3)] + [made_round((), 0)])
    assert (c.rounds, c.proposed, c.positions_tested, c.accepted, c.emitted) == (5, 12, 9, 6, 11)
    assert (c.per_position_acceptance, c.acceptance_rate) == (6 / 9, 6 / 12)
    assert (c.mean_accepted_len, c.tokens_per_target_pass) == (6 / 5, 11 / 5)


def test_rescued_is_accepted_although_the_target_s_own_draw_was_another():
    c = stats.counters([made_round((0, 1, 2), n_accepted=2, own=(0, 2, 0, 2))])
    assert c.rescued == 1  # draft 1; draft 2 differs too, but was rejected


def test_closed_forms_are_averaged_over_tested_positions_alone():
    """Measures are .5, .75, 1 and .125, .375, .625 by depth; the third draft was never tested."""
    c = stats.counters([made_round(n_accepted=1), made_round(n_accepted=0)])
    assert c.closed_form_sum_min == pytest.approx((0.5 + 0.75 + 0.5) / 3)
    assert c.closed_form_sum_prod == pytest.approx((0.125 + 0.375 + 0.125) / 3)


def test_nothing_yet_is_no_rate():
    c = stats.counters([])
    assert c == stats.Counters()
    for rate in ("per_position_acceptance", "acceptance_rate", "mean_accepted_len", "tokens_per_target_pass"):
        assert getattr(c, rate) is None
    assert (c.closed_form_sum_min, c.closed_form_sum_prod) == (None, None)


def test_only_rounds_are_counted():
    events = [started(), PROMPT, made_round(), SessionFinished("finished", "12 tokens", 5.0)]
    assert stats.counters(events) == stats.counters([made_round()])


@given(st.lists(st.integers(0, 3), max_size=8), st.integers(0, 8))
def test_a_fold_can_be_cut_anywhere(accepted, cut):
    rounds = [made_round(n_accepted=n) for n in accepted]
    total = stats.counters(rounds[:cut])
    for done in rounds[cut:]:
        total = total.plus(done)
    assert total == stats.counters(rounds)


def test_the_line_of_a_finished_session():
    c = stats.counters([made_round(n_accepted=1), made_round(n_accepted=3)])
    assert stats.acceptance_line("stochastic", c) == (
        "[Speculative acceptance] rule=stochastic rounds=2 proposed=6 positions_tested=5 accepted=4 "
        "per_position_acceptance=0.8000 acceptance_rate=0.6667 mean_accepted_len=2.0000"
    )
    assert stats.acceptance_line("block", stats.Counters()) == (
        "[Speculative acceptance] rule=block rounds=0 proposed=0 positions_tested=0 accepted=0 "
        "per_position_acceptance=n/a acceptance_rate=n/a mean_accepted_len=n/a"
    )


def test_counters_as_json_have_the_documented_names():
    body = stats.counters([made_round()]).to_dict()
    assert {"rounds", "proposed", "positions_tested", "accepted", "emitted", "rescued"} <= set(body)
    assert {"per_position_acceptance", "acceptance_rate", "mean_accepted_len"} <= set(body)


def test_timings_add_the_stages_and_leave_the_prompt_apart():
    times = StageTimes(draft=10.0, target=25.0, judge=5.0)
    body = stats.timings([started(), PROMPT, made_round(times=times), made_round(n_accepted=3, times=times)])
    assert (body["cache_n"], body["prompt_n"], body["prompt_ms"]) == (0, 4, 200.0)
    assert (body["prompt_per_token_ms"], body["prompt_per_second"]) == (50.0, 20.0)
    assert (body["predicted_n"], body["predicted_ms"]) == (6, 80.0)
    assert body["predicted_per_second"] == pytest.approx(75.0)
    drafted = {name: body[name] for name in ("draft_n", "draft_n_accepted", "draft_rounds", "draft_kind")}
    assert drafted == {"draft_n": 6, "draft_n_accepted": 4, "draft_rounds": 2, "draft_kind": "self:3bit"}


def test_timings_without_a_drafter_speak_of_none():
    body = stats.timings([started("none"), PROMPT, made_round((), 0)])
    assert not [name for name in body if name.startswith("draft")]


def test_timings_of_nothing_divide_by_nothing():
    body = stats.timings([started()])
    assert (body["predicted_n"], body["predicted_per_second"], body["prompt_per_token_ms"]) == (0, None, None)


@pytest.mark.parametrize("rule_id", ["stochastic", "sampler-match", "block", "argmax"])
def test_the_ceiling_lies_above_the_product(rule_id):
    drafter, scorer = ToyDrafter(random_logits(2, 5)), ToyScorer(random_logits(1, 5))
    for seed in range(8):
        c = stats.counters(play(plan(RULES[rule_id], max_tokens=20, seed=seed), drafter, scorer))
        assert 0 <= c.closed_form_sum_prod <= c.closed_form_sum_min <= 1 + 1e-12


@pytest.mark.parametrize(("rule_id", "name"), [("stochastic", "sum_min"), ("sampler-match", "sum_prod")])
def test_acceptance_sits_on_the_closed_form_of_the_rule_that_ran(rule_id, name):
    """Some 1 000 tested positions: within 5 binomial standard errors, a false alarm at one seed in 10^6."""
    drafter, scorer = ToyDrafter(random_logits(2, 5)), ToyScorer(random_logits(1, 5))
    sessions = [play(plan(RULES[rule_id], max_tokens=25, seed=seed), drafter, scorer) for seed in range(40)]
    c = stats.counters(done for session in sessions for done in session)
    forms = {"sum_min": c.closed_form_sum_min, "sum_prod": c.closed_form_sum_prod}
    error = (forms[name] * (1 - forms[name]) / c.positions_tested) ** 0.5
    assert abs(c.per_position_acceptance - forms[name]) < 5 * error
    (other,) = set(forms) - {name}
    assert abs(c.per_position_acceptance - forms[other]) > 5 * error, "the test cannot tell the two apart"
