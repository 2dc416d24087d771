"""Logs of other servers, read: entries, closed forms, confused rates, impossible numbers."""

import json

import pytest

from engine.core import log_check, log_reader
from engine.rules import RULES

FORMS = {rule.id: rule.closed_form for rule in RULES.values() if not rule.faulty}

#: 5 000 tested, as a run of sampler-match at T = .7 with 4 drafts may print it.
LINE = (
    "[Speculative acceptance] rule={rule} rounds=2700 proposed=10800 positions_tested=5000 accepted=2935 "
    "per_position_acceptance=0.5870 acceptance_rate=0.2718 mean_accepted_len=1.0870"
)
CLOSED = "closed_form_sum_min=0.7422 closed_form_sum_prod=0.5823"


def readings(*lines: str) -> list[log_check.Reading]:
    return [log_check.check(entry, FORMS) for entry in log_reader.read("\n".join(lines))]


def only(*lines: str) -> log_check.Reading:
    (reading,) = readings(*lines)
    return reading


def changed(line: str, **values: object) -> str:
    for key, value in values.items():
        before = line.split(f"{key}=")[1].split()[0]
        line = line.replace(f" {key}={before}", f" {key}={value}")
    return line


@pytest.mark.parametrize(
    "name", ["sampler-match", "sampler_match", "Sampler-Match", "sampler-match-no-proposal-distribution"]
)
def test_a_rate_on_the_closed_form_of_its_rule_is_that_rule(name):
    found = only(LINE.format(rule=name), CLOSED)
    assert (found.rule, found.belongs) == ("sampler-match", "closed_form_sum_prod")
    assert (found.on_its_form, found.sound) == (True, True)
    assert found.rate == 0.587
    assert "sampler-match" in found.rules_there and "stochastic" not in found.rules_there


def test_a_rule_that_names_itself_wrongly_is_told_by_its_rate():
    """vllm #40149's kind: q dropped without a word, and another rule runs."""
    found = only(LINE.format(rule="stochastic"), CLOSED)
    assert (found.on_its_form, found.sound) == (False, False)
    assert "sampler-match" in found.rules_there


def test_without_a_name_the_rate_tells():
    nameless = LINE.replace(" rule={rule}", "")
    assert only(nameless, CLOSED).rules_there == ("sampler-match", "one-hot")
    above = changed(nameless, accepted=3711, per_position_acceptance="0.7422", acceptance_rate="0.3436")
    assert "stochastic" in only(above, CLOSED).rules_there


def test_block_verification_may_accept_more_than_its_bound():
    line = changed(LINE.format(rule="block"), accepted=4100, per_position_acceptance="0.8200")
    assert only(line, CLOSED).on_its_form is True
    assert only(LINE.format(rule="block"), CLOSED).on_its_form is False


def test_an_unknown_rule_keeps_its_name_and_gets_no_verdict():
    found = only(LINE.format(rule="coin-toss"), CLOSED)
    assert (found.rule, found.on_its_form, found.sound) == ("", None, True)


@pytest.mark.parametrize("gap", [0, 5])
def test_several_sessions_between_other_lines(gap):
    noise = [f"12:00:0{i} slot {i} released" for i in range(gap)]
    log = [LINE.format(rule="sampler-match"), *noise, CLOSED, *noise, LINE.format(rule="stochastic"), CLOSED]
    first, second = readings(*log)
    assert [first.on_its_form, second.on_its_form] == [True, False]
    assert [first.entry.line, second.entry.line] == [1, 3 + 2 * gap]


def test_closed_forms_in_the_same_line_or_before_it():
    assert only(f"{LINE.format(rule='sampler-match')} {CLOSED}").on_its_form is True
    assert only(CLOSED, LINE.format(rule="sampler-match")).on_its_form is True


def test_closed_forms_go_to_the_run_they_name():
    a, b = readings(
        LINE.format(rule="stochastic") + " request=1",
        LINE.format(rule="sampler-match") + " request=2",
        CLOSED + " request=2",
    )
    assert a.fits == ()
    assert b.on_its_form is True
    assert b.entry.notes == []


def test_closed_forms_that_name_no_run_say_so_where_several_wait():
    a, b = readings(LINE.format(rule="sampler-match"), LINE.format(rule="stochastic"), CLOSED)
    assert a.on_its_form is True and b.fits == ()
    assert "2 runs were waiting" in a.entry.notes[0]


def test_swapped_rates_are_named():
    line = LINE.format(rule="sampler-match")
    found = only(changed(line, per_position_acceptance="0.2718", acceptance_rate="0.5870"))
    assert found.confused == (
        "per_position_acceptance is 0.2718, which is accepted / proposed (acceptance_rate); "
        "accepted / positions_tested is 0.5870",
        "acceptance_rate is 0.587, which is accepted / positions_tested (per_position_acceptance); "
        "accepted / proposed is 0.2718",
    )
    assert found.impossible == () and not found.sound


def test_tokens_per_pass_is_no_accepted_length():
    found = only(changed(LINE.format(rule="sampler-match"), mean_accepted_len="2.0870"))
    assert "tokens per target pass" in found.confused[0]


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"accepted": 10801}, "accepted 10801 is above proposed 10800"),
        ({"accepted": 5001}, "accepted 5001 is above positions_tested 5000"),
        ({"positions_tested": 10801}, "positions_tested 10801 is above proposed"),
        ({"rounds": 2000}, "positions_tested 5000 is above accepted + rounds 4935"),
        ({"rounds": 0}, "proposed is 10800 in 0 rounds"),
        ({"accepted": -1}, "accepted is -1, below 0"),
        ({"accepted": 2934.5}, "accepted is 2934.5, which is no count"),
        ({"accepted": "many"}, "accepted is 'many', which is no number"),
        ({"proposed": "inf"}, "proposed is 'inf', which is no number"),
        ({"per_position_acceptance": 1.2}, "per_position_acceptance is 1.2, above 1"),
        (
            {"per_position_acceptance": 0.61},
            "per_position_acceptance is 0.61, and accepted / pos",
        ),
    ],
)
def test_what_no_run_can_have_counted_is_named(changes, named):
    found = only(changed(LINE.format(rule="sampler-match"), **changes), CLOSED)
    assert any(named in sentence for sentence in found.impossible), found.impossible
    assert not found.sound


def test_sum_prod_above_sum_min_is_impossible_but_for_rounding():
    line = LINE.format(rule="sampler-match")
    (found,) = only(line, "closed_form_sum_min=0.5000 closed_form_sum_prod=0.5823").impossible
    assert "below closed_form_sum_prod" in found
    assert only(line, "closed_form_sum_min=0.5823 closed_form_sum_prod=0.5824").impossible == ()


def test_rates_that_do_not_apply_are_no_fault():
    line = (
        "[Speculative acceptance] rule=stochastic rounds=9 proposed=0 positions_tested=0 accepted=0 "
        "per_position_acceptance=n/a acceptance_rate=n/a mean_accepted_len=0.0000"
    )
    found = only(line)
    assert found.sound and found.rate is None


def test_a_printed_closed_form_counts_within_its_rounding():
    """A million tests at .58234: five standard errors from a printed .5800, within the digits of .58."""
    line = changed(
        LINE.format(rule="sampler-match"), rounds=10**6, proposed=4 * 10**6, positions_tested=10**6
    )
    line = changed(line, accepted=582_340, per_position_acceptance="0.5823", acceptance_rate="0.1456")
    line = changed(line, mean_accepted_len="0.5823")
    assert only(line, "closed_form_sum_min=0.74 closed_form_sum_prod=0.58").on_its_form is True
    assert only(line, "closed_form_sum_min=0.7400 closed_form_sum_prod=0.5800").on_its_form is False


TIMINGS = {
    "predicted_n": 100,
    "predicted_ms": 2000.0,
    "predicted_per_second": 50.0,
    "draft_n": 120,
    "draft_n_accepted": 60,
    "draft_rounds": 40,
}


@pytest.mark.parametrize(
    "wrap",
    [
        lambda body: json.dumps(body),
        lambda body: json.dumps({"content": "hi", "timings": body}, indent=2),
        lambda body: json.dumps([{"choices": [], "timings": body}]),
        lambda body: f"data: {json.dumps({'timings': body})}\n\ndata: [DONE]",
        lambda body: f"srv log_server_r: response {json.dumps({'timings': body})} done",
        lambda body: f'{{"other": 1}}\n{json.dumps({"timings": body})}\n{{broken',
    ],
    ids=["object", "within JSON", "list", "event stream", "log line", "JSON lines"],
)
def test_timings_are_found_wherever_they_stand(wrap):
    found = only(wrap(TIMINGS))
    assert found.entry.kind == "timings"
    assert log_check.rates(found.entry)["acceptance_rate"][0] == 0.5
    assert found.sound and found.rate is None


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"draft_n_accepted": 121}, "accepted 121 is above proposed 120"),
        ({"predicted_n": 59}, "predicted_n 59 is below draft_n_accepted 60"),
        ({"predicted_per_second": 80.0}, "predicted_per_second is 80"),
        ({"draft_n": "lots"}, "proposed is 'lots', which is no number"),
    ],
)
def test_timings_that_cannot_be_are_named(changes, named):
    found = only(json.dumps(TIMINGS | changes))
    assert any(named in sentence for sentence in found.impossible), found.impossible


@pytest.mark.parametrize(
    "text", ["", "nothing here", "accepted=3", "{", "[" * 100_000, "\x00\xff", '{"draft": 1}', "null"]
)
def test_a_log_without_runs_has_none(text):
    assert log_reader.read(text) == []


def test_our_own_line_is_sound():
    from engine.core.stats import Counters, acceptance_line

    line = acceptance_line("stochastic", Counters(rounds=7, proposed=28, positions_tested=20, accepted=13))
    found = only(line)
    assert found.sound, (found.confused, found.impossible)
    assert found.rule == "stochastic"
