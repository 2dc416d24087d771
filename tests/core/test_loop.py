"""The loop on toy models: caches in every regime, ends of a text, errors, stops, and what a seed decides."""

from collections import Counter

import numpy as np
import pytest

from engine.core import law, loop, rows, warp
from engine.core.types import Address, Sampling
from engine.drafters.none import NoDrafter
from engine.errors import BadRow
from engine.rules import RULES
from tests.core.toys import (
    PROMPT,
    TextDrafter,
    ToyDrafter,
    ToyScorer,
    certain_of,
    output,
    plan,
    play,
    random_logits,
)

V = 6
TARGET, DRAFT = random_logits(1, V), random_logits(2, V)
TEXT = (3, 4, 5, 3, 2, 1, 4, 4, 5, 2, 3, 1)
GREEDY = RULES["greedy-argmax"]
ALL = list(RULES.values())
SAMPLING = [rule for rule in ALL if not rule.greedy_only]


def ids(value):
    return value.id if hasattr(value, "id") else None


def greedy_play(drafted, text=TEXT, **settings):
    """A greedy target that says `text`, beside drafts from `drafted`."""
    asked = {name: settings.pop(name) for name in ("k", "max_tokens") if name in settings}
    drafter, scorer = TextDrafter(drafted, V), ToyScorer(certain_of(text, V))
    done = play(plan(GREEDY, temperature=0.0, **asked), drafter, scorer, **settings)
    return done, drafter, scorer


def at(token):
    """An end of text: the output ends with this token."""
    return lambda output: output[-1] == token


# Regimes


def test_all_accepted_every_round_ends_with_a_bonus():
    done, drafter, scorer = greedy_play(TEXT)
    assert output(done) == TEXT
    assert [played.verdict.next_source for played in done] == ["bonus"] * 3
    assert drafter.commits == [TEXT[0:4], TEXT[4:8], TEXT[8:12]]
    assert scorer.widths == [4, 4, 4]


def test_all_rejected_every_round_gives_one_corrected_token():
    never = tuple((token + 1) % V for token in TEXT)
    done, drafter, _ = greedy_play(never)
    assert output(done) == TEXT
    assert {played.verdict.next_source for played in done} == {"corrected"}
    assert [played.verdict.n_accepted for played in done] == [0] * 12
    assert drafter.commits == [(token,) for token in TEXT]
    assert done[0].n_tested == 1
    assert [done[0].fate(i) for i in range(3)] == ["rejected", "untested", "untested"]


def test_one_wrong_in_the_middle():
    wrong = (3, 4, 0, 3, 2, 1, 4, 4, 5, 2, 3, 1)
    done, drafter, _ = greedy_play(wrong, max_tokens=6)
    assert drafter.commits == [(3, 4, 5), (3, 2, 1)]
    first = done[0]
    assert first.block.tokens == (3, 4, 0), "the rejected draft stays in the block"
    assert [first.fate(i) for i in range(3)] == ["accepted", "accepted", "rejected"]
    assert (first.verdict.next_token, first.verdict.next_source) == (5, "corrected")
    assert done[1].block.tokens == (3, 2, 1), "the next drafts follow the corrected token"


def test_row_0_judges_draft_0():
    """Every row has another argmax, so rows shifted by one would reject from the start."""
    done, _, _ = greedy_play((1, 2, 3, 4), text=(1, 2, 3, 4), k=4, max_tokens=4)
    assert [rows.argmax(p) for p in done[0].block.p[:4]] == [1, 2, 3, 4]
    assert done[0].verdict.n_accepted == 4


def test_a_wrong_draft_of_one_token_is_rejected():
    done, _, _ = greedy_play((0,) * 12, k=1, max_tokens=2)
    assert output(done) == TEXT[:2]
    assert [played.verdict.n_accepted for played in done] == [0, 0]


@pytest.mark.parametrize("rule", SAMPLING, ids=ids)
@pytest.mark.parametrize("k", [0, 1, 4])
def test_caches_follow_under_every_rule(rule, k):
    """`play` looks into both caches after every round."""
    done = play(plan(rule, k=k, max_tokens=25, seed=3), ToyDrafter(DRAFT), ToyScorer(TARGET))
    assert len(output(done)) == 25


def test_a_drafter_that_is_the_target_is_always_accepted():
    """Also the bonus token after a full accept reaches the drafter: else its rows would differ."""
    done = play(plan(RULES["stochastic"], max_tokens=40), ToyDrafter(TARGET), ToyScorer(TARGET))
    assert all(played.verdict.n_accepted == played.block.k for played in done)


def test_rounds_without_a_draft_are_plain_target_steps():
    done = play(plan(RULES["stochastic"], k=0, seed=8), ToyDrafter(DRAFT), ToyScorer(TARGET))
    assert {played.block.k for played in done} == {0}
    assert [played.verdict.next_source for played in done] == ["bonus"] * 12
    assert output(done) == tuple(played.own[0] for played in done)


def test_some_rounds_without_a_draft_move_no_coin_of_another_position():
    """A drafter that has nothing to say every other round: the same coins fall where positions are shared."""

    class Pausing(ToyDrafter):
        def propose(self, context, k, sampling, coins):
            return super().propose(context, 0 if len(context) % 2 else k, sampling, coins)

    rule = RULES["sampler-match"]
    pausing = play(plan(rule, k=2, max_tokens=30), Pausing(DRAFT), ToyScorer(TARGET))
    steady = play(plan(rule, k=2, max_tokens=30), ToyDrafter(DRAFT), ToyScorer(TARGET))
    assert {played.block.k for played in pausing} == {0, 2}
    assert output(pausing) == output(steady)


def test_the_drafter_that_never_drafts():
    asked, scorer = plan(RULES["sampler-match"], seed=8), ToyScorer(TARGET)
    scorer.prefill(PROMPT)
    drafter = NoDrafter()
    drafter.start(PROMPT)
    done = list(loop.Generation(asked, drafter, scorer))
    assert output(done) == output(play(asked, ToyDrafter(DRAFT), ToyScorer(TARGET)))


# Ends


@pytest.mark.parametrize("k", [0, 1, 2, 5, 64])
@pytest.mark.parametrize("max_tokens", [1, 2, 3, 7])
@pytest.mark.parametrize("drafted", [TEXT, (0,) * 12], ids=["right", "wrong"])
def test_the_budget_is_exact_and_never_drafted_beyond(k, max_tokens, drafted):
    done, drafter, _ = greedy_play(drafted, k=k, max_tokens=max_tokens)
    assert output(done) == TEXT[:max_tokens]
    left = [max_tokens - played.block.start for played in done]
    assert [played.block.k for played in done] == [min(k, n) for n in left]
    assert all(asked <= n for asked, n in zip(drafter.asked, left, strict=False))


def test_a_budget_of_one_with_five_drafts():
    done, drafter, scorer = greedy_play(TEXT, k=5, max_tokens=1)
    (only,) = done
    assert (only.emitted, drafter.asked, scorer.widths) == ((3,), [1], [2])
    assert only.final
    assert (only.verdict.next_source, only.verdict.next_token) == ("ended", None)


def test_the_output_ends_at_an_end_of_text_inside_a_block():
    """EOS is the second of four drafts: nothing behind it is scored, counted or stored."""
    text = (3, 5, 4, 4, 4)
    done, drafter, scorer = greedy_play(text, text=text, k=4, ends=at(5))
    (only,) = done
    assert only.emitted == (3, 5)
    assert only.block.tokens == (3, 5)
    assert (len(only.block.p), len(only.block.q), len(only.measures)) == (3, 2, 2)
    assert only.final and only.verdict.next_source == "ended"
    assert (scorer.widths, drafter.commits) == ([3], [(3, 5)])


def test_an_end_that_is_rejected_ends_nothing():
    done, _, _ = greedy_play((3, 5, 4), text=(3, 4, 2, 1), k=3, max_tokens=4, ends=at(5))
    assert done[0].block.tokens == (3, 5) and done[0].final
    assert done[0].emitted == (3, 4)
    assert done[0].verdict.next_source == "corrected"
    assert output(done) == (3, 4, 2, 1)


@pytest.mark.parametrize("drafted", [(0, 0, 0), (3, 0, 0)], ids=["corrected", "corrected later"])
def test_the_output_ends_with_a_corrected_end(drafted):
    done, _, _ = greedy_play(drafted, text=(3, 5, 4), k=2, ends=at(5))
    assert output(done) == (3, 5)
    assert done[-1].verdict.next_source == "corrected"


def test_the_output_ends_with_a_bonus_end():
    done, _, _ = greedy_play((3, 4), text=(3, 4, 5, 2), k=2, ends=at(5))
    assert output(done) == (3, 4, 5)
    assert done[-1].verdict.next_source == "bonus" and not done[-1].final


def test_an_end_of_several_tokens_is_seen_across_rounds():
    done, _, _ = greedy_play(TEXT, k=3, ends=lambda output: output[-2:] == (2, 1))
    assert output(done) == (3, 4, 5, 3, 2, 1)


@pytest.mark.parametrize("rule", SAMPLING, ids=ids)
def test_no_coin_is_kept_for_a_position_behind_the_end_or_for_a_draft_that_was_cut(rule):
    seen_cut = seen_end = False
    for seed in range(12):
        done = play(
            plan(rule, k=4, max_tokens=9, seed=seed), ToyDrafter(DRAFT), ToyScorer(TARGET), ends=at(5)
        )
        for played in done:
            last = played.block.start + played.block.k
            behind = last if played.verdict.next_source == "ended" else last + 1
            assert all(coin.at.position < behind for coin in played.coins)
            assert all(coin.at.position < last for coin in played.coins if coin.at.purpose == "draft")
            seen_end |= played.verdict.next_source == "ended"
            seen_cut |= 5 in played.block.tokens
    assert seen_cut and seen_end, "no seed met the case"


# Seeds and coins


def fingerprint(done):
    return [
        (played.block.tokens, played.coins, played.verdict, played.emitted, played.own, played.measures)
        for played in done
    ]


@pytest.mark.parametrize("rule", SAMPLING, ids=ids)
def test_a_seed_decides_everything(rule):
    def run(seed):
        return play(plan(rule, max_tokens=30, seed=seed), ToyDrafter(DRAFT), ToyScorer(TARGET))

    assert fingerprint(run(7)) == fingerprint(run(7))
    if rule.id not in ("argmax", "relaxed"):  # their text follows the argmax; their drafts differ
        assert output(run(7)) != output(run(8))
    assert fingerprint(run(7)) != fingerprint(run(8))


@pytest.mark.parametrize("rule", [r for r in SAMPLING if r.id != "gumbel"], ids=ids)
def test_switching_the_rule_moves_no_other_draw(rule):
    """Where two rules meet an address, the coin is the same; where the text before is, so is the draft."""
    base = play(plan(RULES["stochastic"], max_tokens=30, seed=5), ToyDrafter(DRAFT), ToyScorer(TARGET))
    other = play(plan(rule, max_tokens=30, seed=5), ToyDrafter(DRAFT), ToyScorer(TARGET))
    fell = {coin.at: coin.u for played in base for coin in played.coins}
    shared = [coin for played in other for coin in played.coins if coin.at in fell]
    assert len(shared) > 3
    assert all(coin.u == fell[coin.at] for coin in shared)
    if type(rule).draft is type(RULES["stochastic"]).draft:
        assert base[0].block == other[0].block and base[0].own == other[0].own


TOKENWISE = [r for r in SAMPLING if not r.looks_ahead and r.id not in ("synthetic", "fault-shared-coin")]


@pytest.mark.parametrize("rule", TOKENWISE, ids=ids)
def test_a_shorter_session_is_the_beginning_of_a_longer_one(rule):
    """Synthetic rates and a shared coin depend on where rounds fall, so they are left out."""
    long = output(play(plan(rule, max_tokens=24, seed=4), ToyDrafter(DRAFT), ToyScorer(TARGET)))
    for n in (1, 2, 5, 23):
        short = output(play(plan(rule, max_tokens=n, seed=4), ToyDrafter(DRAFT), ToyScorer(TARGET)))
        assert short == long[:n]


def test_sampler_match_emits_the_target_s_own_draws_whatever_drafts():
    rule = RULES["sampler-match"]
    texts = {
        output(play(plan(rule, k=k, max_tokens=20, seed=6), drafter, ToyScorer(TARGET)))
        for k in (0, 1, 3)
        for drafter in (ToyDrafter(DRAFT), ToyDrafter(TARGET))
    }
    assert len(texts) == 1


def plain_greedy(logits, n):
    sequence = PROMPT
    for _ in range(n):
        sequence += (int(np.argmax(logits(sequence))),)
    return sequence[len(PROMPT) :]


@pytest.mark.parametrize("k", [0, 1, 4])
def test_a_greedy_session_is_plain_greedy_and_tosses_no_coin(k):
    done = play(
        plan(GREEDY, k=k, max_tokens=20, temperature=0.0), ToyDrafter(DRAFT), ToyScorer(TARGET), ends=at(-1)
    )
    assert output(done) == plain_greedy(TARGET, 20)
    assert all(played.coins == () for played in done)
    assert all(len(row.ids) == 1 for played in done for row in (*played.block.p, *played.block.q))


def test_coins_are_kept_where_they_were_used():
    """Drafts, own draws, tests, and the residual of a rejection, each under its address."""
    done = play(plan(RULES["stochastic"], max_tokens=20, seed=2), ToyDrafter(DRAFT), ToyScorer(TARGET))
    for played in done:
        block, verdict = played.block, played.verdict
        coins = {coin.at: coin for coin in played.coins}
        for i, token in enumerate(block.tokens):
            assert coins[block.at("draft", i)].outcome == token
        for i, check in enumerate(verdict.checks):
            assert coins[block.at("accept", i)].u == check.u
            assert coins[block.at("accept", i)].outcome == check.accepted
        for i in range(block.k if verdict.next_source == "ended" else block.k + 1):
            assert coins[block.at("target", i)].outcome == played.own[i]
        if verdict.next_source == "corrected" and len(verdict.residual.ids) > 1:
            assert coins[block.at("residual", verdict.n_accepted)].outcome == verdict.next_token


#: What may fall at an address more than once in a session: a draft redrawn and an own draw seen again,
#: always to the same number. An accept or residual coin decides once.
DECIDES_ONCE = ("accept", "residual")


@pytest.mark.parametrize("rule", [r for r in SAMPLING if r.id != "fault-shared-coin"], ids=ids)
def test_no_coin_decides_twice_in_a_session(rule):
    done = play(plan(rule, k=4, max_tokens=100, seed=1), ToyDrafter(DRAFT), ToyScorer(TARGET))
    used = Counter(coin.at for played in done for coin in played.coins if coin.at.purpose in DECIDES_ONCE)
    assert not [address for address, n in used.items() if n > 1]
    values = {}
    for coin in (coin for played in done for coin in played.coins):
        if coin.at.purpose != "noise":  # of a race only the winner's clock is kept
            assert values.setdefault(coin.at, coin.u) == coin.u


def test_a_rule_that_looks_ahead_never_meets_a_coin_again():
    """Drafts and tests behind a stop were looked at, so the position's next drafts are drawn anew."""
    done = play(plan(RULES["block"], k=4, max_tokens=100, seed=1), ToyDrafter(DRAFT), ToyScorer(TARGET))
    used = Counter(
        coin.at
        for played in done
        for coin in played.coins
        if coin.at.purpose in ("draft", "accept", "residual")
    )
    assert max(used.values()) == 1
    drafted = Counter()
    for played in done:
        block = played.block
        assert block.attempts == tuple(drafted[block.start + i] for i in range(block.k + 1))
        drafted.update(range(block.start, block.start + block.k))
    assert max(max(played.block.attempts) for played in done) >= 2


@pytest.mark.parametrize("rule", [r for r in SAMPLING if not r.looks_ahead], ids=ids)
def test_other_rules_stay_at_attempt_0(rule):
    done = play(plan(rule, k=4, max_tokens=60, seed=1), ToyDrafter(DRAFT), ToyScorer(TARGET))
    assert {coin.at.attempt for played in done for coin in played.coins} == {0}


# Rows


def test_a_penalty_counts_every_drafted_token_before_its_row():
    """Three equal tokens drafted: the row of draft j has seen them j times, and the prompt."""
    same = np.array([0.0, 2.0, 1.0], dtype=np.float32)
    sampling = {"presence_penalty": 0.125, "frequency_penalty": 0.25}
    scorer, drafter = ToyScorer(lambda tokens: same), TextDrafter((1, 1, 1, 1), 3)
    done = play(plan(RULES["one-hot"], k=3, max_tokens=4, prompt=(2, 1), **sampling), drafter, scorer)
    for i, row in enumerate(done[0].block.p):
        # Token 1 was seen once in the prompt and i times since; token 2 once.
        bare = np.exp([0.0, 2.0 - 0.125 - 0.25 * (1 + i), 1.0 - 0.125 - 0.25])
        np.testing.assert_allclose(rows.dense(row), bare / bare.sum(), rtol=1e-12)


def test_penalties_reach_back_over_rounds():
    scorer, drafter = ToyScorer(TARGET), ToyDrafter(DRAFT)
    sampling = {"repetition_penalty": 1.3, "frequency_penalty": 0.4, "penalty_window": 5}
    done = play(plan(RULES["stochastic"], max_tokens=20, **sampling), drafter, scorer)
    sequence = PROMPT + output(done)
    for played in done:
        for i, row in enumerate(played.block.p):
            seen = sequence[: len(PROMPT) + played.block.start] + played.block.tokens[:i]
            assert row == warp.effective(TARGET(seen), Sampling(temperature=1.0, **sampling), seen)


def test_a_banned_token_is_never_emitted_and_has_no_mass():
    """The drafter does not know of the ban, proposes the token, and is rejected."""
    always_1 = certain_of((1,) * 40, V)
    done = play(
        plan(RULES["stochastic"], max_tokens=40, logit_bias=((1, -100.0),)),
        ToyDrafter(DRAFT),
        ToyScorer(lambda tokens: TARGET(tokens) + always_1(tokens)),
    )
    assert 1 not in output(done)
    assert any(1 in played.block.tokens for played in done)
    assert not any(1 in row.ids for played in done for row in played.block.p)


def test_the_same_filters_stand_on_both_sides():
    done = play(plan(RULES["stochastic"], top_p=0.5, max_tokens=20), ToyDrafter(TARGET), ToyScorer(TARGET))
    for played in done:
        assert played.block.q == played.block.p[: played.block.k]
        assert played.verdict.n_accepted == played.block.k


def test_what_was_before_the_filters_is_kept_for_show_where_they_cut():
    def first(**sampling):
        asked = plan(RULES["stochastic"], **sampling)
        return play(asked, ToyDrafter(DRAFT), ToyScorer(TARGET))[0]

    assert first().raw_p == ()
    shown = first(top_k=2)
    assert [len(row.ids) for row in shown.raw_p] == [V] * 4
    assert {len(row.ids) for row in shown.block.p} == {2}
    np.testing.assert_allclose(
        rows.dense(shown.raw_p[0]), warp.softmax(np.float64(TARGET(PROMPT))), rtol=1e-12
    )


def test_measures_are_those_of_the_rows():
    for played in play(plan(RULES["stochastic"]), ToyDrafter(DRAFT), ToyScorer(TARGET)):
        for measure, p, q in zip(played.measures, played.block.p, played.block.q, strict=False):
            assert measure.overlap == rows.overlap(p, q) and measure.product == rows.product(p, q)
            assert (measure.entropy_p, measure.entropy_q) == (rows.entropy(p), rows.entropy(q))
        assert len(played.measures) == played.block.k
        assert played.entropy_bonus == rows.entropy(played.block.p[-1])


def test_stages_are_timed_by_the_clock():
    ticks = iter(range(100))
    done = play(
        plan(RULES["stochastic"], max_tokens=3), ToyDrafter(DRAFT), ToyScorer(TARGET),
        clock=lambda: float(next(ticks)),
    )  # fmt: skip
    times = done[0].times
    assert (times.draft, times.target, times.judge) == (1000.0, 1000.0, 1000.0)


# Stops and errors


def stopping_after(n):
    """Says stop from its n-th question on."""
    asked = iter(range(10**6))
    return lambda: next(asked) >= n


def test_a_stop_takes_effect_within_one_draft_step():
    """Between any two questions lies one draft step or one target pass, and nothing follows a yes."""

    class Counting(ToyDrafter):
        def __init__(self):
            super().__init__(lambda tokens: self.passed() or DRAFT(tokens))
            self.passes = 0

        def passed(self):
            self.passes += 1

    for n in range(1, 12):
        drafter, scorer = Counting(), ToyScorer(TARGET)
        calls = Counter()
        stop = stopping_after(n)

        def cancelled(drafter=drafter, scorer=scorer, calls=calls, stop=stop):
            calls["work"] = max(calls["work"], drafter.passes + len(scorer.widths) - calls["before"])
            calls["before"] = drafter.passes + len(scorer.widths)
            return stop()

        with pytest.raises(loop.Cancelled):
            play(plan(RULES["block"], k=4, max_tokens=40), drafter, scorer, cancelled=cancelled)
        assert calls["work"] == 1, "one draft step or one target pass, and the next question"
        after = drafter.passes + len(scorer.widths)
        assert after == calls["before"], "work went on after the stop"


def test_rounds_before_a_stop_are_whole():
    whole = play(plan(RULES["stochastic"], max_tokens=40), ToyDrafter(DRAFT), ToyScorer(TARGET))
    drafter, scorer, done = ToyDrafter(DRAFT), ToyScorer(TARGET), []
    scorer.prefill(PROMPT)
    drafter.start(PROMPT)
    generation = loop.Generation(
        plan(RULES["stochastic"], max_tokens=40), drafter, scorer, cancelled=stopping_after(13)
    )
    with pytest.raises(loop.Cancelled):
        for played in generation:
            done.append(played)
    assert done and fingerprint(done) == fingerprint(whole[: len(done)])
    assert generation.output == output(done)


def spoilt(logits, position, value):
    """NaN or infinity in the row of one position."""

    def row(tokens):
        found = logits(tokens)
        if len(tokens) - len(PROMPT) == position:
            found[0] = value
        return found

    return row


@pytest.mark.parametrize(("value", "what"), [(np.nan, "NaN"), (np.inf, "infinity")])
@pytest.mark.parametrize("position", [0, 2, 5])
def test_a_bad_row_of_the_target_stops_the_session_by_name(position, value, what):
    scorer = ToyScorer(spoilt(TARGET, position, value))
    with pytest.raises(BadRow, match=rf"^Target, position {position}: .*{what}"):
        play(plan(RULES["stochastic"]), ToyDrafter(TARGET), scorer)


@pytest.mark.parametrize("position", [0, 2, 5])
def test_a_bad_row_of_the_drafter_stops_the_session_by_name(position):
    drafter = ToyDrafter(spoilt(TARGET, position, np.nan))
    with pytest.raises(BadRow, match=rf"^Drafter toy, position {position}: .*NaN.* Check"):
        play(plan(RULES["stochastic"]), drafter, ToyScorer(TARGET))


def test_a_bad_row_is_never_a_token_for_a_greedy_target_either():
    scorer = ToyScorer(spoilt(TARGET, 3, np.nan))
    done = []
    drafter = ToyDrafter(TARGET)
    scorer.prefill(PROMPT)
    drafter.start(PROMPT)
    with pytest.raises(BadRow, match="Target, position 3"):
        for played in loop.Generation(plan(GREEDY, k=1, temperature=0.0), drafter, scorer):
            done.append(played)
    assert output(done) == plain_greedy(TARGET, 2)


# The law of the loop itself


def without_own_draws(rule):
    """The rule without the target's own draws that each round keeps for show. They decide nothing (the
    rules' draws from p go through their coins), and would only multiply the branches."""
    quiet = type("Quiet", (type(rule),), {"target_draw": lambda self, row, coins, at: 0})
    return quiet(**rule.params)


def loop_law(rule, n, ends, k=2, vocab=2, **sampling):
    """The exact law of the loop's output on toy models, over every way its coins can fall."""
    rule, target, draft = without_own_draws(rule), random_logits(11, vocab), random_logits(12, vocab)
    found = Counter()

    def session(coins):
        coins.take = lambda: ()
        scorer, drafter = ToyScorer(target), ToyDrafter(draft)
        scorer.prefill(PROMPT)
        drafter.start(PROMPT)
        generation = loop.Generation(plan(rule, k=k, max_tokens=n, **sampling), drafter, scorer, ends=ends)
        generation.coins = coins
        return output(list(generation))

    for tokens, weight in law.branches(session):
        found[tokens] += weight
    return found, target


def plain_law(row_of, n, ends):
    """The law of drawing token by token until the end."""
    done, alive = Counter(), {(): 1.0}
    for _ in range(n):
        grown = Counter()
        for tokens, weight in alive.items():
            for token, prob in enumerate(row_of(tokens)):
                grown[(*tokens, token)] += weight * prob
        done.update({tokens: weight for tokens, weight in grown.items() if ends(tokens)})
        alive = {tokens: weight for tokens, weight in grown.items() if not ends(tokens)}
    done.update(alive)
    return done


def never(tokens):
    return False


LOSSLESS = [RULES[i] for i in ("stochastic", "sampler-match", "one-hot", "block")]


@pytest.mark.parametrize("ends", [never, at(1)], ids=["budget", "end of text"])
@pytest.mark.parametrize("rule", LOSSLESS, ids=ids)
def test_the_loop_emits_the_target_s_law(rule, ends):
    found, target = loop_law(rule, 3, ends)
    right = plain_law(lambda tokens: warp.softmax(np.float64(target(PROMPT + tokens))), 3, ends)
    assert law.law_tv(found, right) < 1e-12


@pytest.mark.parametrize("rule", LOSSLESS, ids=ids)
def test_the_loop_s_law_is_that_of_the_enumeration(rule):
    """Two roads to the same law: the loop with its caches and attempts, and `emitted_law`."""
    found, target = loop_law(rule, 3, never)
    draft = random_logits(12, 2)
    tables = [
        lambda tokens, logits=logits: warp.softmax(np.float64(logits(PROMPT + tokens)))
        for logits in (target, draft)
    ]
    assert law.law_tv(found, law.emitted_law(rule, *tables, 2, 3)) < 1e-12


@pytest.mark.parametrize("rule", [RULES["stochastic"], RULES["block"]], ids=ids)
def test_the_loop_stays_exact_with_xtc(rule):
    """The target's own law is then a blend over the coin of each position."""
    xtc = {"xtc_probability": 0.5, "xtc_threshold": 0.2, "temperature": 0.5}
    found, target = loop_law(rule, 2, never, **xtc)

    def blended(tokens):
        bare = warp.softmax(np.float64(target(PROMPT + tokens)))
        kept = bare if bare.min() <= 0.2 else np.where(bare == bare.min(), 1.0, 0.0)
        return (warp.tempered(bare, 0.5) + warp.tempered(kept / kept.sum(), 0.5)) / 2

    assert law.law_tv(found, plain_law(blended, 2, never)) < 1e-12


@pytest.mark.parametrize("rule_id", ["fault-residual-from-p", "argmax"])
def test_a_biased_rule_fails_that(rule_id):
    found, target = loop_law(RULES[rule_id], 3, never)
    right = plain_law(lambda tokens: warp.softmax(np.float64(target(PROMPT + tokens))), 3, never)
    assert law.law_tv(found, right) > 0.02


def test_addresses_are_positions_of_the_output_not_of_the_prompt():
    done = play(plan(RULES["stochastic"], prompt=(0, 1, 2, 3)), ToyDrafter(DRAFT), ToyScorer(TARGET))
    assert done[0].coins[0].at == Address("draft", 0)
