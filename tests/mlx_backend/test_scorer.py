"""The cache holds what it says it holds, in every regime, or the session ends with a reason."""

import numpy as np
import pytest
from mlx_lm.models.cache import RotatingKVCache

from engine.core import stopping
from engine.errors import ModelError
from engine.mlx_backend import load
from engine.mlx_backend.scorer import CHUNK, CachedModel, MlxScorer, common_prefix
from tests.mlx_backend import tiny

PROMPT = tuple(np.random.default_rng(1).integers(0, tiny.VOCAB, 20).tolist())
WINDOW = 16


def fresh(model, tokens):
    """float32[V]: the logits after `tokens`, from a cache that has seen nothing else."""
    cached = CachedModel(model, "fresh")
    cached.begin(tokens)
    return cached.feed(tokens[-1:])[-1]


def offsets(cached):
    return {cache.offset for cache in cached.caches}


@pytest.mark.parametrize(
    "pattern",
    [[(4, 0)] * 5, [(4, 4)] * 5, [(4, 1), (3, 3), (0, 0), (4, 0), (5, 2), (1, 1)], [(0, 0)] * 4],
    ids=["all rejected", "all accepted", "mixed", "no drafts"],
)
def test_the_targets_cache_is_the_emitted_sequence_less_one(tiny_target, pattern):
    scorer = load.scorer(tiny_target)
    scorer.prefill(PROMPT)
    rng = np.random.default_rng(2)
    sequence = list(PROMPT)
    for k, accepted in pattern:
        drafts = rng.integers(0, tiny.VOCAB, k).tolist()
        logits = scorer.score((sequence[-1], *drafts))
        assert logits.shape == (k + 1, tiny.VOCAB)
        assert logits.dtype == np.float32
        for i in range(k + 1):
            np.testing.assert_allclose(
                logits[i], fresh(tiny_target.model, sequence + drafts[:i]), atol=1e-4, rtol=0
            )
        scorer.rewind(k - accepted)
        sequence += [*drafts[:accepted], int(logits[accepted].argmax())]
        assert scorer.cached.held == sequence[:-1]
        assert offsets(scorer.cached) == {len(sequence) - 1}


def test_a_stop_falls_between_two_chunks_and_leaves_the_cache_sound(tiny_target):
    long = PROMPT * 60
    scorer, asked = load.scorer(tiny_target), []

    class Stop(Exception):
        pass

    def ask():
        asked.append(scorer.cached.offset)
        if len(asked) == 3:
            raise Stop

    with pytest.raises(Stop), stopping.while_asking(ask):
        scorer.prefill(long)
    assert asked == [0, CHUNK, 2 * CHUNK] and offsets(scorer.cached) == {2 * CHUNK}
    assert scorer.prefill(long) == 2 * CHUNK
    np.testing.assert_array_equal(scorer.score(long[-1:])[0], fresh(tiny_target.model, long))


def test_a_rerun_is_the_same_to_the_last_bit(tiny_target):
    long = PROMPT * 60
    assert len(long) > 2 * CHUNK

    def run(scorer, prompt):
        scorer.prefill(prompt)
        out = []
        for k, accepted in [(4, 0), (4, 4), (2, 1), (0, 0)]:
            out.append(scorer.score((prompt[-1], *range(k))))
            scorer.rewind(k - accepted)
        return np.concatenate(out)

    scorer = load.scorer(tiny_target)
    first = run(scorer, long)
    again = run(scorer, long)
    elsewhere = run(load.scorer(tiny_target), long)
    assert np.array_equal(first, again)
    assert np.array_equal(first, elsewhere)
    other = (*long[: CHUNK + 50], *PROMPT[:7])
    assert np.array_equal(run(scorer, other), run(load.scorer(tiny_target), other))


def test_only_chunks_read_the_same_way_are_read_no_more(tiny_target):
    passes = []

    class Counted:
        layers = tiny_target.model.layers
        make_cache = tiny_target.model.make_cache

        def __call__(self, tokens, cache):
            passes.append(tokens.shape[1])
            return tiny_target.model(tokens, cache=cache)

    cached = CachedModel(Counted(), "counted")
    long = PROMPT * 40
    for prompt, read in [
        (long, [CHUNK, len(long) - 1 - CHUNK]),
        (long, []),
        ((*long[: CHUNK + 10], 1, 2, 3), [12]),
        (long[:100], [99]),  # 99 tokens of the first chunk are held, but were read in a wider pass
        (long[:300], [299]),  # and these in a narrower one
    ]:
        cached.begin(prompt)
        assert passes == read
        passes.clear()
        cached.feed([prompt[-1], 5, 6])
        passes.clear()


def test_a_prompt_of_one_token_needs_no_pass(tiny_target):
    scorer = load.scorer(tiny_target)
    scorer.prefill((7,))
    assert scorer.cached.held == []
    np.testing.assert_array_equal(scorer.score((7,))[0], fresh(tiny_target.model, [7]))


@pytest.mark.parametrize("n", [-1, 99])
def test_rewinding_more_than_there_is_is_refused(tiny_target, n):
    scorer = load.scorer(tiny_target)
    scorer.prefill(PROMPT)
    with pytest.raises(ModelError, match=f"take back {n} tokens"):
        scorer.rewind(n)
    assert scorer.cached.held == list(PROMPT[:-1])


class Windowed:
    """A model whose caches all rotate."""

    def __init__(self, model):
        self.model = model
        self.layers = model.layers

    def make_cache(self):
        return [RotatingKVCache(max_size=WINDOW) for _ in self.layers]

    def __call__(self, tokens, cache):
        return self.model(tokens, cache=cache)


def test_a_wrapped_rotating_cache_does_not_rewind_in_silence(tiny_target):
    cached = CachedModel(Windowed(tiny_target.model), "windowed")
    for token in [*PROMPT, *PROMPT]:
        cached.feed([token])
    with pytest.raises(ModelError, match=r"Layer 0 of windowed \(RotatingKVCache\) took back 0 of 3"):
        cached.rewind(3)
    cached.follow(PROMPT)
    assert cached.held == []  # unsound, so it starts afresh


def test_a_rotating_cache_rewinds_until_it_is_full(tiny_target):
    cached = CachedModel(Windowed(tiny_target.model), "windowed", limit=WINDOW - 1)
    cached.begin(PROMPT[:8])
    cached.feed(PROMPT[7:12])
    cached.rewind(3)
    got = cached.feed([1, 2, 3, 4])[-1]
    np.testing.assert_allclose(got, fresh(tiny_target.model, [*PROMPT[:9], 1, 2, 3, 4]), atol=1e-4, rtol=0)
    with pytest.raises(ModelError, match="windowed holds 15 tokens, and the session has reached 18"):
        cached.feed([1, 2, 3, 4, 5])
    assert cached.offset == 13


def test_a_layer_that_disagrees_ends_the_session(tiny_target):
    cached = CachedModel(tiny_target.model, "tiny")
    cached.begin(PROMPT)
    cached.caches[1].offset -= 2
    with pytest.raises(ModelError, match=r"Layer 1 of tiny \(KVCache\) is at token 15, the output at 17"):
        cached.rewind(2)


def test_an_interrupted_pass_is_not_trusted(tiny_target, monkeypatch):
    cached = CachedModel(tiny_target.model, "tiny")
    cached.begin(PROMPT)

    class Interrupted:
        def __call__(self, tokens, cache):
            tiny_target.model(tokens, cache=cache)
            raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(cached, "model", Interrupted())
        cached.feed([1, 2, 3])
    owed = cached.follow(PROMPT)
    np.testing.assert_allclose(cached.feed(owed)[-1], fresh(tiny_target.model, PROMPT), atol=1e-4, rtol=0)


def test_following_leaves_at_least_the_last_token_owed(tiny_target):
    cached = CachedModel(tiny_target.model, "tiny")
    cached.begin(PROMPT)
    cached.feed(PROMPT[-1:])
    assert cached.follow(PROMPT) == PROMPT[-1:]
    assert cached.follow((*PROMPT[:5], 1, 2)) == (1, 2)
    assert cached.held == list(PROMPT[:5])


def test_half_precision_leaves_as_float32(tiny_target):
    import mlx.core as mx

    tiny_target.model.set_dtype(mx.bfloat16)
    scorer = MlxScorer(CachedModel(tiny_target.model, "half"), tiny_target.vocab)
    scorer.prefill(PROMPT)
    assert scorer.score(PROMPT[-1:]).dtype == np.float32


def test_common_prefix():
    assert common_prefix([1, 2, 3], (1, 2, 4)) == 2
    assert common_prefix([1, 2], (1, 2, 4)) == 2
    assert common_prefix([], (1,)) == 0
