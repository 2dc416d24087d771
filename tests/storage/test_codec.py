"""What goes through the codec comes back equal, bit for bit, or is refused."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.core import rows
from engine.core.events import Event, Measure, PromptRead, Round, SessionFinished, StageTimes
from engine.core.types import SOURCES, Address, Block, Check, Coin, Row, Sampling, Verdict
from engine.errors import EngineError
from storage.codec import decode, encode, pack_row, row_hashes, tokens_that_matter, unpack_row
from tests.storage.factories import rejecting_round, round_at, row, started, zipf

WIDE = 10_000_000

finite = st.floats(allow_nan=False, allow_infinity=False)
probabilities = st.floats(0, 1)
tokens = st.integers(0, 2**32 - 1)
small = st.integers(0, 40)


@st.composite
def some_rows(draw) -> Row:
    """Sparse, one-hot, empty and full rows, with and without a tail."""
    vocab = draw(st.integers(1, 40))
    ids = draw(st.one_of(st.sets(st.integers(0, vocab - 1)), st.just(set(range(vocab)))))
    probs = draw(st.lists(probabilities, min_size=len(ids), max_size=len(ids)))
    return Row(np.array(sorted(ids), np.uint32), np.array(probs), vocab, draw(probabilities))


@st.composite
def some_rounds(draw) -> Round:
    k = draw(st.integers(0, 3))

    def several(what, n):
        return tuple(draw(st.lists(what, min_size=n, max_size=n)))

    maybe = st.none() | probabilities
    verdict = Verdict(
        checks=several(st.builds(Check, probabilities, maybe, st.booleans()), draw(st.integers(0, k))),
        n_accepted=draw(st.integers(0, k)),
        next_token=draw(st.none() | tokens),
        next_source=draw(st.sampled_from(SOURCES)),
        residual=draw(st.none() | some_rows()),
        mass=draw(maybe),
        degenerate=draw(st.booleans()),
    )
    address = st.builds(Address, st.sampled_from(["draft", "accept", "target"]), small, small)
    return Round(
        index=draw(small),
        block=Block(
            draw(small),
            several(tokens, k),
            several(some_rows(), k),
            several(some_rows(), k + 1),
            several(small, k + 1),
        ),
        verdict=verdict,
        emitted=several(tokens, draw(st.integers(0, k + 1))),
        own=several(tokens, k + 1),
        coins=several(st.builds(Coin, address, probabilities, tokens), draw(st.integers(0, 3))),
        measures=several(st.builds(Measure, finite, finite, finite, finite), k),
        entropy_bonus=draw(finite),
        times=draw(st.builds(StageTimes, finite, finite, finite)),
        raw_p=several(some_rows(), draw(st.sampled_from([0, k + 1]))),
        raw_q=several(some_rows(), draw(st.sampled_from([0, k]))),
    )


some_events = st.one_of(
    some_rounds(),
    st.builds(PromptRead, st.lists(tokens, max_size=5).map(tuple), finite),
    st.builds(SessionFinished, st.sampled_from(["finished", "stopped", "failed"]), st.text(), finite),
    st.builds(
        started,
        prompt=st.text(),
        raw=st.booleans(),
        reason=st.text(),
        params=st.dictionaries(st.text(), finite, max_size=3),
        stop=st.lists(st.text(), max_size=2).map(tuple),
        seed=st.integers(0, 2**63 - 1),
        sampling=st.builds(Sampling, temperature=st.floats(0, 5), logit_bias=st.just(((3, -1.5),))),
    ),
)


def there_and_back(event: Event, row_cap: int = WIDE) -> Event:
    encoded = encode(event, row_cap)
    body = json.loads(encoded.body)
    stored = {line.hash: unpack_row(line) for line in encoded.rows}
    assert set(stored) == row_hashes(body)
    return decode(body, stored)


@settings(max_examples=150, deadline=None)
@given(some_events)
def test_every_event_comes_back_equal(event):
    assert there_and_back(event) == event


@settings(max_examples=100, deadline=None)
@given(some_rows())
def test_a_row_keeps_every_bit_and_a_full_row_stores_no_ids(original):
    stored = pack_row(original)
    back = unpack_row(stored)
    assert (stored.ids is None) == (len(original.ids) == original.vocab)
    assert (back.vocab, back.tail) == (original.vocab, original.tail)
    assert back.ids.tobytes() == original.ids.tobytes()
    assert back.probs.tobytes() == original.probs.tobytes()


def test_arrays_are_stored_little_endian():
    stored = pack_row(Row(np.array([1, 258], np.uint32), np.array([0.5, 0.25]), 300))
    assert stored.ids == bytes([1, 0, 0, 0, 2, 1, 0, 0])
    assert stored.probs == bytes([0, 0, 0, 0, 0, 0, 0xE0, 0x3F, 0, 0, 0, 0, 0, 0, 0xD0, 0x3F])


def test_the_address_of_a_row_is_pinned():
    # hashlib.sha256(struct.pack("<QdQ", 2, 0.0, 2) + struct.pack("<dd", 0.5, 0.5)).hexdigest()
    assert pack_row(row(1, 1)).hash == "1f4d225fa64fcb3bdd522befc24ed53dfe3e87c60a9f373e156fad75d96ff122"


def test_rows_that_differ_in_one_part_have_different_addresses():
    ids, probs = np.array([0, 2], np.uint32), np.array([0.5, 0.5])
    variants = [
        Row(ids, probs, 3),
        Row(ids, probs, 4),
        Row(ids, probs, 3, 0.25),
        Row(np.array([0, 1], np.uint32), probs, 3),
        Row(ids, np.array([0.5, np.nextafter(0.5, 1)]), 3),
    ]
    assert len({pack_row(variant).hash for variant in variants}) == len(variants)


def test_a_changed_byte_is_noticed():
    stored = pack_row(row(1, 2, 3))
    changed = type(stored)(stored.hash, stored.ids, b"\x01" + stored.probs[1:], stored.vocab, stored.tail)
    with pytest.raises(EngineError, match="does not match its own hash"):
        unpack_row(changed)


def wide_round(vocab: int = 500) -> Round:
    rng = np.random.default_rng(3)
    p = tuple(zipf(vocab, rng) for _ in range(3))
    q = tuple(zipf(vocab, rng) for _ in range(2))
    return rejecting_round(0, p, q)


def test_a_cut_row_keeps_the_top_the_tokens_that_matter_and_exact_bits():
    whole_round = wide_round()
    rare = int(whole_round.block.p[0].ids[np.argmin(whole_round.block.p[0].probs)])
    event = replace(whole_round, own=(rare, *whole_round.own[1:]))
    back = there_and_back(event, row_cap=5)
    matter = tokens_that_matter(event)
    assert rare in matter and len(matter) >= 3
    assert back.block.p[0].prob(rare) == event.block.p[0].prob(rare) > 0
    pairs = [*zip(event.block.p, back.block.p, strict=True), *zip(event.block.q, back.block.q, strict=True)]
    for whole, kept in [*pairs, (event.verdict.residual, back.verdict.residual)]:
        wanted = set(rows.top(whole, 5).tolist()) | (set(matter) & set(whole.ids.tolist()))
        assert set(kept.ids.tolist()) == wanted
        assert all(kept.prob(token) == whole.prob(token) for token in wanted)
        assert not kept.exact
        assert kept.tail + kept.probs.sum() == pytest.approx(whole.probs.sum(), abs=1e-12)


def test_tokens_that_matter_are_drafts_own_draws_emitted_and_next():
    r = row(1, 1, 1, 1, 1, 1, 1, 1, 1, 1)
    event = rejecting_round(0, (r, r), (r,))
    event = replace(
        event,
        block=replace(event.block, tokens=(2,)),
        own=(3, 4),
        emitted=(6,),
        verdict=replace(event.verdict, next_token=8),
    )
    assert tokens_that_matter(event) == (2, 3, 4, 6, 8)


def test_a_row_of_exactly_the_cap_is_not_cut():
    event = wide_round(500)
    assert there_and_back(event, row_cap=500) == event
    assert there_and_back(event, row_cap=499) != event


def test_a_row_whose_every_token_matters_stays_exact_under_a_small_cap():
    event = round_at(0)
    assert there_and_back(event, row_cap=5).block.q[0] == event.block.q[0]


def test_numpy_scalars_become_plain_numbers():
    event = PromptRead((np.uint32(4), np.int64(5)), np.float32(0.5), np.int64(6), "toy")
    assert json.loads(encode(event, 8).body)["tokens"] == [4, 5]
    assert there_and_back(event) == PromptRead((4, 5), 0.5, 6, "toy")
    values = there_and_back(started(params={"w": np.float32(0.1), "on": np.bool_(True)})).params
    assert values == {"w": float(np.float32(0.1)), "on": True}


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf"), np.float32("nan")])
def test_a_number_that_is_not_finite_is_refused_with_its_place(bad):
    with pytest.raises(EngineError, match=r"prompt\.ms is (nan|-?inf)"):
        encode(PromptRead((1,), bad, 6, "toy"), 8)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (Row(np.array([0, 1], np.uint32), np.array([0.5, np.nan]), 4), "probability nan at token 1"),
        (Row(np.array([0, 3], np.uint32), np.array([np.inf, 0.5]), 4), "probability inf at token 0"),
        (Row(np.array([0, 3], np.uint32), np.array([0.5, -0.5]), 4), "probability -0.5 at token 3"),
        (Row(np.array([3, 0], np.uint32), np.array([0.5, 0.5]), 4), "do not ascend from 0 to 3"),
        (Row(np.array([0, 4], np.uint32), np.array([0.5, 0.5]), 4), "do not ascend from 0 to 3"),
        (Row(np.array([0], np.uint32), np.array([0.5, 0.5]), 4), "probabilities"),
        (Row(np.array([0], np.uint32), np.array([0.5]), 4, np.nan), "tail nan"),
    ],
)
def test_a_row_that_is_none_is_refused(bad, words):
    good = row(1, 1, 1, 1)
    event = rejecting_round(0, (good, good), (good,))
    object.__setattr__(event.block, "p", (bad, good))
    with pytest.raises(EngineError, match=words):
        encode(event, 1)
