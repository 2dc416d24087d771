import pytest

from engine.core import rows
from engine.core.coins import RecordingCoins
from engine.core.types import Address, Draft, Sampling
from engine.drafters.lookup import LookupDrafter, continuation
from engine.drafters.none import NoDrafter


class SeenCoins(RecordingCoins):
    """Coins that keep every draw asked of them, forced ones included."""

    def __init__(self) -> None:
        super().__init__(0)
        self.asked = []

    def choose(self, row, at):
        self.asked.append((row, at))
        return super().choose(row, at)


@pytest.mark.parametrize(
    ("tokens", "k", "found"),
    [
        ([1, 2, 3, 9, 8, 7, 1, 2, 3], 3, (9, 8, 7)),
        ([1, 2, 3, 9, 8, 7, 1, 2, 3], 2, (9, 8)),
        ([1, 2, 3, 9, 8, 7, 1, 2, 3], 0, ()),
        ([1, 2, 3, 9, 8, 7, 1, 2, 3], 99, (9, 8, 7, 1, 2, 3)),
        ([5, 1, 4, 5, 2, 6, 5], 1, (2,)),  # the most recent of two
        ([7, 1, 2, 9, 4, 2, 8, 1, 2], 1, (9,)),  # a suffix of two beats a nearer one of one
        ([3, 3, 3], 4, (3,)),  # a match may overlap the suffix, and ends where the text ends
        ([1, 2, 3], 4, ()),
        ([1], 4, ()),
        ([], 4, ()),
    ],
)
def test_what_followed_the_latest_longest_match(tokens, k, found):
    assert continuation(tokens, k) == found


def test_a_longer_suffix_than_allowed_is_not_looked_for():
    tokens = [1, 2, 3, 9, 2, 3, 8, 1, 2, 3]
    assert continuation(tokens, 1, max_ngram=3) == (9,)
    assert continuation(tokens, 1, max_ngram=2) == (8,)


def test_rows_are_one_hot_and_every_draft_passes_the_coins():
    coins = SeenCoins()
    drafter = LookupDrafter(vocab=10)
    drafter.start((1, 2, 3, 9))
    draft = drafter.propose((8, 1, 2, 3), 2, Sampling(), coins)
    assert draft == Draft((9, 8), (rows.one_hot(9, 10), rows.one_hot(8, 10)))
    assert [at for _, at in coins.asked] == [Address("draft", 4), Address("draft", 5)]
    assert [row for row, _ in coins.asked] == list(draft.rows)
    assert coins.take() == ()  # a forced token is no coin


def test_it_reads_what_was_emitted_and_forgets_the_session_before():
    drafter = LookupDrafter(vocab=10)
    drafter.start((1, 2, 3))
    drafter.commit((1,))
    assert drafter.propose((1,), 1, Sampling(), SeenCoins()).tokens == (2,)
    drafter.start((4, 5))
    assert drafter.propose((1,), 1, Sampling(), SeenCoins()).tokens == ()


def test_no_drafter_never_drafts():
    drafter = NoDrafter()
    drafter.start((1, 1, 1))
    assert drafter.propose((1,), 4, Sampling(), SeenCoins()) == Draft((), ())
    drafter.commit((1,))
