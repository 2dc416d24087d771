"""Faults end to end on real models: NaN weights, a window that is full, seeds, the smallest prompts."""

from __future__ import annotations

from dataclasses import replace

import mlx.core as mx
import numpy as np
import pytest

from engine import session
from engine.core.types import Sampling
from engine.mlx_backend import load
from inspector.controller import Controller
from tests.mlx_backend import tiny
from tests.playing import NO_EOS, WAIT_S, asked, play, rounds_of, tokens_of

# Rows that are no distribution


@pytest.fixture(scope="module")
def broken(tmp_path_factory) -> str:
    """A model whose every logit is NaN."""
    model = tiny.random_model(0)
    model.model.norm.weight = mx.full(model.model.norm.weight.shape, float("nan"))
    return str(tiny.save(tmp_path_factory.mktemp("broken"), model, tiny.tokenizer()))


SPOILT = 200


@pytest.fixture(scope="module")
def broken_later(tmp_path_factory) -> str:
    """A model whose logits are NaN once it has read one certain token."""
    changes = {"tie_word_embeddings": False}
    model = tiny.random_model(0, **changes)
    table = np.array(model.model.embed_tokens.weight)
    table[SPOILT] = np.nan
    model.model.embed_tokens.weight = mx.array(table)
    folder = tmp_path_factory.mktemp("later")
    return str(tiny.save(folder, model, tiny.tokenizer(), **changes))


def failed(controller: Controller, request) -> tuple[str, int, list[int]]:
    """Run a session that must fail: its reason, its rounds, its tokens."""
    run, sink = controller.begin(session.plan(request))
    assert run.done.wait(WAIT_S)
    assert sink.session_id is not None, "it had read its prompt, so it is kept"
    info = controller.store.session(sink.session_id)
    assert info.status == "failed"
    return info.reason, info.rounds, tokens_of(controller, sink.session_id)


@pytest.mark.parametrize("rule", ["stochastic", "block", "gumbel", "sampler-match", "argmax"])
@pytest.mark.parametrize("sampling", [Sampling(temperature=1.0), Sampling(temperature=0.0)], ids=["T1", "T0"])
def test_a_target_of_nan_ends_the_session_by_name_and_emits_nothing(controller, broken, rule, sampling):
    request = asked(broken, drafter="lookup", rule=rule, sampling=sampling)
    reason, rounds, tokens = failed(controller, request)
    assert reason.startswith("Target, position 0: A row of logits holds NaN.")
    assert "Check the model's weights" in reason
    assert (rounds, tokens) == (0, [])


@pytest.mark.parametrize("sampling", [Sampling(temperature=1.0), Sampling(temperature=0.0)], ids=["T1", "T0"])
def test_a_drafter_of_nan_ends_the_session_by_name_and_emits_nothing(
    controller, tiny_folder, broken, sampling
):
    request = asked(tiny_folder, drafter=f"model:{broken}", sampling=sampling)
    reason, rounds, tokens = failed(controller, request)
    assert reason.startswith(f"Drafter model:{broken}, position 0: A row of logits holds NaN.")
    assert (rounds, tokens) == (0, [])


@pytest.mark.parametrize("drafter", ["none", "lookup"])
def test_rows_that_turn_nan_on_the_way_leave_what_was_before(controller, broken_later, drafter):
    """The text itself brings the token that spoils every row behind it; the first of them is named."""
    sampling = Sampling(temperature=1.0, logit_bias=((SPOILT, 6.0), *NO_EOS))
    for seed in range(3):
        request = asked(broken_later, drafter=drafter, sampling=sampling, max_tokens=200, seed=seed)
        reason, rounds, tokens = failed(controller, request)
        assert reason.startswith(f"Target, position {len(tokens)}: A row of logits holds NaN.")
        assert tokens.index(SPOILT) == len(tokens) - 1 and rounds > 0


# A window that is full


@pytest.fixture(scope="module")
def windowed(tmp_path_factory) -> str:
    """A model with one layer that remembers 64 tokens only."""
    changes = {"layer_types": ["full_attention", "sliding_attention"], "sliding_window": 64}
    folder = tmp_path_factory.mktemp("windowed")
    return str(tiny.save(folder, tiny.random_model(**changes), tiny.tokenizer(), **changes))


def test_a_session_that_would_wrap_a_rotating_cache_is_refused_at_the_start(controller, windowed):
    run, sink = controller.begin(session.plan(asked(windowed, max_tokens=64)))
    assert run.done.wait(WAIT_S)
    assert sink.session_id is None
    assert "passes the 63 that" in sink.refused.reason and "ask for fewer tokens" in sink.refused.reason


@pytest.mark.parametrize("drafter", ["self:3bit", "self:8bit", "lookup"])
def test_one_that_fits_rewinds_and_equals_plain_decoding(controller, windowed, drafter):
    """To the last entry of the window, with rejections on the way."""
    greedy = Sampling(temperature=0.0, logit_bias=NO_EOS)
    room = load.load_target(windowed).context_length
    request = asked(windowed, drafter=drafter, sampling=greedy, prompt="the", k=5)
    prompt = load.load_target(windowed).text.encode("the", raw=False)
    request = replace(request, max_tokens=room - len(prompt))
    drafted, plain = play(controller, request), play(controller, replace(request, drafter="none"))
    assert tokens_of(controller, drafted) == tokens_of(controller, plain)
    assert len(tokens_of(controller, plain)) + len(prompt) == room


# Seeds


def test_a_seed_repeats_its_session_and_two_seeds_differ(controller, tiny_folder):
    texts = {}
    for drafter in ("self:3bit", "lookup"):
        for seed in (1, 2):
            request = asked(tiny_folder, drafter=drafter, seed=seed, sampling=Sampling(temperature=0.5))
            one, again = (rounds_of(controller, play(controller, request)) for _ in range(2))
            assert [(d.block, d.verdict, d.coins) for d in one] == [
                (d.block, d.verdict, d.coins) for d in again
            ]
            texts[drafter, seed] = [token for done in one for token in done.emitted]
        assert texts[drafter, 1] != texts[drafter, 2]


# The smallest sessions


@pytest.mark.parametrize("drafter", ["self:3bit", "lookup", "none"])
@pytest.mark.parametrize("k", [0, 1, 4])
@pytest.mark.parametrize("prompt", ["", "a"], ids=["the beginning token alone", "one token"])
def test_a_prompt_of_one_token_runs_with_every_drafter_and_k(controller, tiny_folder, prompt, k, drafter):
    sampling = Sampling(temperature=1.0, logit_bias=NO_EOS)
    for n in (1, 5):
        request = asked(
            tiny_folder, prompt=prompt, raw=True, k=k, drafter=drafter, max_tokens=n, sampling=sampling
        )
        session_id = play(controller, request)
        assert len(controller.beginning(session_id)[1].tokens) == 1
        assert len(tokens_of(controller, session_id)) == n
        assert controller.count(session_id)[1] == "finished"


# Vocabularies of different width


@pytest.mark.parametrize("rule", ["stochastic", "block", "gumbel", "one-hot"])
def test_a_wider_draft_model_drafts_only_what_the_target_has(controller, tiny_folder, tmp_path, rule):
    """38 ids more on the draft's side, well within its mass: none is drafted, and every row has one width."""
    changes = {"vocab_size": 300}
    tiny.save(tmp_path, tiny.random_model(seed=5, **changes), tiny.tokenizer(), **changes)
    request = asked(tiny_folder, drafter=f"model:{tmp_path}", rule=rule, max_tokens=24)
    rounds = rounds_of(controller, play(controller, request))
    assert {row.vocab for done in rounds for row in (*done.block.p, *done.block.q)} == {tiny.VOCAB}
    assert all(x < tiny.VOCAB for done in rounds for x in (*done.block.tokens, *done.emitted))
    assert all(q.ids.max() < tiny.VOCAB for done in rounds for q in done.block.q)
