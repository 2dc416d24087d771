"""What Store promises about sessions, their events, their rows and their lines in a list."""

import sqlite3
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from engine.core.events import Round, from_dict
from engine.core.stats import counters
from engine.core.types import Sampling
from engine.errors import EngineError
from storage import Store, StoreError, default_path
from storage.tables import NO_ROW
from tests.storage.factories import fill, finished, prompt_read, rejecting_round, round_at, row, started, zipf


@pytest.fixture
def path(tmp_path):
    return tmp_path / "sessions.sqlite"


@pytest.fixture
def store(path):
    with Store.open(path) as store:
        yield store


def table(path, sql: str) -> list[tuple]:
    conn = sqlite3.connect(path)
    try:
        return conn.execute(sql).fetchall()
    finally:
        conn.close()


def test_a_session_reads_back_as_it_was_written(store):
    session_id = store.create(started(), title="sky")
    assert store.append(session_id, prompt_read()) == 1
    rounds = [round_at(i) for i in range(4)]
    assert [store.append(session_id, event) for event in rounds] == [2, 3, 4, 5]
    assert store.append(session_id, finished()) == 6
    expected = [started(), prompt_read(), *rounds, finished()]
    assert store.events(session_id) == list(enumerate(expected))
    assert store.started(session_id) == started()
    assert store.count(session_id) == 7


def test_the_list_shows_what_was_asked_and_how_it_went(store):
    before = datetime.now(UTC) - timedelta(seconds=1)
    session_id = store.create(
        started(rule="one-hot", asked="block", sampling=Sampling(temperature=0.5), raw=True)
    )
    assert store.session(session_id).status == "queued"
    store.append(session_id, prompt_read())
    assert store.session(session_id).status == "running"
    store.append(session_id, finished("stopped", "stopped by you"))
    info = store.session(session_id)
    assert (info.rule, info.asked, info.temperature, info.raw) == ("one-hot", "block", 0.5, True)
    assert (info.status, info.reason, info.ms) == ("stopped", "stopped by you", 125.0)
    assert (info.vocab, info.tokenizer, info.versions) == (6, "toy", {"draftscope": "0.1.0"})
    assert before <= datetime.fromisoformat(info.created) <= datetime.now(UTC)


def test_events_and_rounds_come_in_pages(store):
    session_id = store.create(started())
    assert store.rounds(session_id, 0, 9) == []
    fill(store, session_id, 5)
    assert [seq for seq, _ in store.events(session_id, after=2)] == [3, 4, 5, 6]
    assert [seq for seq, _ in store.events(session_id, after=2, limit=2)] == [3, 4]
    assert store.events(session_id, after=6) == []
    assert store.rounds(session_id, 1, 3) == [round_at(1), round_at(2)]
    assert store.rounds(session_id, -3, 1) == [round_at(0)]
    assert store.rounds(session_id, 3, 99) == [round_at(3), round_at(4)]
    assert store.rounds(session_id, 3, 3) == store.rounds(session_id, 9, 12) == []
    store.append(session_id, finished())
    assert store.rounds(session_id, 4, 99) == [round_at(4)]


def test_an_outline_is_a_round_without_its_rows(store):
    session_id = store.create(started())
    assert store.outlines(session_id, 0, 9) == []
    fill(store, session_id, 4)
    store.append(session_id, finished())
    without = lambda row: NO_ROW  # noqa: E731
    expected = [from_dict(round_at(i).to_dict(), without) for i in (1, 2, 3)]
    assert store.outlines(session_id, 1, 99) == expected
    assert store.outlines(session_id, -2, 2)[1] == expected[0]
    assert store.outlines(session_id, 3, 3) == store.outlines(session_id, 9, 12) == []
    for done in expected:
        rows = (*done.block.p, *done.block.q, *done.raw_p, *done.raw_q, done.verdict.residual)
        assert {row.vocab for row in rows if row is not None} == {0}
        assert not done.block.p[0].exact


def test_outlines_need_no_row_of_the_database(store, path):
    session_id = store.create(started())
    fill(store, session_id, 2)
    kept = store.outlines(session_id, 0, 2)
    conn = sqlite3.connect(path)
    conn.execute("DELETE FROM rows")
    conn.commit()
    conn.close()
    assert store.outlines(session_id, 0, 2) == kept
    with pytest.raises(StoreError, match="missing"):
        store.rounds(session_id, 0, 2)


def test_rounds_are_found_in_a_session_without_a_prompt_event(store):
    session_id = store.create(started())
    store.append(session_id, round_at(0))
    store.append(session_id, round_at(1))
    assert store.rounds(session_id, 1, 2) == [round_at(1)]


def test_the_cached_counters_equal_the_fold_over_the_events(store):
    session_id = store.create(started())
    fill(store, session_id, 4)
    one = rejecting_round(4, (row(1, 2, 0, 0, 0, 0), row(1, 1, 0, 0, 0, 0)), (row(3, 1, 0, 0, 0, 0),))
    assert (one.n_tested, round_at(0).n_tested, round_at(0).block.k) == (1, 2, 3)
    store.append(session_id, one)
    rounds = [event for _, event in store.events(session_id) if isinstance(event, Round)]
    info = store.session(session_id)
    assert info.rounds == len(rounds) == 5
    assert info.proposed == sum(r.block.k for r in rounds) == 13
    assert info.positions_tested == sum(r.n_tested for r in rounds) == 9
    assert info.accepted == sum(r.verdict.n_accepted for r in rounds) == 4
    assert info.emitted == sum(len(r.emitted) for r in rounds) == 9
    assert info.counters == counters(rounds) and info.counters.rescued and info.counters.sum_min


@pytest.mark.parametrize("ending", [finished(), finished("stopped"), finished("failed")])
def test_nothing_follows_the_end(store, ending):
    session_id = store.create(started())
    store.append(session_id, ending)
    with pytest.raises(StoreError, match=f"has ended \\({ending.status}\\)"):
        store.append(session_id, prompt_read())
    with pytest.raises(StoreError, match="has ended"):
        store.fail(session_id, "late")
    assert store.count(session_id) == 2


def test_a_failure_is_an_event_too(store):
    session_id = store.create(started())
    store.fail(session_id, "the model is missing")
    info, (_, event) = store.session(session_id), store.events(session_id)[-1]
    assert (info.status, info.reason) == ("failed", "the model is missing")
    assert (event.status, event.reason, event.ms) == ("failed", "the model is missing", 0.0)


def test_events_out_of_order_are_refused_and_leave_no_trace(store, path):
    session_id = store.create(started())
    fill(store, session_id, 1)
    before = table(path, "SELECT count(*) FROM rows")
    for event, words in [
        (round_at(2), "has 1 rounds; round 2 cannot follow"),
        (round_at(0), "round 0 cannot follow"),
        (prompt_read(), "cannot be a PromptRead"),
        (started(), "cannot be a SessionStarted"),
        (finished("interrupted"), "ends with status 'interrupted'"),
    ]:
        with pytest.raises(StoreError, match=words):
            store.append(session_id, event)
    assert store.count(session_id) == 3
    assert table(path, "SELECT count(*) FROM rows") == before


def test_an_event_that_cannot_be_stored_leaves_the_session_as_it_was(store):
    session_id = store.create(started())
    with pytest.raises(EngineError, match="ms is nan"):
        store.append(session_id, replace(prompt_read(), ms=float("nan")))
    assert (store.count(session_id), store.session(session_id).status) == (1, "queued")


def test_an_unknown_session_names_the_newest(store):
    with pytest.raises(StoreError, match=r"no session 9 in .* It holds no sessions yet"):
        store.session(9)
    for _ in range(7):
        store.create(started())
    for question in (store.session, store.events, store.count, store.children, store.delete, store.started):
        with pytest.raises(StoreError, match=r"The newest are 7, 6, 5, 4, 3\."):
            question(9)
    for call in (
        lambda: store.append(9, prompt_read()),
        lambda: store.update(9, title="x"),
        lambda: store.rounds(9, 0, 1),
        lambda: store.create(started(), parent_id=9, relation="rerun"),
    ):
        with pytest.raises(StoreError, match="no session 9"):
            call()


def test_the_newest_come_first_and_pages_do_not_overlap(store):
    ids = [store.create(started(prompt=str(i))) for i in range(5)]
    assert [s.id for s in store.sessions()] == ids[::-1]
    assert [s.id for s in store.sessions(limit=2, offset=1)] == ids[::-1][1:3]


def test_search_wants_every_word_in_any_case_and_takes_nothing_as_a_pattern(store):
    sky = store.create(started(prompt="Warum ist der HIMMEL Ähnlich?"))
    percent = store.create(started(prompt="100% of_it", rule="block"))
    store.update(percent, title="Über", tags=["seminar"], note="slide two")

    def found(search):
        return [s.id for s in store.sessions(search)]

    assert found("himmel") == found("ähnlich HIMMEL") == [sky]
    assert (
        found("%") == found("f_i") == found("BLOCK") == found("seminar über") == found("slide") == [percent]
    )
    assert found("o_o") == found("himmel block") == []


def test_a_person_may_change_title_note_tags_and_star(store):
    session_id, other = store.create(started(), title="old"), store.create(started())
    info = store.update(session_id, title="new", note="n", tags=[" a ", "b", "a", ""], starred=True)
    assert info == store.session(session_id)
    assert (info.title, info.note, info.tags, info.starred) == ("new", "n", ("a", "b"), True)
    assert store.update(session_id, note="m").title == "new"
    assert store.update(session_id) == store.session(session_id)
    assert [s.id for s in store.sessions(starred=True)] == [session_id]
    assert [s.id for s in store.sessions(starred=False)] == [other]
    assert store.update(session_id, starred=False, title="", tags=[]).tags == ()


@pytest.mark.parametrize(
    "prompt", ["", "a\0b", "\0", "naïve 日本 🦊 \u202e", "line\n\ttab", "lone \udc80 half"]
)
def test_any_prompt_survives(store, prompt):
    session_id = store.create(started(prompt=prompt), title=prompt)
    assert store.started(session_id).prompt == prompt
    shown = prompt.replace("\udc80", "\\udc80")
    assert (store.session(session_id).prompt, store.session(session_id).title) == (shown, shown)
    assert [s.id for s in store.sessions(prompt)] == [session_id]


def test_the_largest_seed_survives_and_a_larger_one_is_refused(store):
    session_id = store.create(started(seed=2**63 - 1))
    assert store.session(session_id).seed == store.started(session_id).seed == 2**63 - 1
    with pytest.raises(StoreError, match="seed is 9223372036854775808"):
        store.create(started(seed=2**63))


def test_numpy_settings_are_stored_as_numbers(store, path):
    sampling = Sampling(temperature=np.float32(0.5))
    store.create(started(sampling=sampling, k=np.int64(3), seed=np.uint32(5), params={"w": np.float32(0.25)}))
    kinds = "SELECT typeof(temperature), typeof(k), typeof(seed), params FROM sessions"
    assert table(path, kinds) == [("real", "integer", "integer", '{"w": 0.25}')]


def test_children_name_their_parent_and_outlive_it(store):
    parent = store.create(started())
    fill(store, parent, 2)
    store.append(parent, finished())
    first = store.create(started(rule="block"), parent_id=parent, relation="rerun")
    second = store.create(started(), parent_id=parent, relation="branch")
    fill(store, first, 2)
    assert [(s.id, s.relation) for s in store.children(parent)] == [(first, "rerun"), (second, "branch")]
    store.delete(parent)
    info = store.session(first)
    assert (info.parent_id, info.relation) == (None, "rerun")
    assert store.rounds(first, 0, 2) == [round_at(0), round_at(1)]


@pytest.mark.parametrize(("parent", "relation"), [(None, "rerun"), (1, None), (1, "cousin")])
def test_a_relation_needs_a_parent_and_a_known_name(store, parent, relation):
    store.create(started())
    with pytest.raises(StoreError, match="relation is"):
        store.create(started(), parent_id=parent, relation=relation)


def test_equal_rows_are_stored_once(store, path):
    first, second = store.create(started()), store.create(started())
    fill(store, first, 2)
    before = table(path, "SELECT count(*) FROM rows")
    fill(store, second, 2)
    assert table(path, "SELECT count(*) FROM rows") == before
    assert store.rounds(first, 0, 2) == store.rounds(second, 0, 2)


def test_deleting_collects_rows_nobody_uses_and_never_a_shared_one(store, path):
    kept, gone = store.create(started()), store.create(started())
    fill(store, kept, 2)
    rows_of_kept = set(table(path, "SELECT hash FROM rows"))
    fill(store, gone, 3)
    assert len(table(path, "SELECT hash FROM rows")) > len(rows_of_kept)
    store.append(gone, finished())
    store.delete(gone)
    assert set(table(path, "SELECT hash FROM rows")) == rows_of_kept
    assert store.rounds(kept, 0, 2) == [round_at(0), round_at(1)]
    store.append(kept, finished())
    store.delete(kept)
    for name in ("sessions", "events", "rows", "row_uses"):
        assert table(path, f"SELECT * FROM {name}") == []


def test_a_running_session_is_not_deleted_and_an_id_is_never_used_again(store):
    session_id = store.create(started())
    with pytest.raises(StoreError, match="still running"):
        store.delete(session_id)
    store.append(session_id, finished())
    store.delete(session_id)
    assert store.create(started()) == session_id + 1


def test_a_missing_row_is_said_and_not_invented(store, path):
    session_id = store.create(started())
    fill(store, session_id, 1)
    conn = sqlite3.connect(path)
    conn.execute("DELETE FROM rows WHERE rowid = 1")
    conn.commit()
    conn.close()
    with pytest.raises(StoreError, match="1 rows are missing"):
        store.events(session_id)


def test_wide_rows_are_cut_at_the_cap_of_the_store(path):
    rng = np.random.default_rng(1)
    event = rejecting_round(0, (zipf(300, rng), zipf(300, rng)), (zipf(300, rng),))
    with Store.open(path, row_cap=10) as store:
        session_id = store.create(started())
        store.append(session_id, event)
        (back,) = store.rounds(session_id, 0, 1)
    assert 10 <= len(back.block.p[0].ids) <= 14
    assert back.block.p[0].tail > 0
    assert back.block.p[0].prob(event.block.tokens[0]) == event.block.p[0].prob(event.block.tokens[0])
    with pytest.raises(StoreError, match="row_cap is 0"):
        Store.open(path, row_cap=0)


def test_pieces_open_a_session_without_its_model(store):
    store.add_pieces("toy", {0: b"\xf0\x9f", 1: b"", 2: b" sky"})
    store.add_pieces("toy", {2: b" sky", np.int64(3): b"\0"})
    store.add_pieces("other", {2: b"!"})
    assert store.pieces("toy") == {0: b"\xf0\x9f", 1: b"", 2: b" sky", 3: b"\0"}
    assert store.pieces("toy", [3, 0, 99]) == {0: b"\xf0\x9f", 3: b"\0"}
    assert store.pieces("toy", []) == store.pieces("nobody") == {}


def test_a_token_cannot_change_its_bytes(store):
    store.add_pieces("toy", {1: b"a"})
    with pytest.raises(StoreError, match="Token 1 of 'toy' is b'a' in the database and b'b' now"):
        store.add_pieces("toy", {0: b"x", 1: b"b"})
    assert store.pieces("toy") == {1: b"a"}


def test_plain_sqlite_reads_the_file(store, path):
    session_id = store.create(started())
    fill(store, session_id, 2)
    sql = "SELECT json_extract(body, '$.n_accepted') FROM events WHERE type = 'round'"
    assert table(path, sql) == [(1,), (1,)]
    ref = table(path, "SELECT json_extract(body, '$.p[0]') FROM events WHERE type = 'round'")[0][0]
    ((probs, ids),) = table(path, f"SELECT probs, ids FROM rows WHERE hash = '{ref}'")
    assert ids is None
    assert np.frombuffer(probs, "<f8").tolist() == round_at(0).block.p[0].probs.tolist()


def test_the_tables_are_strict_and_the_file_is_in_wal_mode(store, path):
    ours = ("sessions", "events", "rows", "row_uses", "pieces")
    strict = dict(table(path, "SELECT name, strict FROM pragma_table_list"))
    assert all(strict[name] == 1 for name in ours)
    assert table(path, "PRAGMA journal_mode") == [("wal",)]
    assert table(path, "PRAGMA foreign_key_check") == []


def test_the_size_grows_with_the_sessions(store):
    before = store.size_bytes()
    session_id = store.create(started())
    fill(store, session_id, 5)
    assert before < store.size_bytes() < before + 2_000_000


def test_a_closed_store_says_so_in_every_thread(path):
    store = Store.open(path)
    with store as inside:
        assert inside is store
    store.close()
    with pytest.raises(StoreError, match="is closed"):
        store.sessions()
    said = []

    def ask():
        try:
            store.sessions()
        except StoreError as error:
            said.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert "is closed" in str(said[0])


def test_the_default_file_is_in_a_folder_that_is_made(tmp_path, monkeypatch):
    monkeypatch.setattr("platformdirs.user_data_dir", lambda *args, **kw: str(tmp_path / "a" / "b"))
    assert default_path() == tmp_path / "a" / "b" / "sessions.sqlite"
    with Store.open() as store:
        assert store.path == default_path() and store.path.exists()
    (tmp_path / "file").write_text("")
    monkeypatch.setattr("platformdirs.user_data_dir", lambda *args, **kw: str(tmp_path / "file" / "b"))
    with pytest.raises(StoreError, match=r"data folder .* cannot be created"):
        default_path()
