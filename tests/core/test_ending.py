"""When a text is over, token by token, as the loop asks."""

import pytest

from engine.core.ending import Ending, close, visible_text
from engine.core.types import Verdict
from tests.core.rounds import made_round

PIECES = [b"", b"a", b"b", b"ab", b"\n", b"\n\n", b"xa", b"\xc3", b"\xa9", b"b\nc"]
EOS = 0


def ending(*stop: str) -> Ending:
    return Ending(frozenset({EOS}), stop, lambda ids: {i: PIECES[i] for i in ids})


def test_nothing_has_not_ended():
    assert not ending("a").reached(())


def test_an_end_of_text_token_ends_it():
    assert ending().reason((1, EOS)) == "end of text"
    assert not ending().reached((EOS, 1))


@pytest.mark.parametrize(
    ("tokens", "stop"),
    [
        ((1, 2), "ab"),  # across two tokens
        ((3,), "ab"),  # one token
        ((6, 2), "ab"),  # the first begins inside a token
        ((1, 9), "ab"),  # the last ends inside a token
        ((4, 4), "\n\n"),
        ((7, 8), "é"),  # across the bytes of a character
        ((1, 0, 2), "ab"),  # across a token without bytes
        ((2, 2, 2, 2, 1, 2), "bab"),
    ],
)
def test_a_stop_string_counts_with_the_token_that_completes_it(tokens, stop):
    plain = Ending(frozenset(), (stop,), lambda ids: {i: PIECES[i] for i in ids})
    assert plain.reason(tokens) == f"stop string {stop!r}"
    assert not plain.reached(tokens[:-1])


def test_a_stop_string_that_was_completed_before_does_not_count_again():
    assert not ending("ab").reached((3, 1))
    assert not ending("ab").reached((1, 2, 4))


def test_the_first_of_several_reasons_is_given():
    assert ending("zz", "b").reason((1, 2)) == "stop string 'b'"


def test_a_text_is_shown_without_its_stop_string():
    assert visible_text(b"one. two. three", ["three", ". t"]) == "one"
    assert visible_text(b"one", ["x", ""]) == "one"
    assert visible_text("é\xff".encode()[:-1], []) == "é\ufffd"


VERDICT = Verdict((), 3, 2, "bonus")


def test_a_final_block_that_stands_whole_emits_nothing_behind_itself():
    block = made_round(n_accepted=3).block
    verdict, emitted = close(block, VERDICT, final=True)
    assert (verdict.next_token, verdict.next_source, emitted) == (None, "ended", block.tokens)
    assert close(block, VERDICT, final=False) == (VERDICT, (*block.tokens, 2))
    rejected = Verdict((), 1, 2, "corrected")
    assert close(block, rejected, final=True) == (rejected, (block.tokens[0], 2))
