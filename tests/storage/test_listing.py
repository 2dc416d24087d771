"""What a session list shows: each filter alone and together, each order, and pages that never overlap."""

import pytest

from storage import Listing, Store, StoreError
from storage.listing import ORDERS
from tests.storage.factories import fill, finished, started


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "sessions.sqlite") as store:
        yield store


def session(store, rounds: int = 0, **changes) -> int:
    session_id = store.create(started(**changes))
    if rounds:
        fill(store, session_id, rounds)
        store.append(session_id, finished())
    return session_id


@pytest.fixture
def four(store):
    """Ids by name: two rules, two drafters, one without rounds, one starred, two with a tag."""
    ids = {
        "sky": session(store, 3, prompt="Why is the sky blue?"),
        "sea": session(store, 1, prompt="Why is the SEA blue?", rule="block", asked="block"),
        "cat": session(store, prompt="cat", drafter="lookup"),
        "dog": session(store, 2, prompt="dog", target="other"),
    }
    store.update(ids["sky"], tags=["colour", "Straße"], starred=True)
    store.update(ids["sea"], tags=["colour"], title="about water")
    return ids


def names(store, four, wanted: Listing, **page) -> list[str]:
    by_id = {session_id: name for name, session_id in four.items()}
    return [by_id[info.id] for info in store.listed(wanted, **page)]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (Listing(), ["dog", "cat", "sea", "sky"]),
        (Listing("blue sea"), ["sea"]),
        (Listing("STRASSE"), ["sky"]),
        (Listing(rule="block"), ["sea"]),
        (Listing(drafter="lookup"), ["cat"]),
        (Listing(target="other"), ["dog"]),
        (Listing(status="queued"), ["cat"]),
        (Listing(status="finished", tag="colour"), ["sea", "sky"]),
        (Listing(tag="colo"), []),
        (Listing(starred=True), ["sky"]),
        (Listing(starred=False), ["dog", "cat", "sea"]),
        (Listing("blue", starred=True, rule="stochastic"), ["sky"]),
        (Listing(rule="' OR 1=1 --"), []),
        (Listing(order="oldest"), ["sky", "sea", "cat", "dog"]),
        (Listing(order="title"), ["sea", "cat", "dog", "sky"]),
        (Listing(order="longest"), ["sky", "dog", "sea", "cat"]),
    ],
)
def test_a_listing_shows_what_it_asks_for(store, four, wanted, found):
    assert names(store, four, wanted) == found
    assert store.number_listed(wanted) == len(found)


def test_some_can_be_left_out(store, four):
    wanted = Listing(without=(four["sea"], four["cat"]))
    assert names(store, four, wanted) == ["dog", "sky"]
    assert store.number_listed(wanted) == 2
    assert not wanted.narrow


def test_only_what_a_person_chose_makes_a_listing_narrow():
    assert not Listing(order="title").narrow
    assert Listing(starred=False).narrow and Listing("x").narrow and Listing(tag="t").narrow


def test_sessions_without_a_tested_draft_come_last_by_acceptance(store, four):
    rates = [info.counters.per_position_acceptance for info in store.listed(Listing(order="acceptance"))]
    assert rates[-1] is None
    assert rates[:-1] == sorted(rates[:-1], reverse=True)


@pytest.mark.parametrize("order", ORDERS)
def test_pages_add_up_to_the_list(store, four, order):
    whole = names(store, four, Listing(order=order))
    pages = [names(store, four, Listing(order=order), limit=1, offset=at) for at in range(5)]
    assert [name for page in pages for name in page] == whole
    assert sorted(whole) == sorted(four)


def test_an_unknown_order_is_refused():
    with pytest.raises(StoreError, match="order is 'id; DROP TABLE sessions'"):
        Listing(order="id; DROP TABLE sessions")


def test_facets_count_each_value(store, four):
    assert store.facets() == {
        "rule": {"stochastic": 3, "block": 1},
        "drafter": {"self:3bit": 3, "lookup": 1},
        "target": {"bundled": 3, "other": 1},
        "status": {"finished": 3, "queued": 1},
        "tag": {"colour": 2, "Straße": 1},
    }


def test_an_empty_database_has_empty_facets(store):
    assert store.facets() == {name: {} for name in ("rule", "drafter", "target", "status", "tag")}
    assert store.listed(Listing()) == []
