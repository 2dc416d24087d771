"""The law meter and the rule matrix as the screen and `show --json` hand them on."""

from __future__ import annotations

import pytest

from engine import rules
from engine.core import rows
from engine.core.coins import PhiloxCoins
from engine.core.events import Round
from engine.errors import BadSetting
from inspector import law_view, report, view_model
from tests.browser.fake import FakeController

FORM = FakeController().choices()["defaults"] | {"stop": ""}


@pytest.fixture(scope="module")
def ran() -> tuple[FakeController, list[Round]]:
    controller = FakeController()
    session = controller.start(FORM)
    while controller.count(session)[1] in ("queued", "running"):
        pass
    return controller, controller.all[session].rounds


def test_every_rule_has_a_law_or_a_word_and_lossless_laws_are_p(ran):
    controller, rounds = ran
    view = controller.laws(1, 3, 0)
    assert [line["id"] for line in view["rules"]] == list(rules.RULES)
    for line in view["rules"]:
        rule = rules.RULES[line["id"]]
        if rule.looks_ahead:
            assert "block as a whole" in line["why"]
        elif rule.lossless and not rule.greedy_only:
            assert line["tv"] < 1e-12 and line["exact"]
    overlap = 1 - rows.tv(rounds[3].block.p[0], rounds[3].block.q[0])
    stochastic = next(line for line in view["rules"] if line["id"] == "stochastic")
    assert stochastic["acceptance"] == pytest.approx(overlap)
    assert set(map(str, view["tokens"])) <= set(view["pieces"])


def test_numbers_taken_when_the_rows_were_whole_win_over_a_cut_row(ran):
    _, rounds = ran
    done = next(one for one in rounds if one.n_tested and len(one.block.p[0].ids) > 3)
    whole = law_view.laws_at(done, 0, rules.get("lenient"))
    block = done.block
    short = rows.cut(block.p[0], 2, (block.tokens[0],))
    cut = law_view.laws_at(
        type(done)(
            **{name: getattr(done, name) for name in done.__dataclass_fields__ if name != "block"},
            block=type(block)(block.start, block.tokens, block.q, (short, *block.p[1:]), block.attempts),
        ),
        0,
        rules.get("lenient"),
    )
    assert cut["missing"] == pytest.approx(short.tail) and short.tail > 0
    for before, after in zip(whole["rules"], cut["rules"], strict=True):
        if "tv" in after and after["id"] in {line.rule for line in done.matrix if line.laws[0]}:
            assert (after["tv"], after["exact"]) == (before["tv"], True)


def test_the_sessions_own_parameters_are_measured_not_the_defaults(ran):
    _, rounds = ran
    done = next(one for one in rounds if one.measures[0].overlap < 0.9)
    line = {
        line["id"]: line for line in law_view.laws_at(done, 0, rules.get("lenient", leniency=1.0))["rules"]
    }
    assert line["lenient"]["tv"] < 1e-12


def test_a_place_without_a_draft_has_no_law(ran):
    controller, rounds = ran
    with pytest.raises(BadSetting, match=rf"Draft {rounds[0].block.k} is not there"):
        controller.laws(1, 0, rounds[0].block.k)


def test_only_the_rules_that_own_the_draft_draw_it_otherwise():
    named = {rule for rule in rules.RULES if law_view.drafts_otherwise(rule)}
    assert named == {"gumbel", "fault-softmax-q", "fault-raw-q"}
    assert not law_view.drafts_otherwise("a-rule-of-tomorrow")


def test_the_matrix_of_a_view_is_what_each_rule_decides_on_the_same_coins(ran):
    _, rounds = ran
    for done in rounds[:6]:
        lines = {line[0]: line for line in view_model.round_view(done)["matrix"]}
        assert list(lines) == list(rules.RULES)
        for rule_id in ("stochastic", "block", "argmax", "fault-shared-coin"):
            verdict = rules.RULES[rule_id].judge(done.block, PhiloxCoins(FORM["seed"]))
            assert lines[rule_id][1] == verdict.n_accepted
        assert lines["stochastic"][1:] == [done.verdict.n_accepted, done.verdict.next_token, 0.0]


def test_the_bonus_behind_a_cut_block_is_the_targets_own_draw(ran):
    _, rounds = ran
    for done in rounds:
        beyond = view_model.round_view(done)["beyond"]
        if done.verdict.n_accepted == done.block.k or done.final:
            assert beyond is None
        else:
            assert beyond["token"] == done.own[-1]


def test_show_prints_the_matrix_with_fates_and_laws(ran):
    controller, rounds = ran
    body = report.show_object(controller, 1, 3)["rounds"][0]
    assert [line["rule"] for line in body["matrix"]] == list(rules.RULES)
    own = body["matrix"][0]
    assert own["fates"] == [rounds[3].fate(i) for i in range(rounds[3].block.k)]
    assert own["next_token"] == rounds[3].verdict.next_token
    assert own["laws"][0]["acceptance"] == pytest.approx(rounds[3].measures[0].overlap)
    faulty = {line["rule"] for line in body["matrix"] if line["faulty"]}
    assert faulty == {rule.id for rule in rules.RULES.values() if rule.faulty}


def test_one_position_is_the_object_that_show_prints_for_it(ran):
    controller, rounds = ran
    done = next(one for one in rounds if 0 < one.verdict.n_accepted < one.block.k)
    shown = report.show_object(controller, 1, done.index)["rounds"][0]["positions"]
    found = [report.position_object(controller, 1, done.index, i) for i in range(done.block.k + 1)]
    assert found == shown
    assert found[-1]["fate"] == "corrected"
    with pytest.raises(BadSetting, match="drafted"):
        report.position_object(controller, 1, done.index, done.block.k + 1)
