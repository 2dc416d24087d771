"""The check of a rule: every built-in one gets the verdict it has, and what no rule may do is named."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from engine.core import law, rule_check
from engine.core.types import Address, Row, Verdict
from engine.errors import BadSetting
from engine.rules import RULES
from engine.rules.block import BlockVerification
from engine.rules.stochastic import Stochastic


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.id)
def test_every_built_in_rule_gets_its_own_verdict(rule):
    found = rule_check.check(rule)
    assert (found.lossless, found.contradicted, found.ahead) == (rule.lossless, False, False)
    assert (found.error <= rule_check.EXACT) == rule.lossless


def test_a_bias_is_shown_on_a_small_table_and_by_its_size():
    found = rule_check.check(RULES["fault-residual-from-p"])
    worst = found.worst
    assert found.error / 4 <= worst.tv <= found.error
    assert worst.tv == pytest.approx(law.law_tv(worst.emitted, worst.right))
    case = worst.case
    assert worst.emitted == law.emitted_law(
        RULES["fault-residual-from-p"], case.p, case.q, case.k, case.length
    )
    assert case.vocab**case.length <= 8


@dataclass(frozen=True)
class Unsaid(BlockVerification):
    id = "unsaid"
    looks_ahead = False


def test_a_rule_that_looks_ahead_without_saying_so_is_told_what_it_lacks():
    found = rule_check.check(Unsaid())
    assert (found.lossless, found.contradicted, found.ahead) == (False, True, True)


@dataclass(frozen=True)
class Late(Stochastic):
    """Right for two drafts, wrong from the third on."""

    id = "late"

    def judge(self, block, coins):
        if block.k < 3:
            return super().judge(block, coins)
        return RULES["argmax"].judge(block, coins)


def test_a_bias_of_long_blocks_alone_is_found():
    assert rule_check.check(Late()).contradicted


def test_the_tables_depend_on_the_tokens_before_and_hold_every_kind():
    cases = rule_check.cases()
    assert {case.kind for case in cases} == set(rule_check.KINDS)
    assert {case.vocab for case in cases} == {2, 3, 4} and {case.k for case in cases} == {1, 2, 3}
    dense = next(case for case in cases if case.kind == "dense")
    assert not np.array_equal(dense.p((0,)), dense.p((1,)))
    equal = next(case for case in cases if case.kind == "equal rows")
    assert np.array_equal(equal.p((0,)), equal.q((0,)))
    apart = next(case for case in cases if case.kind == "disjoint")
    assert np.minimum(apart.p(()), apart.q(())).sum() == 0
    assert any(0 in case.p(()) for case in cases if case.kind == "sparse")


def wrong(judge=None, draft=None):
    """A rule that does one thing no rule may do."""

    @dataclass(frozen=True)
    class Wrong(Stochastic):
        id = "wrong"

    if judge:
        Wrong.judge = judge
    if draft:
        Wrong.draft = draft
    return Wrong()


def verdict(self, block, coins, **changes):
    return replace(Stochastic.judge(self, block, coins), **changes)


MEMORY: list[int] = []


def forgetful(self, block, coins):
    MEMORY.append(1)
    return verdict(self, block, coins, degenerate=bool(len(MEMORY) % 2))


def without_mass(self, block, coins):
    done = Stochastic.judge(self, block, coins)
    zeros = np.setdiff1d(np.arange(block.p[done.n_accepted].vocab), block.p[done.n_accepted].ids)
    return replace(done, next_token=int(zeros[0])) if len(zeros) else done


@pytest.mark.parametrize(
    ("judge", "named"),
    [
        (lambda self, block, coins: 1 / 0, "judge raises ZeroDivisionError"),
        (lambda self, block, coins: None, "judge returns NoneType"),
        (lambda self, block, coins: verdict(self, block, coins, n_accepted=-1), "n_accepted is -1"),
        (lambda self, block, coins: verdict(self, block, coins, n_accepted=9), "n_accepted is 9 for"),
        (lambda self, block, coins: verdict(self, block, coins, n_accepted=0.5), r"n_accepted is 0\.5"),
        (lambda self, block, coins: verdict(self, block, coins, next_token=4), "emits 4, which is no token"),
        (lambda self, block, coins: verdict(self, block, coins, next_token=None), "emits None"),
        (without_mass, r"where p\(\d\) = 0"),
        (lambda self, block, coins: verdict(self, block, coins, next_source="luck"), "next_source is 'luck'"),
        (lambda self, block, coins: coins.flip(0.5, Address("accept", 99)), "a coin is asked for at"),
        (lambda self, block, coins: coins.flip(0.5, Address("dice", block.start)), "a coin is asked for at"),
        (lambda self, block, coins: coins.flip(0.5, Address("accept", block.start, 3)), "attempt=3"),
        (lambda self, block, coins: coins.flip(float("nan"), block.at("accept", 0)), "a chance of nan"),
        (lambda self, block, coins: coins.flip(-0.1, block.at("accept", 0)), r"a chance of -0\.1"),
        (lambda self, block, coins: coins.flip(0.5, block.at("accept", 0), per=0.0), r"per 0\.0"),
        (
            lambda self, block, coins: coins.choose(
                Row(np.empty(0, np.uint32), np.empty(0), 4), block.at("residual", 0)
            ),
            "a row without mass",
        ),
        (forgetful, "in two ways"),
    ],
)
def test_what_no_rule_may_do_is_named(judge, named):
    with pytest.raises(BadSetting, match=named) as caught:
        rule_check.check(wrong(judge=judge))
    assert caught.value.hint


def test_accepting_what_the_target_excludes_is_named():
    def everything(self, block, coins):
        done = Stochastic.judge(self, block, coins)
        return Verdict(done.checks, block.k, coins.choose(block.p[-1], block.at("target", block.k)), "bonus")

    with pytest.raises(BadSetting, match=r"where p\(\d\) = 0"):
        rule_check.check(wrong(judge=everything))


@pytest.mark.parametrize(
    ("draft", "named"),
    [
        (lambda self, row, coins, at: row.vocab, "draft returns"),
        (lambda self, row, coins, at: "a", "draft returns 'a'"),
        (lambda self, row, coins, at: {}["x"], "draft raises KeyError"),
        (lambda self, row, coins, at: coins.choose(row, Address("draft", at.position + 1)), "coin is asked"),
    ],
)
def test_what_no_draft_may_be_is_named(draft, named):
    with pytest.raises(BadSetting, match=named):
        rule_check.check(wrong(draft=draft))
