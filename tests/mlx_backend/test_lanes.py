"""A lane's cache holds its own sequence, whatever the lanes beside it read, feed and take back."""

from __future__ import annotations

import numpy as np
import pytest

from engine.errors import ModelError
from engine.mlx_backend.lane_cache import STEP
from engine.mlx_backend.lanes import Ask, Lane, LaneModel
from engine.mlx_backend.scorer import CachedModel
from tests.mlx_backend import tiny

#: Most that a logit differs from the one of a pass of its own; logits of these models span about 60.
LOGIT_BOUND = 1e-4
PROMPTS = [tuple(np.random.default_rng(n).integers(0, tiny.VOCAB, n).tolist()) for n in (20, 3, 1)]

#: What each lane does in a round: how many drafts it feeds, how many of them stay.
PATTERNS = {
    "all rejected": [[(4, 0)] * 3] * 5,
    "all accepted": [[(4, 4)] * 3] * 5,
    "mixed": [[(4, 1), (0, 0), (7, 7)], [(3, 3), (1, 0), (0, 0)], [(0, 0), (5, 2), (4, 4)]],
    "lanes that sit a round out": [[(4, 1), None, (2, 2)], [None, None, (3, 0)], [(4, 4), (2, 1), None]],
}


@pytest.fixture
def model():
    return tiny.random_model()


def fresh(model, tokens) -> np.ndarray:  # float32[V]
    cached = CachedModel(model, "fresh")
    cached.begin(tokens)
    return cached.feed(tokens[-1:])[-1]


def lanes_of(model, n: int = 3, limit: int | None = None) -> tuple[LaneModel, list[Lane]]:
    """Lanes whose every question is answered at once, alone."""
    shared = LaneModel(CachedModel(model, "shared", limit), n)

    def answer(ask: Ask):
        return shared.begin(ask.lane, ask.tokens) if ask.prompt else shared.feed([ask])[0]

    return shared, [Lane(shared, number, answer) for number in range(n)]


@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
def test_rows_and_caches_are_those_of_a_fresh_prefill(model, pattern):
    shared, lanes = lanes_of(model)
    rng = np.random.default_rng(2)
    sequences = [list(prompt) for prompt in PROMPTS]
    for lane, prompt in zip(lanes, PROMPTS, strict=True):
        lane.begin(prompt)
    for round_ in pattern:
        feeds = {
            lane: (sequences[lane][-1], *rng.integers(0, tiny.VOCAB, plan[0]).tolist())
            for lane, plan in enumerate(round_)
            if plan
        }
        asks = [Ask(shared, lane, fed) for lane, fed in reversed(feeds.items())]
        for ask, rows in zip(asks, shared.feed(asks), strict=True):
            lane, (k, accepted) = lanes[ask.lane], round_[ask.lane]
            sequence = sequences[ask.lane]
            assert rows.shape == (k + 1, tiny.VOCAB)
            for i in range(k + 1):
                expected = fresh(model, sequence + list(ask.tokens[1 : 1 + i]))
                np.testing.assert_allclose(rows[i], expected, atol=LOGIT_BOUND, rtol=0)
            lane.held.extend(ask.tokens)
            lane.rewind(k - accepted)
            sequence += [*ask.tokens[1 : 1 + accepted], int(rows[accepted].argmax())]
        for lane, sequence in zip(lanes, sequences, strict=True):
            assert lane.held == sequence[:-1]
            assert {layer.lengths[lane.number] for layer in shared.layers} == {len(sequence) - 1}
    for number, sequence in enumerate(sequences):
        single = CachedModel(model, "single")
        single.begin(sequence)
        for layer, cache in zip(shared.layers, single.caches, strict=True):
            n = len(sequence) - 1
            for ours, theirs in ((layer.keys, cache.keys), (layer.values, cache.values)):
                held, wanted = np.array(ours[number, :, :n]), np.array(theirs[0, :, :n])
                np.testing.assert_allclose(held, wanted, atol=LOGIT_BOUND, rtol=0)


def test_a_cache_grows_past_its_buffer_in_one_lane_alone(model):
    shared, (long, short, _) = lanes_of(model)
    tokens = np.random.default_rng(5).integers(0, tiny.VOCAB, STEP + 5).tolist()
    short.begin(PROMPTS[1])
    long.begin(tokens[: STEP - 2])
    assert shared.layers[0].keys.shape[2] == STEP
    fed = tokens[STEP - 3 :]
    asks = [Ask(shared, 0, tuple(fed)), Ask(shared, 1, PROMPTS[1][-1:])]
    rows = shared.feed(asks)
    assert shared.layers[0].keys.shape[2] == 2 * STEP
    np.testing.assert_allclose(rows[0][-1], fresh(model, tokens), atol=LOGIT_BOUND, rtol=0)
    np.testing.assert_allclose(rows[1][0], fresh(model, PROMPTS[1]), atol=LOGIT_BOUND, rtol=0)


def test_a_prompt_that_lanes_share_is_read_once(model):
    _, lanes = lanes_of(model)
    passes = []
    source = lanes[0].lanes.source
    forward = source._forward
    source._forward = lambda tokens, logits: passes.append(len(tokens)) or forward(tokens, logits)
    kept = [lane.begin(PROMPTS[0]) for lane in lanes]
    assert kept == [0, len(PROMPTS[0]) - 1, len(PROMPTS[0]) - 1]
    assert passes == [len(PROMPTS[0]) - 1]


def test_a_lane_follows_and_catches_up_as_alone(model):
    _, lanes = lanes_of(model)
    lane, single = lanes[1], CachedModel(model, "single")
    for one in (lane, single):
        one.begin(PROMPTS[0])
    for sequence in (PROMPTS[0] + (5, 6), (*PROMPTS[0][:7], 9), (8, 8, 8)):
        rows = []
        for one in (lane, single):
            rows.append(one.feed(one.catch_up(one.follow(sequence)))[-1])
        np.testing.assert_allclose(rows[0], rows[1], atol=LOGIT_BOUND, rtol=0)
        assert lane.held == single.held == list(sequence)


def test_a_lane_that_was_interrupted_starts_afresh(model):
    shared, lanes = lanes_of(model)
    lane = lanes[0]
    lane.begin(PROMPTS[0])
    answer, lane.ask = lane.ask, None
    with pytest.raises(TypeError):
        lane.feed((1, 2))
    lane.ask = answer
    assert lane.follow((4, 5)) == (4, 5)
    assert shared.layers[0].lengths == [0, 0, 0]


def test_nothing_of_the_session_before_is_left_in_a_lane(model):
    shared, (lane, other, _) = lanes_of(model)
    other.begin(PROMPTS[0])
    for layer in shared.layers:
        layer.keys[0], layer.values[0] = np.nan, np.nan
    lane.begin(PROMPTS[1])
    asks = [Ask(shared, 0, PROMPTS[1][-1:]), Ask(shared, 1, PROMPTS[0][-1:])]
    for rows, prompt in zip(shared.feed(asks), (PROMPTS[1], PROMPTS[0]), strict=True):
        np.testing.assert_allclose(rows[0], fresh(model, prompt), atol=LOGIT_BOUND, rtol=0)


def test_a_rewind_is_checked_and_a_limit_kept(model):
    shared, (lane, *_) = lanes_of(model, limit=22)
    lane.begin(PROMPTS[0])
    with pytest.raises(ModelError, match="Cannot take back 20 tokens"):
        lane.rewind(20)
    shared.layers[1].lengths[0] = 2
    with pytest.raises(ModelError, match=r"Layer 1 of shared \(LaneLayer\) took back 2 of 3 tokens"):
        lane.rewind(3)
    lane.begin(PROMPTS[0])
    with pytest.raises(ModelError, match="holds 22 tokens"):
        lane.feed((1,) * 4)


def test_a_window_of_attention_is_kept(model):
    shared, lanes = lanes_of(model, 2)
    lanes[0].begin(PROMPTS[0])
    lanes[1].begin(PROMPTS[1])
    layer = shared.layers[0]
    layer.current = type(layer.current)((0, 1), (2, 1))
    mask = np.array(layer.make_mask(2, window_size=3))
    assert mask.shape == (2, 1, 2, 21)
    assert [np.flatnonzero(row).tolist() for row in mask[0, 0]] == [[17, 18, 19], [18, 19, 20]]
    assert [np.flatnonzero(row).tolist() for row in mask[1, 0]] == [[0, 1, 2], [1, 2, 3]]
