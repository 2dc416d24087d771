"""The Lab's JavaScript computes what the core does: coins bit for bit, laws to 1e-12, texts by token."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from engine.core import exactness, law, position_law, rows, warp
from engine.core.coins import uniform
from engine.core.events import Round
from engine.core.loop import Generation
from engine.core.types import PURPOSES, Address, Param, Rule
from engine.rules import RULES
from tests.core import toys
from tests.core.tables import same_everywhere
from tests.lab.page import LabPage, started

EXACT = 1e-12

#: Ways to fall grow with tokens^k where a rule looks at a whole block, and volumes cost more than intervals.
MOST_TOKENS = {"gumbel": {1: 4, 2: 3}, "block": {1: 5, 2: 4, 3: 3}, "fly": {1: 5, 2: 4, 3: 3}}

quick = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.fixture(scope="module")
def page() -> Iterator[LabPage]:
    yield from started()


@st.composite
def table(draw, most: int) -> tuple[list[float], list[float]]:
    """p and q over 2 to `most` tokens: with zeros, ties, tiny and equal rows among them."""
    size = draw(st.integers(2, most))
    weight = st.one_of(st.sampled_from([0, 1, 1, 2, 3, 1e-9]), st.floats(0.01, 1))
    row = st.lists(weight, min_size=size, max_size=size).filter(lambda values: sum(values) > 1e-6)
    p, q = draw(row), draw(row)
    if draw(st.integers(0, 9)) == 0:
        q = p
    return [value / sum(p) for value in p], [value / sum(q) for value in q]


def value_of(draw, param: Param) -> float:
    if isinstance(param.default, int):
        return draw(st.integers(int(param.low), min(int(param.high), 9)))
    return draw(
        st.one_of(st.sampled_from([param.low, param.default, param.high]), st.floats(param.low, param.high))
    )


def rule_with_params(draw, rule: Rule) -> Rule:
    if draw(st.booleans()):
        return rule
    return rule.with_params({param.name: value_of(draw, param) for param in rule.parameters})


def decided(rule: Rule, p: list[float]) -> bool:
    """Whether no token lies on the bar of typical acceptance: there the last bit of a logarithm decides."""
    if rule.id != "typical":
        return True
    bar = rule.bar(rows.from_dense(np.array(p)))
    return all(abs(prob - bar) > EXACT for prob in p if prob > 0)


def close(found: float, expected: float, what: object) -> None:
    assert abs(found - expected) <= EXACT, f"{what}: the page says {found}, the core {expected}"


def test_the_page_knows_every_rule(page):
    assert page.ask("ids") == list(RULES)


seeds = st.one_of(st.integers(0, 2**53 - 1), st.integers(0, 2**63 - 1))


@settings(max_examples=60, deadline=None)
@given(seeds, st.sampled_from(sorted(PURPOSES)), st.integers(0, 10**6), st.integers(0, 50))
def test_every_number_at_an_address_is_the_cores(page, seed, purpose, position, attempt):
    at = {"purpose": purpose, "position": position, "attempt": attempt}
    counter = [0, attempt, position, PURPOSES[purpose]]
    raw = np.random.Philox(key=seed, counter=counter).random_raw(9)
    assert page.ask("words", seed=str(seed), at=at, n=9) == [int(word) >> 11 for word in raw]
    u = page.ask("words", seed=str(seed), at=at, n=1)[0] * 2**-53
    assert u == uniform(seed, Address(purpose, position, attempt))


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.id)
@quick
@given(data=st.data())
def test_the_law_of_two_tokens_is_the_cores(page, rule, data):
    rule = rule_with_params(data.draw, rule)
    sizes = MOST_TOKENS.get(rule.id, {1: 5, 2: 4, 3: 3, 4: 2})
    k = data.draw(st.sampled_from(sorted(sizes)))
    p, q = data.draw(table(sizes[k]))
    assume(decided(rule, p))
    found = page.ask("law", rule=rule.id, params=rule.params, p=p, q=q, k=k)
    p_of, q_of = same_everywhere(*p), same_everywhere(*q)
    pairs = law.emitted_law(rule, p_of, q_of, k, 2)
    for a in range(len(p)):
        single = sum(prob for (first, _), prob in pairs.items() if first == a)
        close(found["singles"][a], single, (rule, k, p, q, a))
        for b in range(len(p)):
            close(found["pairs"][a][b], pairs.get((a, b), 0.0), (rule, k, p, q, a, b))
    close(found["tv"]["pair"], law.law_tv(pairs, law.target_law(p_of, 2)), (rule, k, p, q, "TV of pairs"))
    accepted = sum(n * prob for n, prob in law.accepted_law(rule, p_of, q_of, k).items())
    close(found["accepted"], accepted, (rule, k, p, q, "accepted drafts"))


@pytest.mark.parametrize("rule_id", ["block", "fly"])
def test_a_rule_that_looks_ahead_has_the_cores_law_with_four_drafts(page, rule_id):
    rule, p, q = RULES[rule_id], [0.35, 0.65], [0.7, 0.3]
    found = page.ask("law", rule=rule.id, params=rule.params, p=p, q=q, k=4)
    pairs = law.emitted_law(rule, same_everywhere(*p), same_everywhere(*q), 4, 2)
    for a in range(2):
        for b in range(2):
            close(found["pairs"][a][b], pairs[a, b], (rule, a, b))


@pytest.mark.parametrize("rule", [r for r in RULES.values() if not r.looks_ahead], ids=lambda rule: rule.id)
@quick
@given(data=st.data())
def test_the_closed_form_of_acceptance_is_the_cores(page, rule, data):
    rule = rule_with_params(data.draw, rule)
    p, q = data.draw(table(8))
    assume(decided(rule, p))
    found = page.ask("law", rule=rule.id, params=rule.params, p=p, q=q, k=1)
    closed = position_law.position_law(rule, *(rows.from_dense(np.array(row)) for row in (p, q)))
    close(found["acceptance"], closed.acceptance, (rule, p, q))
    close(found["accepted"], closed.acceptance, (rule, p, q, "of one draft"))
    emitted = dict(zip(closed.ids.tolist(), closed.probs.tolist(), strict=True))
    for token in range(len(p)):
        close(found["singles"][token], emitted.get(token, 0.0), (rule, p, q, token))


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.id)
@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_a_text_is_the_loops_token_for_token_and_coin_for_coin(page, rule, data):
    rule = rule_with_params(data.draw, rule)
    logits = data.draw(
        st.lists(st.floats(-4, 4, width=32), min_size=4, max_size=16).filter(lambda x: len(x) % 2 == 0)
    )
    half, k, seed = len(logits) // 2, data.draw(st.integers(1, 4)), data.draw(st.integers(0, 2**53 - 1))
    target, drafter = (np.array(part, dtype=np.float32) for part in (logits[:half], logits[half:]))
    done = played(rule, target, drafter, k, seed)
    p, q = (warp.effective(row, toys.plan(rule).sampling).probs.tolist() for row in (target, drafter))
    assume(decided(rule, p))
    found = page.ask("text", rule=rule.id, params=rule.params, p=p, q=q, k=k, seed=seed, rounds=len(done))
    for own, ours in zip(found, done, strict=True):
        same_round(own, ours, (rule, p, q, k, seed, ours.index))


def played(rule: Rule, target: np.ndarray, drafter: np.ndarray, k: int, seed: int) -> list[Round]:
    """Six rounds of the real loop over models with the same logits everywhere."""
    asked = toys.plan(rule, k=k, seed=seed, max_tokens=1000)
    scorer, drafts = toys.ToyScorer(lambda tokens: target), toys.ToyDrafter(lambda tokens: drafter)
    scorer.prefill(asked.prompt)
    drafts.start(asked.prompt)
    rounds = iter(Generation(asked, drafts, scorer))
    return [next(rounds) for _ in range(6)]


def same_round(own: dict, ours: Round, what: object) -> None:
    verdict = ours.verdict
    assert (own["start"], own["drafts"]) == (ours.block.start, list(ours.block.tokens)), what
    assert own["emitted"] == list(ours.emitted), what
    assert (own["verdict"]["n"], own["verdict"]["source"]) == (verdict.n_accepted, verdict.next_source), what
    assert [check["accepted"] for check in own["verdict"]["checks"]] == [
        c.accepted for c in verdict.checks
    ], what
    assert [check["u"] for check in own["verdict"]["checks"]] == [c.u for c in verdict.checks], what
    for check, expected in zip(own["verdict"]["checks"], verdict.checks, strict=True):
        close(check["threshold"], expected.accept_prob, (what, "threshold"))
    if verdict.residual is not None:
        close(own["verdict"]["mass"], verdict.mass, (what, "residual mass"))
        assert own["verdict"]["degenerate"] == verdict.degenerate, what
    fallen = {coin.at: coin for coin in ours.coins}
    for coin in own["coins"]:
        at = Address(**coin["at"])
        if at.purpose == "noise" and at.position > ours.block.start + verdict.n_accepted:
            continue  # the loop asks the target there too, for "own", and the last race is what is kept
        assert coin["outcome"] == fallen[at].outcome, (what, at)
        assert coin["u"] == pytest.approx(fallen[at].u, abs=0 if at.purpose != "noise" else EXACT), (what, at)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 4000), min_size=2, max_size=64), st.integers(0, 2**31))
def test_the_chi_square_is_the_cores(page, counts, seed):
    n = sum(counts) + 1
    counts = [*counts, 1]
    probs = np.random.default_rng(seed).dirichlet(np.ones(len(counts)) * 0.7)
    found = page.ask("chi", counts=counts, law=probs.tolist(), n=n)
    expected = dict(enumerate(probs.tolist()))
    ours = exactness.chi_square(dict(enumerate(counts)), exactness.cells(expected, n), n)
    assert found["dof"] == ours.dof
    assert math.isclose(found["statistic"], ours.statistic, rel_tol=1e-9)
    assert math.isclose(found["p"], ours.p_value, rel_tol=1e-6, abs_tol=1e-12)


#: A pair on which each fault is off by TV .1 or more (one coin for the block: in pairs), and the texts drawn.
P, Q, N = [0.2, 0.2, 0.3, 0.3], [0.5, 0.3, 0.1, 0.1], 10_000
FAULTS = [rule.id for rule in RULES.values() if rule.faulty]
LOSSLESS = [rule.id for rule in RULES.values() if rule.lossless and not rule.greedy_only]


def sample(page: LabPage, rule_id: str, seed: int) -> dict:
    return page.ask("sample", rule=rule_id, params=RULES[rule_id].params, p=P, q=Q, k=3, seed=seed, n=N)


@pytest.mark.parametrize("rule_id", LOSSLESS)
def test_ten_thousand_texts_of_a_lossless_rule_pass(page, rule_id):
    tests = sample(page, rule_id, 1)["tests"]
    said = f"a right rule fails each of these once in {1 / exactness.ALPHA:.0f}: {tests}"
    assert min(tests["singles"]["p"], tests["pairs"]["p"]) > exactness.ALPHA, said
    assert tests["outside"] == 0


@pytest.mark.parametrize("rule_id", FAULTS)
def test_ten_thousand_texts_of_a_faulty_rule_are_caught(page, rule_id):
    tests = sample(page, rule_id, 1)["tests"]
    assert min(tests["singles"]["p"], tests["pairs"]["p"]) < exactness.ALPHA, tests


def test_one_coin_for_the_block_passes_singles_and_fails_pairs(page):
    tests = sample(page, "fault-shared-coin", 1)["tests"]
    assert tests["singles"]["p"] > exactness.ALPHA > tests["pairs"]["p"]


def test_a_sample_is_the_loops_own_texts(page):
    """Text j of a seed is the session of seed + j: counted here from the core's coins and rule."""
    found = page.ask("sample", rule="block", params={}, p=P, q=Q, k=3, seed=40, n=60)
    counts = np.zeros((4, 4), dtype=int)
    target, drafter = (np.log(np.array(row)).astype(np.float32) for row in (P, Q))
    for seed in range(40, 100):
        tokens = [
            token for done in played(RULES["block"], target, drafter, 3, seed) for token in done.emitted
        ]
        counts[tokens[0], tokens[1]] += 1
    assert found["pairs"] == counts.ravel().tolist()
