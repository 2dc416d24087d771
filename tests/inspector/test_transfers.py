"""Files in parts: whole or not at all, no more than was announced, and nothing kept for ever."""

from __future__ import annotations

import base64

import pytest

from engine.errors import BadSetting
from inspector import transfers
from inspector.transfers import AT_ONCE, FORGET_S, MOST, Transfers


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(transfers, "PART", 4)


def part(data: bytes) -> str:
    return base64.b64encode(data).decode()


def test_a_file_is_fetched_part_by_part_and_then_forgotten():
    files = Transfers()
    offered = files.offer("a.txt", b"0123456789")
    assert (offered["name"], offered["size"], offered["part"]) == ("a.txt", 10, 4)
    parts = [files.fetch(offered["file"], start)["data"] for start in (0, 4, 8)]
    assert b"".join(map(base64.b64decode, parts)) == b"0123456789"
    with pytest.raises(BadSetting, match="no longer under way"):
        files.fetch(offered["file"], 0)


def test_a_file_is_gathered_and_taken_once():
    files = Transfers()
    key = files.expect("a.txt", 6)["file"]
    files.send(key, part(b"0123"))
    assert files.send(key, part(b"45")) == {"received": 6}
    assert files.take(key) == b"012345"
    with pytest.raises(BadSetting, match="no longer under way"):
        files.take(key)


def test_an_empty_file_is_a_file():
    files = Transfers()
    assert files.take(files.expect("a.txt", 0)["file"]) == b""


def test_a_file_that_is_not_all_there_is_not_taken():
    files = Transfers()
    key = files.expect("a.txt", 6)["file"]
    files.send(key, part(b"0123"))
    with pytest.raises(BadSetting, match=r"4 of 6 bytes of a\.txt"):
        files.take(key)


def test_more_than_was_announced_ends_it():
    files = Transfers()
    key = files.expect("a.txt", 3)["file"]
    with pytest.raises(BadSetting, match="more than the 3 bytes"):
        files.send(key, part(b"0123"))
    with pytest.raises(BadSetting, match="no longer under way"):
        files.send(key, part(b"0"))


@pytest.mark.parametrize("data", ["not base64!", "abc", "é"])
def test_what_is_no_base64_is_refused(data):
    files = Transfers()
    with pytest.raises(BadSetting, match="no base64"):
        files.send(files.expect("a.txt", 3)["file"], data)


@pytest.mark.parametrize("size", [-1, MOST + 1])
def test_a_size_outside_the_limits_is_refused_before_anything_is_sent(size):
    with pytest.raises(BadSetting, match=f"{MOST:,}"):
        Transfers().expect("a.txt", size)


def test_few_files_at_once_and_one_that_stands_still_is_forgotten():
    now = [0.0]
    files = Transfers(lambda: now[0])
    keys = [files.expect("a.txt", 1)["file"] for _ in range(AT_ONCE)]
    with pytest.raises(BadSetting, match="under way already"):
        files.expect("b.txt", 1)
    now[0] = FORGET_S - 1
    files.send(keys[0], part(b"x"))
    now[0] = FORGET_S + 1
    files.expect("b.txt", 1)
    assert files.take(keys[0]) == b"x"
    with pytest.raises(BadSetting, match="no longer under way"):
        files.take(keys[1])
