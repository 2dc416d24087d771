"""Sessions out and in again: lossless, complete, and closed to every file that is not as it was written."""

from __future__ import annotations

import base64
import hashlib
import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.core.events import EVENTS, SessionStarted
from engine.rules import RULES
from storage import Store, StoreError, export_format, reading
from storage.codec import pack_row, unpack_row
from storage.event_shapes import BODIES
from storage.export_format import LINES
from tests import stored


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """A store whose rows are cut to five tokens, with a family of sessions."""
    with Store.open(tmp_path_factory.mktemp("source") / "source.sqlite", row_cap=5) as store:
        stored.family(store)
        yield store


@pytest.fixture(scope="module")
def exported(source) -> bytes:
    return source.export([s.id for s in reversed(source.sessions())])


@pytest.fixture
def other(tmp_path):
    with Store.open(tmp_path / "other.sqlite") as store:
        yield store


def import_(store: Store, data: bytes) -> list[int]:
    return store.import_sessions(data)


def bodies(store: Store, session_id: int) -> list[tuple]:
    with closing(sqlite3.connect(store.path)) as conn:
        sql = "SELECT seq, type, body FROM events WHERE session_id = ? ORDER BY seq"
        return conn.execute(sql, [session_id]).fetchall()


def rows_used(store: Store, session_id: int) -> list[tuple]:
    with closing(sqlite3.connect(store.path)) as conn:
        sql = "SELECT r.* FROM rows r JOIN row_uses u USING (hash) WHERE u.session_id = ? ORDER BY hash"
        return conn.execute(sql, [session_id]).fetchall()


def dump(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as conn:
        return list(conn.iterdump())


def own_part(info, ids: dict) -> object:
    return replace(info, id=0, parent_id=ids.get(info.parent_id), imported=None)


# Out and in again


def test_an_imported_family_equals_the_exported_one(source, exported, other):
    before = sorted(source.sessions(), key=lambda info: info.id)
    new = import_(other, exported)
    ids = {info.id: n for info, n in zip(before, new, strict=True)}
    for info in before:
        found = other.session(ids[info.id])
        assert own_part(found, {n: n for n in new}) == own_part(info, ids)
        assert bodies(other, found.id) == bodies(source, info.id)
        assert rows_used(other, found.id) == rows_used(source, info.id)
        assert other.events(found.id) == source.events(info.id)
    assert other.pieces(stored.TOKENIZER) == source.pieces(stored.TOKENIZER)


def test_an_imported_session_says_so_and_its_parent_stays_its_parent(exported, other):
    new = import_(other, exported)
    infos = [other.session(i) for i in new]
    assert all(info.imported for info in infos)
    assert [info.relation for info in infos] == [None, "rerun", "rerun", "branch", "rerun"]
    assert [info.parent_id for info in infos] == [None, new[0], new[0], new[0], new[3]]
    assert [info.branch_at for info in infos] == [None, None, None, 4, 4]
    assert infos[0].tags == ("a", "b,c") and infos[0].starred and "two lines" in infos[0].note


def test_what_was_run_here_is_not_called_imported(source):
    assert {info.imported for info in source.sessions()} == {None}


def test_a_file_can_be_imported_twice_beside_what_is_there(exported, other):
    own = stored.put(other, stored.plan(seed=9))
    before = bodies(other, own)
    first, second = import_(other, exported), import_(other, exported)
    assert len({own, *first, *second}) == 11
    assert bodies(other, own) == before
    assert bodies(other, first[1]) == bodies(other, second[1])


def test_an_export_of_an_import_is_the_same_file(exported, other):
    again = other.export(import_(other, exported)).splitlines()[1:-1]
    assert again == exported.splitlines()[1:-1]


def test_a_child_goes_alone_and_keeps_its_relation(source, other):
    child = source.sessions()[1].id
    (new,) = import_(other, source.export([child]))
    assert (other.session(new).parent_id, other.session(new).relation) == (
        None,
        source.session(child).relation,
    )


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule != "greedy-argmax"])
def test_a_session_of_every_rule_passes_the_checks(rule, tmp_path, other):
    with Store.open(tmp_path / "one.sqlite", row_cap=3) as store:
        one = stored.put(store, stored.plan(rule))
        (new,) = import_(other, store.export([one]))
        assert other.events(new) == store.events(one)


def test_greedy_and_unfiltered_sessions_pass_too(tmp_path, other):
    cold = replace(stored.plan().sampling, temperature=0.0)
    plain = replace(stored.plan().sampling, top_k=0)
    with Store.open(tmp_path / "two.sqlite") as store:
        ids = [stored.put(store, stored.plan(sampling=sampling)) for sampling in (cold, plain)]
        new = import_(other, store.export(ids))
        assert [other.events(i) for i in new] == [store.events(i) for i in ids]


def test_a_session_that_a_crash_cut_off_comes_as_interrupted(tmp_path, other):
    path = tmp_path / "cut.sqlite"
    with Store.open(path) as store:
        stored.put(store, stored.plan(), ended=False)
    with Store.open(path) as store:
        (new,) = import_(other, store.export([1]))
        assert own_part(other.session(new), {}) == own_part(store.session(1), {})
    assert other.session(new).status == "interrupted"


def test_a_running_session_is_not_exported(other):
    running = other.create(stored.plan())
    with pytest.raises(StoreError, match="still running"):
        other.export([running])


def test_an_unknown_session_is_not_exported(other):
    with pytest.raises(StoreError, match="no session 99"):
        other.export([99])


def test_an_event_of_before_branches_is_imported(source, other):
    data = changed(source.export([1]), lambda line: drop(line, "forced", "attempts"))
    assert isinstance(other.events(import_(other, data)[0])[0][1], SessionStarted)


# The shapes are those of the events


def test_every_event_has_a_shape_with_its_own_keys(source):
    assert BODIES.keys() == EVENTS.keys()
    for _, event in source.events(1):
        body = event.to_dict()
        assert list(BODIES[event.type].fields) == list(body)
        assert list(event.to_dict(lambda row: pack_row(row).hash)) == list(body)


# Refusals: one sentence with its line, and nothing changes


def lines_of(data: bytes) -> list[dict]:
    return [json.loads(line) for line in data.splitlines()]


def sealed(lines: list[dict], count: bool = True) -> bytes:
    """A file of these lines with its counts and its hash as they should be: only the content is wrong."""
    body = [dict(line) for line in lines if line["line"] != "end"]
    kinds = {"sessions": "session", "rows": "row", "pieces": "pieces", "events": "event"}
    if count and body and body[0]["line"] == "header":
        body[0] |= {name: sum(line["line"] == kind for line in body) for name, kind in kinds.items()}
    data = b"".join(export_format.dump(line) for line in body)
    return data + export_format.dump({"line": "end", "sha256": hashlib.sha256(data).hexdigest()})


def changed(data: bytes, change) -> bytes:
    """The file with `change` called on every line, sealed again."""
    lines = lines_of(data)
    for line in lines:
        change(line)
    return sealed(lines)


def drop(line: dict, *names: str) -> None:
    if line["line"] == "event" and line["body"]["type"] == "started":
        for name in names:
            del line["body"][name]


def on(kind: str, **values):
    """A change of the first line of a kind ("round" for an event of that type)."""
    done = []

    def change(line: dict) -> None:
        place = line["body"] if line["line"] == "event" else line
        if kind in (line["line"], place.get("type")) and not done:
            done.append(1)
            for name, value in values.items():
                place[name] = value(place[name]) if callable(value) else value

    return change


def refused(store: Store, data: bytes, words: str) -> None:
    """The file is refused in a sentence with these words, and the database is what it was, to the byte."""
    before, content = dump(store.path), store.path.read_bytes()
    with pytest.raises(StoreError, match=words) as caught:
        import_(store, data)
    assert caught.value.hint and "\n" not in str(caught.value) and len(str(caught.value)) < 500
    assert dump(store.path) == before
    assert store.path.read_bytes() == content


def test_the_changed_files_below_are_wrong_only_where_they_say(exported, other):
    import_(other, changed(exported, lambda line: None))


def longer(values: list) -> list:
    return [*values, values[0]]


CASES = {
    "another format": (on("header", format="x"), "holds no Draftscope"),
    "a newer version": (on("header", version=2), "format version 2"),
    "an odd version": (on("header", version=True), "header.version"),
    "an unknown field": (on("header", extra=1), "'extra'"),
    "a session's parent behind it": (on("session", parent=3, relation="rerun"), "parent, session 3"),
    "an unknown relation": (on("session", relation="copy"), "relation"),
    "no time": (on("session", created="yesterday"), "no time"),
    "a title that is a number": (on("session", title=1), "session.title"),
    "half a character": (on("session", title="\ud800"), "session.title"),
    "a tag that is a list": (on("session", tags=[["a"]]), r"tags\[0\]"),
    "a star of 1": (on("session", starred=1), "starred"),
    "an unknown event": (on("started", type="start"), "type"),
    "a newer event": (on("started", version=2), "version"),
    "a seed too large": (on("started", seed=2**63), "seed"),
    "a seed as text": (on("started", seed="1"), "seed"),
    "a fractional k": (on("started", k=1.5), "k is"),
    "top-p 0": (on("started", sampling=lambda s: s | {"top_p": 0}), "top_p is 0"),
    "top-p 2": (on("started", sampling=lambda s: s | {"top_p": 2}), "top_p"),
    "another order": (on("started", sampling=lambda s: s | {"order": "none"}), "order"),
    "a parameter beyond all numbers": (on("started", params={"x": 1e301}), "finite number"),
    "a forced token outside": (on("started", forced=[12]), "outside the vocabulary"),
    "more forced than asked for": (on("started", forced=[1] * 21), "forced tokens"),
    "a prompt without tokens": (on("prompt", tokens=[]), "no tokens"),
    "a prompt token outside": (on("prompt", tokens=[99]), "Token 99"),
    "a width too small": (on("prompt", vocab=4), "outside|wide"),
    "a width too large": (on("prompt", vocab=2**22), "vocab"),
    "an unknown tokenizer": (on("prompt", tokenizer="other"), "no bytes"),
    "a round out of order": (on("round", index=1), "Round 1"),
    "a round elsewhere": (on("round", start=1), "position 1"),
    "a token outside": (on("round", tokens=lambda t: [99, *t[1:]]), "emitted|Token 99"),
    "a negative token": (on("round", own=lambda t: [-1, *t[1:]]), r"own\[0\]"),
    "one draft more": (on("round", tokens=longer), "drafts"),
    "one q more": (on("round", q=longer), " q"),
    "one p less": (on("round", p=lambda p: p[1:]), " p"),
    "one attempt more": (on("round", attempts=longer), "attempts"),
    "a check too many": (on("round", checks=lambda c: [*c, *[c[0]] * 9]), "checks"),
    "a check of two": (on("round", checks=[[1, 2]]), "accept_prob"),
    "more accepted than drafted": (on("round", n_accepted=9), "9 of"),
    "nothing follows": (on("round", next_token=None), "followed by"),
    "an unknown source": (on("round", next_source="magic"), "next_source"),
    "another output": (on("round", emitted=longer), "emitted"),
    "a row that is not there": (on("round", p=lambda p: ["0" * 64, *p[1:]]), "not in the file"),
    "a row by a number": (on("round", p=lambda p: [7, *p[1:]]), "SHA-256"),
    "u of 2": (on("round", coins=lambda c: [[*c[0][:3], 2, c[0][4]], *c[1:]]), "coins"),
    "a coin for nothing": (on("round", coins=lambda c: [["luck", *c[0][1:]], *c[1:]]), "coins"),
    "a coin elsewhere": (
        on("round", coins=lambda c: [[c[0][0], 19, *c[0][2:]], *c[1:]]),
        "outside its round",
    ),
    "a stage too many": (on("round", times=lambda t: t | {"tea": 1}), "'tea'"),
    "a negative time": (on("round", times=lambda t: t | {"draft": -1}), "draft"),
    "a flag of 0": (on("round", final=0), "final"),
    "a matrix of a text": (on("round", matrix="all"), "matrix"),
    "a law of nothing": (on("round", matrix=lambda m: [[*m[0][:4], [[1]]], *m[1:]]), "laws|acceptance"),
    "an unknown end": (on("finished", status="won"), "status"),
    "pieces that are no base64": (on("pieces", bytes=["!"]), "base64"),
    "pieces from the middle": (on("pieces", first=3), "no bytes"),
    "row bytes that are no base64": (on("row", probs="="), "base64"),
    "a row under another hash": (on("row", hash="f" * 64), "own hash"),
    "a tail of -1": (on("row", tail=-1), "tail"),
    "a row without ids": (on("row", ids=None), "lengths"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_file_with_one_thing_wrong_is_refused(case, exported, other):
    change, words = CASES[case]
    refused(other, changed(exported, change), words)


def with_row(exported: bytes, make) -> bytes:
    """The file with its first narrow row replaced by another, under that one's own hash."""
    lines = lines_of(exported)
    old = next(line for line in lines if line["line"] == "row" and line["ids"])
    ids = np.frombuffer(base64.b64decode(old["ids"]), "<u4")
    probs = np.frombuffer(base64.b64decode(old["probs"]), "<f8")
    ids, probs, vocab, tail = make(ids, probs, old["vocab"], old["tail"])
    row = pack_row(unpack_row(pack_row(_row(ids, probs, vocab, tail))))
    text = json.dumps(lines).replace(old["hash"], row.hash)
    lines = json.loads(text)
    new = next(line for line in lines if line["line"] == "row" and line["hash"] == row.hash)
    new |= {
        "probs": base64.b64encode(row.probs).decode(),
        "ids": None if row.ids is None else base64.b64encode(row.ids).decode(),
        "vocab": vocab,
        "tail": tail,
    }
    return sealed(lines)


def _row(ids, probs, vocab, tail):
    from engine.core.types import Row

    return Row(np.array(ids, "<u4"), np.array(probs, "<f8"), vocab, tail)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda i, p, v, t: (i[::-1], p, v, t), "ascend"),
        (lambda i, p, v, t: ([*i[:-1], i[-2]], p, v, t), "ascend"),
        (lambda i, p, v, t: ([*i[:-1], v], p, v, t), "ascend"),
        (lambda i, p, v, t: (i, p / 2, v, t), "sums to"),
        (lambda i, p, v, t: (i, [*p[:-1], -p[-1]], v, t), "probability -"),
        (lambda i, p, v, t: (i, [*p[:-1], np.nan], v, t), "probability nan"),
        (lambda i, p, v, t: (i, [*p[:-1], np.inf], v, t), "probability inf"),
        (lambda i, p, v, t: ([], [], v, 1.0), "lengths"),
        (lambda i, p, v, t: (i, p, v + 1, t), "wide"),
    ],
)
def test_a_row_that_is_no_distribution_is_refused_under_its_own_hash(make, words, exported, other):
    refused(other, with_row(exported, make), words)


def without(kind: str):
    return lambda lines: [line for line in lines if line["line"] != kind]


def swapped(lines: list[dict]) -> list[dict]:
    i = next(i for i, line in enumerate(lines) if line["line"] == "event")
    return [*lines[:i], lines[i + 1], lines[i], *lines[i + 2 :]]


def twice(kind: str):
    def change(lines: list[dict]) -> list[dict]:
        i = next(i for i, line in enumerate(lines) if line["line"] == kind)
        return [*lines[: i + 1], lines[i], *lines[i + 1 :]]

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (without("header"), "where header should be"),
        (without("pieces"), "no bytes"),
        (without("row"), "not in the file"),
        (without("session"), "header.sessions"),
        (without("event"), "where event should be"),
        (swapped, "event 1 of session 1"),
        (twice("row"), "stands twice"),
        (twice("pieces"), "stands twice"),
        (twice("session"), "where event should be"),
        (twice("event"), "event 0 of session 1"),
        (lambda lines: lines[::-1], "where header"),
    ],
)
def test_lines_that_are_lost_doubled_or_moved_are_refused(change, words, exported, other):
    refused(other, sealed(change(lines_of(exported))), words)


def test_a_header_that_counts_wrong_is_refused(exported, other):
    for name in ("sessions", "rows", "pieces", "events"):
        for by in (1, -1):
            lines = lines_of(exported)
            lines[0][name] += by
            refused(other, sealed(lines, count=False), name)


def test_another_hash_at_the_end_is_refused(exported, other):
    lines = lines_of(exported)
    lines[-1]["sha256"] = "0" * 64
    refused(other, b"".join(map(export_format.dump, lines)), "SHA-256")


def test_rows_that_nothing_names_are_refused(exported, other):
    lines = lines_of(exported)
    first_rounds = next(i for i, line in enumerate(lines) if line.get("body", {}).get("type") == "round")
    refused(other, sealed(lines[:first_rounds]), "No event names row")


def test_text_behind_the_end_is_refused(exported, other):
    refused(other, exported + b"{}\n", "where nothing should be")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is empty"),
        (b"\n", "not JSON"),
        (b"hello", "does not end"),
        (b"hello\n", "not JSON"),
        (b"\xff\xfe\n", "not UTF-8"),
        (b"[1]\n", "no JSON object"),
        (b'{"line":"header","line":"header"}\n', "not JSON"),
        (b'{"line":NaN}\n', "not JSON"),
        (b'{"line":1e999}\n', "where header"),
        (b'{"line":["header"]}\n', "where header"),
        (b"[" * 200_000 + b"\n", "not JSON"),
        (b'{"a":' * 200_000 + b"\n", "not JSON"),
        (b'{"line":"header","n":' + b"9" * 10_000 + b"}\n", "not JSON|Draftscope"),
        (b"SQLite format 3\0" * 100, "does not end"),
        (b"x" * (export_format.MAX_LINE + 10) + b"\n", "does not end within"),
    ],
)
def test_what_is_no_export_at_all_is_refused(data, words, other):
    refused(other, data, words)


def test_a_file_too_large_or_of_too_many_lines_is_refused(exported, other, monkeypatch):
    monkeypatch.setattr(reading, "MAX_BYTES", 1000)
    refused(other, exported, "at most 1000 are read")
    monkeypatch.setattr(reading, "MAX_BYTES", 2**30)
    monkeypatch.setattr(reading, "MAX_LINES", 10)
    refused(other, exported, "more than 10 lines")


def test_tokens_that_are_spelled_in_another_way_here_are_refused(exported, other):
    other.add_pieces(stored.TOKENIZER, {3: b" a"})
    refused(other, exported, "Token 3")


def test_a_loaded_tokenizer_corrects_what_a_file_said_under_its_name(exported, other):
    import_(other, changed(exported, on("pieces", bytes=lambda b: ["eHg=", *b[1:]])))
    assert other.pieces(stored.TOKENIZER, [0]) == {0: b"xx"}
    other.learn(stored.TOKENIZER, lambda: stored.PIECES)
    assert other.pieces(stored.TOKENIZER) == stored.PIECES


HAMMER = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@HAMMER
@given(cut=st.floats(0, 1, exclude_max=True))
def test_a_file_that_was_cut_off_is_refused(cut, exported):
    with pytest.raises(StoreError):
        reading.read(exported[: int(cut * len(exported))])


@HAMMER
@given(at=st.floats(0, 1, exclude_max=True), flip=st.integers(1, 255))
def test_a_file_with_one_other_byte_is_refused(at, flip, exported):
    data = bytearray(exported)
    data[int(at * len(data))] ^= flip
    with pytest.raises(StoreError):
        reading.read(bytes(data))


NASTY = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=5),
    st.lists(st.integers(-1, 20), max_size=3),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)


def places(value: object, path: tuple = ()):
    """Every place in a JSON value."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(choice=st.randoms(use_true_random=False), value=NASTY)
def test_any_one_value_replaced_is_refused_or_harmless(choice, value, source):
    """Sealed again after the change, so that only the checks stand between the file and the database: what
    they let through must come out of the store as it went in."""
    lines = lines_of(source.export([1]))
    line = choice.choice(lines[:-1])
    path = choice.choice(list(places(line))[1:])
    place = line
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    data = sealed(lines, count=False)
    try:
        reading.read(data)
    except StoreError as error:
        assert error.hint and "\n" not in str(error)
        return
    with Store.open(source.path.with_name(f"{hash((path, str(value)))}.sqlite")) as fresh:
        (new,) = fresh.import_sessions(data)
        fresh.session(new)
        assert [event.type for _, event in fresh.events(new)] == [e.type for _, e in source.events(1)]
        reading.read(fresh.export([new]))


def test_every_kind_of_line_is_written(exported):
    assert {line["line"] for line in lines_of(exported)} == set(LINES)
