"""Where a text ends: at an end-of-text token, or in the token that completes a stop string."""

from __future__ import annotations

import pytest

from engine.core.ending import Ending, visible_text

PIECES = {0: b"a", 1: b"b", 2: b"abc", 3: b"", 4: b"\xc3", 5: b"\xa9", 6: b"<|end|>", 7: b"c"}


def ending(*stop: str) -> Ending:
    return Ending(frozenset({6}), stop, lambda ids: {i: PIECES[i] for i in ids})


@pytest.mark.parametrize(
    ("output", "stop", "reason"),
    [
        ((), "a", ""),
        ((0,), "a", "stop string 'a'"),
        ((0, 1), "a", ""),  # completed by a token before the last
        ((0, 1), "ab", "stop string 'ab'"),
        ((0, 2), "ca", ""),
        ((2, 0), "ca", "stop string 'ca'"),  # begins inside a token
        ((0, 2), "ab", "stop string 'ab'"),  # ends inside a token
        ((0, 3, 1), "ab", "stop string 'ab'"),  # a token of no bytes between
        ((4, 5), "é", "stop string 'é'"),  # a character of two tokens
        ((4,), "é", ""),
        ((0, 6), "x", "end of text"),
        ((6, 0), "x", ""),
    ],
)
def test_only_the_last_token_ends_a_text(output, stop, reason):
    assert ending(stop).reason(output) == reason
    assert ending(stop).reached(output) == bool(reason)


def test_without_stop_strings_only_end_of_text_ends():
    assert ending().reason((2, 2)) == ""


def test_a_finished_text_is_cut_at_the_first_stop_string():
    assert visible_text(b"one, two. three", (". ", ",")) == "one"
    assert visible_text(b"one", ("", "x")) == "one"
    assert visible_text(b"one", ("one",)) == ""


def test_half_a_character_is_replaced_and_is_no_stop_string():
    assert visible_text(b"a\xc3b", ("\ufffd",)) == "a\ufffdb"
    assert visible_text("a\ufffdb".encode(), ("\ufffd",)) == "a"
