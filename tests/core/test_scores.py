"""What runs are compared by, against the slow and plain way to the same numbers."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from engine import rules
from engine.core import rows
from engine.core.matrix import judged
from engine.core.scores import SCORES, law_tv, likelihood, scores
from tests import stored


def played(rule: str, **changes) -> list:
    return list(stored.rounds_of(stored.plan(rule, **changes)))


def test_a_text_is_as_likely_as_its_tokens_were():
    done = played("stochastic")
    want, tokens = 0.0, 0
    for played_round in done:
        for i, token in enumerate(played_round.emitted):
            want += math.log(rows.dense(played_round.block.p[i])[token])
            tokens += 1
    found = likelihood(done)
    assert (found.tokens, found.impossible) == (tokens, 0) and tokens == 20
    assert found.per_token == pytest.approx(want / tokens, rel=1e-12)


def test_a_token_without_mass_leaves_no_likelihood():
    done = played("stochastic")
    cut = next(token for token in range(stored.VOCAB) if done[0].block.p[0].prob(token) == 0)
    found = likelihood([replace(done[0], emitted=(cut,)), *done[1:]])
    assert (found.impossible, found.per_token) == (1, None)
    assert math.isfinite(found.total)


@pytest.mark.parametrize("rule", ["stochastic", "sampler-match", "one-hot"])
def test_a_lossless_rules_law_is_p(rule):
    assert law_tv(played(rule), rules.get(rule)) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("rule", ["lenient", "argmax", "typical", "fault-residual-from-p"])
def test_a_biased_rules_law_is_not(rule):
    found = law_tv(played(rule), rules.get(rule))
    assert 0.01 < found < 1


def test_other_parameters_have_their_own_law():
    name, param = "lenient", rules.get("lenient").parameters[0]
    milder = rules.get(name, **{param.name: 1.0})
    done = played(name)
    assert law_tv(done, milder) == pytest.approx(0, abs=1e-9)
    assert law_tv(done, rules.get(name)) > 0.01


def test_a_rule_that_looks_ahead_has_no_law_of_a_position():
    assert law_tv(played("block"), rules.get("block")) is None


def test_the_law_of_cut_rows_comes_from_when_they_were_whole():
    done = played("lenient")
    cut = [
        replace(
            d,
            block=replace(
                d.block,
                p=tuple(rows.cut(row, 2) for row in d.block.p),
                q=tuple(rows.cut(row, 2) for row in d.block.q),
            ),
        )
        for d in done
    ]
    rule = rules.get("lenient")
    assert law_tv(cut, rule) == law_tv(done, rule)
    other = rules.get("lenient", **{rule.parameters[0].name: 0.9})
    assert law_tv(cut, other) is None
    beside = rules.with_own(other)
    whole = [replace(d, matrix=judged(d.block, beside, 5, d.final, d.n_tested)) for d in done]
    mixed = [replace(d, matrix=w.matrix) for d, w in zip(cut, whole, strict=True)]
    assert law_tv(mixed, other) == law_tv(done, other)
    assert law_tv(mixed, rule) is None  # its line has made room for the session's own


def test_all_scores_are_there_and_none_is_not_finite():
    found = scores(played("stochastic"), rules.get("stochastic"))
    assert found.keys() == SCORES.keys()
    assert all(np.isfinite(value) for value in found.values())


def test_no_rounds_have_no_scores():
    assert set(scores([], rules.get("stochastic")).values()) == {None}
