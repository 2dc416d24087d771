"""The session list behind the screen: what it shows, what it may change, and deletions that wait."""

from __future__ import annotations

import threading
import time

import pytest

from engine.errors import BadSetting, EngineError
from inspector.library import LONGEST, Library, tags
from storage import Store, StoreError
from tests.storage.factories import fill, finished, started


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "sessions.sqlite") as store:
        yield store


def add(store: Store, rounds: int = 2, ended: bool = True, parent: int | None = None, **changes) -> int:
    session_id = store.create(started(**changes), parent, None if parent is None else "rerun")
    fill(store, session_id, rounds)
    if ended:
        store.append(session_id, finished())
    return session_id


def shown(library: Library, **filters) -> list[int]:
    return [row["id"] for row in library.page(filters)["sessions"]]


def test_a_page_counts_what_it_shows_and_what_there_is(store):
    library = Library(store)
    ids = [add(store, prompt=f"prompt {i}") for i in range(3)]
    page = library.page({"search": "prompt"}, limit=2)
    assert [row["id"] for row in page["sessions"]] == [ids[2], ids[1]]
    assert (page["total"], page["all"]) == (3, 3)
    assert page["bytes"] == store.size_bytes() > 0
    assert page["facets"]["rule"] == {"stochastic": 3}


def test_an_empty_filter_leaves_its_field_open(store):
    library = Library(store)
    one = add(store, rule="block", asked="block")
    assert shown(library, search="", rule="", tag="", status="", starred=False, order="") == [one]
    assert shown(library, rule="block") == [one]
    assert shown(library, rule="stochastic") == []
    assert shown(library, starred=True) == []
    with pytest.raises(BadSetting, match="no filter 'colour'"):
        library.page({"colour": "red"})
    with pytest.raises(StoreError, match="order is 'sideways'"):
        library.page({"order": "sideways"})


def test_a_row_has_its_denominators(store):
    library = Library(store)
    session_id = add(store)
    (row,) = library.page({})["sessions"]
    info = store.session(session_id)
    assert (row["accepted"], row["positions_tested"]) == (info.accepted, info.positions_tested)
    assert row["per_position_acceptance"] == info.accepted / info.positions_tested


def test_people_change_title_note_tags_and_star_and_nothing_else(store):
    library = Library(store)
    session_id = add(store)
    row = library.change(session_id, {"title": " Sky ", "note": "a\nb", "tags": "x, y ,,x", "starred": True})
    assert (row["title"], row["note"], row["tags"], row["starred"]) == ("Sky", "a\nb", ["x", "y"], True)
    row = library.change(session_id, {"title": ""})
    assert (row["title"], row["tags"]) == ("", ["x", "y"])
    with pytest.raises(BadSetting, match="rule cannot be changed"):
        library.change(session_id, {"rule": "block"})
    with pytest.raises(StoreError, match="no session 99"):
        library.change(99, {"title": "x"})


@pytest.mark.parametrize(
    "changes",
    [
        {"title": "x" * (LONGEST["title"] + 1)},
        {"note": "x" * (LONGEST["note"] + 1)},
        {"tags": ["x" * (LONGEST["tag"] + 1)]},
        {"tags": [str(i) for i in range(21)]},
        {"tags": 3},
        {"tags": [3]},
        {"title": None},
    ],
)
def test_what_is_too_long_or_no_text_is_refused_and_changes_nothing(store, changes):
    library = Library(store)
    session_id = add(store)
    before = store.session(session_id)
    with pytest.raises(BadSetting):
        library.change(session_id, changes)
    assert store.session(session_id) == before


def test_tags_are_a_list_or_a_text_with_commas():
    assert tags("a, b,, c ") == tags(["a", "b ", "", "c"]) == ["a", "b", "c"]
    assert tags("") == []


def test_a_deleted_session_is_out_of_the_list_at_once_and_comes_back(store):
    library = Library(store, undo_s=60)
    keep, gone = add(store), add(store)
    assert library.delete(gone) == {"session": gone, "undo_s": 60}
    page = library.page({})
    assert [row["id"] for row in page["sessions"]] == [keep]
    assert (page["total"], page["all"]) == (1, 1)
    assert store.session(gone).status == "finished"
    assert library.undo(gone)["id"] == gone
    assert shown(library) == [gone, keep]
    library.close()


def test_a_deletion_is_carried_out_in_the_end(store):
    library = Library(store, undo_s=0.05)
    gone = add(store)
    library.delete(gone)
    deadline = time.monotonic() + 10
    while gone in [info.id for info in store.sessions()] and time.monotonic() < deadline:
        time.sleep(0.01)
    with pytest.raises(StoreError, match="no session"):
        store.session(gone)
    with pytest.raises(BadSetting, match="no longer be taken back"):
        library.undo(gone)
    assert library.page({})["all"] == 0


def test_a_program_that_ends_keeps_what_waits(store):
    library = Library(store, undo_s=0.2)
    session_id = add(store)
    library.delete(session_id)
    library.close()
    time.sleep(0.4)
    assert store.session(session_id).status == "finished"


def test_deleting_twice_waits_once(store):
    library = Library(store, undo_s=60)
    session_id = add(store)
    library.delete(session_id)
    library.delete(session_id)
    library.undo(session_id)
    with pytest.raises(BadSetting):
        library.undo(session_id)
    assert threading.active_count() < 50


def test_a_running_session_cannot_be_deleted(store):
    library = Library(store)
    session_id = add(store, ended=False)
    with pytest.raises(EngineError, match="still running"):
        library.delete(session_id)
    assert shown(library) == [session_id]


def test_children_outlive_their_parent(store):
    library = Library(store, undo_s=0.01)
    parent = add(store)
    child = add(store, parent=parent)
    library.delete(parent)
    deadline = time.monotonic() + 10
    while store.session(child).parent_id is not None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert store.session(child).parent_id is None
