"""What the screen says is what the events say, also at the edges: greedy, no drafts, an empty residual."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core import rows
from engine.core.coins import RecordingCoins, judge, uniform
from engine.core.events import Measure, Round, SessionFinished, SessionStarted
from engine.core.types import Address, Block, Sampling
from engine.rules import get
from inspector import view_model
from inspector.view_model import align, first_divergence, piece_view, round_view, session_view

P = [0.3, 0.5, 0.2]
Q = [0.6, 0.3, 0.1]


def row(values):
    return rows.from_dense(np.array(values, dtype=np.float64))


def judged(p, q, tokens, seed, rule="stochastic", raw_p=(), raw_q=()) -> Round:
    """A round of these rows as the loop records it: own draws first, then the rule's."""
    block = Block(5, tuple(tokens), tuple(q), tuple(p), (0,) * len(p))
    coins = RecordingCoins(seed)
    own = tuple(coins.choose(p_row, block.at("target", i)) for i, p_row in enumerate(p))
    verdict, drew = judge(get(rule), block, coins)
    measures = tuple(
        Measure(rows.overlap(a, b), rows.product(a, b), rows.entropy(a), rows.entropy(b))
        for a, b in zip(p, q, strict=False)
    )
    emitted = (*block.tokens[: verdict.n_accepted], verdict.next_token)
    return Round(
        index=3,
        block=block,
        verdict=verdict,
        emitted=emitted,
        own=own,
        drew=drew,
        coins=coins.take(),
        measures=measures,
        entropy_bonus=rows.entropy(p[-1]),
        raw_p=raw_p,
        raw_q=raw_q,
    )


def seed_where(accepted: int, k: int = 2) -> int:
    """A seed under which the three-token pair accepts exactly that many drafts of token 0."""
    for seed in range(500):
        u = [uniform(seed, Address("accept", 5 + i)) for i in range(k)]
        if sum(np.cumprod([value < 0.5 for value in u])) == accepted:
            return seed
    raise AssertionError("no seed below 500 does that")


def pair_round(accepted: int, rule: str = "stochastic") -> Round:
    return judged([row(P)] * 3, [row(Q)] * 2, (0, 0), seed_where(accepted), rule)


def test_a_rejection_shows_its_coin_threshold_residual_and_replacement():
    done = pair_round(1)
    view = round_view(done)
    kept, rejected = view["positions"]
    assert (kept["fate"], rejected["fate"], view["next"]["source"]) == ("accepted", "rejected", "corrected")
    assert (rejected["p"], rejected["q"], rejected["accept_prob"]) == (0.3, 0.6, 0.5)
    assert rejected["u"] == done.verdict.checks[1].u >= 0.5
    assert rejected["tv"] == pytest.approx(0.3)
    residual = view["next"]["residual"]
    assert residual["mass"] == pytest.approx(0.3)
    assert dict(residual["top"]) == pytest.approx({1: 2 / 3, 2: 1 / 3}, rel=1e-3)
    assert residual["rest"] == [0.0, 0]


def test_every_draw_falls_into_the_slice_it_shows():
    for accepted in (0, 1, 2):
        view = round_view(pair_round(accepted))
        draws = [position["own"] for position in view["positions"]] + [view["next"]["draw"]]
        for draw in draws:
            low, high = draw["slice"]
            assert low <= draw["u"] < high


def test_a_token_taken_without_a_draw_shows_no_coin():
    """Also where the target's own draw happens to be the argmax that the rule took."""
    seed = next(s for s in range(500) if quantile_is_dog(s))
    view = round_view(judged([row(P)] * 2, [row(Q)], (0,), seed, "argmax"))
    assert (view["next"]["token"], view["positions"][0]["own"]["token"]) == (1, 1)
    assert (view["next"]["purpose"], view["next"]["draw"]["u"]) == (None, None)


def quantile_is_dog(seed: int) -> bool:
    return rows.quantile(row(P), uniform(seed, Address("target", 5))) == 1


def test_an_untested_draft_has_no_test_and_no_coin():
    untested = round_view(pair_round(0))["positions"][1]
    assert untested["fate"] == "untested"
    assert (untested["accept_prob"], untested["u"], untested["passed"]) == (None, None, None)


def test_a_bonus_shows_the_targets_row_and_draw():
    following = round_view(pair_round(2))["next"]
    assert (following["source"], following["purpose"], following["residual"], following["q"]) == (
        "bonus",
        "target",
        None,
        None,
    )
    assert {token: p for token, p, _ in following["bars"]} == {0: 0.3, 1: 0.5, 2: 0.2}
    assert following["own"]["token"] == following["token"]
    assert following["at"] == 7


def test_rescued_means_accepted_against_the_targets_own_draw():
    rescued = [round_view(judged([row(P)] * 2, [row(Q)], (0,), seed))["positions"][0] for seed in range(60)]
    assert any(position["rescued"] for position in rescued)
    for position in rescued:
        assert position["rescued"] == (position["fate"] == "accepted" and position["own"]["token"] != 0)


def test_a_greedy_round_tosses_no_coin_and_shows_what_the_filter_cut():
    sharp, soft = row([0, 1, 0]), row(P)
    done = judged([sharp] * 2, [sharp], (1,), 0, "greedy-argmax", (soft, soft), (row(Q),))
    position = round_view(done)["positions"][0]
    assert (position["fate"], position["u"], position["own"]["u"]) == ("accepted", None, None)
    assert position["bars"] == [[1, 1.0, 1.0, 0.5, 0.3], [0, 0.0, 0.0, 0.3, 0.6], [2, 0.0, 0.0, 0.2, 0.1]]


def test_a_round_without_drafts_is_one_target_step():
    view = round_view(judged([row(P)], [], (), 1))
    assert (view["k"], view["tested"], view["accepted"], view["emitted"], view["positions"]) == (
        0,
        0,
        0,
        1,
        [],
    )
    assert view["next"]["source"] == "bonus"
    assert view["next"]["at"] == 5


def test_an_empty_residual_is_marked_and_drawn_from_p():
    block_q = rows.one_hot(0, 3)
    same = judged([row(P)] * 2, [row(P)], (0,), 0)
    verdict = same.verdict.__class__((same.verdict.checks[0],), 0, 1, "corrected", row(P), 0.0, True)
    forced = Round(
        0,
        Block(5, (0,), (block_q,), (row(P), row(P)), (0, 0)),
        verdict,
        (1,),
        same.own,
        same.coins,
        same.measures,
        1.0,
    )
    residual = round_view(forced)["next"]["residual"]
    assert residual["degenerate"] is True
    assert residual["mass"] == 0.0
    assert dict(residual["top"]) == pytest.approx({0: 0.3, 1: 0.5, 2: 0.2})


def test_a_rule_that_takes_the_argmax_claims_no_draw_it_did_not_make():
    for seed in range(40):
        done = judged([row(P)] * 2, [row(Q)], (0,), seed, "argmax")
        draw = round_view(done)["next"]["draw"]
        assert draw["token"] == 1
        if done.own[0] != 1:
            assert draw["u"] is None


def test_an_output_that_ended_inside_the_block_has_no_next_token():
    done = pair_round(2)
    verdict = done.verdict.__class__(done.verdict.checks, 2, None, "ended")
    view = round_view(Round(0, done.block, verdict, (0, 0), done.own, done.coins, done.measures, 1.0))
    assert (view["next"], view["source"], view["emitted"]) == (None, "ended", 2)


def test_a_cut_row_says_unknown_instead_of_zero():
    wide = row(np.r_[[0.5, 0.3], np.full(200, 0.001)])
    short = rows.cut(wide, 2)
    position = round_view(judged([short] * 2, [wide], (150,), 0))["positions"][0]
    assert position["p"] is None
    assert position["q"] == pytest.approx(0.001)
    assert position["rest"][0] == pytest.approx(0.2)


@pytest.mark.parametrize("cap", [3, 30, 60])
def test_bars_and_rest_sum_to_one_and_name_every_token_that_matters(cap):
    generator = np.random.default_rng(cap)
    p, q = (row(generator.dirichlet(np.full(cap * 5, 0.2))) for _ in range(2))
    done = judged([p] * 2, [q], (cap,), 3)
    view = round_view(done)
    position = view["positions"][0]
    ids = [bar[0] for bar in position["bars"]]
    assert len(ids) == len(set(ids)) <= view_model.BARS + 3
    assert {cap, done.own[0], done.emitted[0]} <= set(ids)
    for column in (1, 2):
        total = sum(bar[column] for bar in position["bars"]) + position["rest"][column - 1]
        assert total == pytest.approx(1, abs=2e-3)
    assert view_model.tokens_of(view) >= set(ids)


def test_a_round_is_small_plain_json():
    generator = np.random.default_rng(1)
    p = [row(generator.dirichlet(np.full(5_000, 0.01))) for _ in range(5)]
    q = [row(generator.dirichlet(np.full(5_000, 0.01))) for _ in range(4)]
    text = json.dumps(round_view(judged(p, q, (1, 2, 3, 4), 2)), separators=(",", ":"), allow_nan=False)
    assert len(text) < 6_000


@pytest.mark.parametrize(
    ("data", "special", "view"),
    [
        (b" the", False, " the"),
        (b"\n\n", False, "\n\n"),
        (b"\x00", False, "\x00"),
        (b"<script>alert(1)</script>", False, "<script>alert(1)</script>"),
        (b"\xe2\x80", False, {"hex": "e2 80"}),
        (b"\xff", True, {"hex": "ff"}),
        (b"<|im_end|>", True, {"special": "<|im_end|>"}),
    ],
)
def test_a_piece_is_text_bytes_or_special(data, special, view):
    assert piece_view(data, special) == view


@given(st.binary())
def test_no_byte_of_a_piece_is_lost(data):
    view = piece_view(data)
    assert (bytes.fromhex(view["hex"]) if isinstance(view, dict) else view.encode()) == data


tokens = st.lists(st.integers(0, 3), max_size=12)


@given(tokens, tokens)
def test_first_divergence_is_where_two_outputs_part(a, b):
    at = first_divergence(a, b)
    shared = min(len(a), len(b)) if at is None else at
    assert a[:shared] == b[:shared]
    assert at is None or a[at] != b[at]
    assert at == first_divergence(b, a)


@given(st.lists(tokens, max_size=4))
def test_align_keeps_every_token_at_its_position(lanes):
    table = align(lanes)
    assert [entry["at"] for entry in table] == list(range(max(map(len, lanes), default=0)))
    for i, lane in enumerate(lanes):
        assert [entry["tokens"][i] for entry in table if entry["tokens"][i] is not None] == lane
        first = first_divergence(lanes[0], lane)
        differing = [entry["at"] for entry in table if entry["differs"]]
        assert first is None or first in differing


def test_the_head_says_what_was_asked_and_what_runs():
    started = SessionStarted(
        "Why?", False, "bundled", "self:3bit", "greedy-argmax", {}, "stochastic", "temperature is 0",
        Sampling(temperature=0.0), 7, 4, 64,
    )  # fmt: skip
    running = session_view({"id": 41, "status": "queued"}, started, None, None, {}, 0, "Loading bundled")
    assert (running["id"], running["asked"], running["rule"]) == (41, "stochastic", "greedy-argmax")
    assert (running["status"], running["progress"], running["prompt_tokens"]) == (
        "queued",
        "Loading bundled",
        [],
    )
    ended = session_view({"id": 41}, started, None, SessionFinished("failed", "no such file", 3.0), {}, 0)
    assert (ended["status"], ended["end_reason"], ended["ms"]) == ("failed", "no such file", 3.0)
    json.dumps(running, allow_nan=False)
