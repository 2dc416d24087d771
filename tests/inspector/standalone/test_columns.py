"""Columns and back, in Python and in the page: the same values, whatever they are."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import rules
from engine.core import loop
from engine.core.types import Sampling
from inspector import view_model
from inspector.standalone.bundle import bundle
from inspector.standalone.columns import deflated, inflated, packed, unpacked
from inspector.standalone.static_page import ASSETS, STYLES, compressed, frame
from tests.core import toys

SHARED = Path(__file__).resolve().parents[2] / "js" / "columns.json"
NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(0, 1).map(lambda value: float(f"{value:.4g}")),
    st.integers(-(2**53), 2**53),
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, st.text(max_size=4)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=10), st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=30,
)
#: Lists that every kind of column comes up in.
CASES = [
    [],
    [None, None],
    [{}, {"a": None}, {"a": 1, "b": [0.25, None]}],
    [[1, 0.5, None], [2, 0.25, 0.125]],
    [[], [1], [1, 2]],
    [0.1234, 1e-300, 0.0, 123400.0, 9.999e22],
    [0.12345, 0.1],
    [-0.0, 0.5],
    [1, 0.5],
    [True, None, "x", [1], {"a": 1}],
    [[[0.5]] * 9, [[0.25]] * 9],
]


def same(one: object, other: object) -> bool:
    """Equal to the sign of a zero, and of the same kind."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


@given(st.lists(VALUES, max_size=8))
def test_a_list_comes_back_as_it_was(values):
    assert same(unpacked(json.loads(json.dumps(packed(values)))), values)


@pytest.mark.parametrize("values", CASES)
def test_each_kind_of_column_comes_back(values):
    assert same(unpacked(packed(values)), values)


@pytest.mark.parametrize("values", CASES)
def test_the_page_has_the_same_cases(values):
    """tests/js/columns.test.mjs unpacks what stands in this file."""
    assert [packed(values), values] in json.loads(SHARED.read_text())["lists"]


def test_a_text_is_deflated_without_what_ends_a_script():
    for text in ("", "x", "päck " * 999, json.dumps(list(range(2000)))):
        found = deflated(text)
        assert "<" not in found
        assert inflated(found) == text
    shared = json.loads(SHARED.read_text())["text"]
    assert inflated(shared["deflated"]) == shared["text"]


def test_six_lanes_of_two_hundred_rounds_fit_into_three_megabytes():
    """By the bytes of a round over rows like a model's, which take no less than the bundled pair's (1.8 kB),
    those of 8000 words, and the page's own."""
    made = toy_rounds(60)
    per_round = len(json.dumps(compressed({"rounds": {"1": made}, "pieces": {}}))) / len(made)
    pieces = {str(i): f" word{i}" for i in range(8000)}
    words = len(json.dumps(compressed({"rounds": {}, "pieces": {"1": pieces}})))
    code = {"code": deflated(bundle(ASSETS, "exported.js"))}
    shell = len(frame("", "static.js", STYLES, code).encode())
    plain = len(json.dumps(made, separators=(",", ":"))) / len(made)
    assert 1800 < per_round < plain / 3
    assert shell + words + 6 * 200 * per_round < 3_000_000, (shell, words, per_round)


def toy_rounds(n: int) -> list[dict]:
    """Rounds as a screen gets them, of a pair over 3000 tokens of which some are common everywhere."""

    def logits(seed: int, spread: float):
        common = -1.1 * np.log(np.arange(1, 3001))

        def of(tokens: tuple[int, ...]) -> np.ndarray:
            here = np.random.default_rng(tokens[-2:]).normal(0, 1.6, 3000)
            alone = np.random.default_rng([seed, *tokens[-2:]]).normal(0, spread, 3000)
            return (common + here + alone).astype(np.float32)

        return of

    scorer, drafter = toys.ToyScorer(logits(1, 0.3)), toys.ToyDrafter(logits(2, 0.8))
    scorer.prefill(toys.PROMPT)
    drafter.start(toys.PROMPT)
    plan = loop.Plan(toys.PROMPT, rules.get("lenient"), Sampling(temperature=0.8), 5, 4, 10 * n)
    generation = loop.Generation(plan, drafter, scorer, matrix_rules=tuple(rules.RULES.values()))
    return [view_model.round_view(done) for done in islice(generation, n)]
