"""What leaves a database and what comes in: branches, files, the static page, a person's own queries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from engine import rules
from engine.core.branch import branched
from engine.errors import BadSetting
from inspector.lanes import Judged
from inspector.transfers import MOST
from storage import Store
from storage.queries import QUERIES
from storage.sql import MAX_ROWS, MAX_SECONDS

if TYPE_CHECKING:
    from inspector.controller import Controller


#: Tokens of a typed text that are shown.
MOST_SHOWN = 8
#: Characters of a text that is looked up as a token: no token is near that long, and the search is quadratic.
LONGEST_TYPED = 400


class Sharing:
    """The controller's methods for going on from a session and for taking it elsewhere."""

    store: Store

    def branch(
        self: Controller, session_id: int, position: int, token: str, max_tokens: int | None = None
    ) -> int:
        """Go on from a session with another token at a position; the new session's id.

        `token` is a text that is exactly one token, or #ID. `max_tokens` is the whole budget, by default the
        session's own. Raises BadSetting for a position or a token that is not there.
        """
        started, prompt = self.beginning(session_id)
        token_id = one_token(token, self.store.pieces(prompt.tokenizer), prompt.vocab)
        rule = rules.get(started.rule, **started.params)
        begun = branched(started, rule, self.all_rounds(session_id), position, token_id, max_tokens)
        return self._submit(begun, session_id, prompt, "branch")

    def export_jsonl(self, session_id: int, children: bool = False) -> bytes:
        """A session as a file for `import_jsonl`, with all that came of it if asked."""
        return self.store.export(self.family(session_id) if children else [session_id])

    def export_sessions(self, session_ids: Sequence[int]) -> bytes:
        """Several sessions as one file for `import_jsonl`; a parent among them stays the parent."""
        return self.store.export(sorted(set(session_ids)))  # a child is younger than its parent

    def import_jsonl(self, data: bytes) -> list[int]:
        """Take in the sessions of an exported file; their new ids. Raises StoreError, and stores nothing, for
        a file that is not sound."""
        return self.store.import_sessions(data)

    def export_html(self: Controller, session_id: int, lanes: Sequence[int | Judged] = ()) -> str:
        """The screen over a session, and over lanes beside it, as one page that opens from disk."""
        from inspector.standalone import static_page

        return static_page.page(self, [session_id, *lanes])

    def family(self, session_id: int) -> list[int]:
        """A session and all that was made from it, parents before children."""
        found = [session_id]
        for member in found:
            found.extend(child.id for child in self.store.children(member))
        return found

    def tokens(self: Controller, session_id: int, text: str) -> dict:
        """What a typed text is in a session's own tokens: the single tokens it may mean (`choices`, itself
        first, then with a space more or less in front), or the tokens it takes (`made_of`) and why that will
        not do (`message` and `hint`); with the `pieces` of both.
        """
        if len(text) > LONGEST_TYPED:
            raise BadSetting(f"The text has {len(text)} characters.", "Type one token.")
        _, prompt = self.beginning(session_id)
        pieces = self.store.pieces(prompt.tokenizer)
        choices = choices_for(text, pieces, prompt.vocab)
        made, problem = [], {"message": "", "hint": ""}
        if not choices:
            made = fewest(text.encode("utf-8", "surrogatepass"), pieces) or []
            try:
                one_token(text, pieces, prompt.vocab)
            except BadSetting as error:
                problem = {"message": error.message, "hint": error.hint}
        named = self._pieces(prompt, {*choices, *made[:MOST_SHOWN]})
        return {"choices": choices, "made_of": made[:MOST_SHOWN], "n": len(made), "pieces": named} | problem

    def storage(self: Controller) -> dict:
        """The database: `path` (None where the screen is served to other machines), `bytes`, how many
        `sessions`, the `queries` to start from, and the limits of a question."""
        return {
            "path": str(self.store.path) if self.own_rules else None,
            "bytes": self.store.size_bytes(),
            "sessions": self.store.number_of_sessions(),
            "queries": self.queries(),
            "limits": {"rows": MAX_ROWS, "seconds": MAX_SECONDS, "file": MOST},
        }

    def queries(self) -> list[dict]:
        """Questions worth asking, each with its title and its SQL."""
        return [{"title": title, "sql": sql} for title, sql in QUERIES.items()]

    def sql(self, query: str) -> dict:
        """Answer one SQL question about the database, which cannot change it: columns, rows, truncated."""
        return self.store.query(query)


def one_token(asked: str, pieces: dict[int, bytes], vocab: int) -> int:
    """The id that a text or #ID names. Raises BadSetting for no single token, saying what it takes."""
    named = numbered(asked)
    if named is not None:
        return _by_id(named, pieces, vocab)
    wanted = asked.encode("utf-8", "surrogatepass")
    found = spelled(wanted, pieces, vocab)
    if not wanted or len(found) > 1:
        raise BadSetting(
            f"{asked!r} is {len(found)} tokens: {', '.join(f'#{token}' for token in found[:8])}."
            if wanted
            else "The token is empty.",
            "Name one by its id, such as #42.",
        )
    if not found:
        raise BadSetting(
            f"{asked!r} is no single token: {_made_of(wanted, pieces)}.", "Give one of its tokens."
        )
    return found[0]


def _by_id(token: int, pieces: dict[int, bytes], vocab: int) -> int:
    if token >= vocab or not pieces.get(token):
        raise BadSetting(
            f"There is no token #{token} here.",
            f"Give an id from 0 to {vocab - 1} that stands for some text.",
        )
    return token


def choices_for(text: str, pieces: dict[int, bytes], vocab: int) -> list[int]:
    """The single tokens a typed text may mean: exactly it, then with a space put in front or taken away; or
    the one that #ID names. Empty where there is none."""
    named = numbered(text)
    if named is not None:
        return [named] if named < vocab and pieces.get(named) else []
    other = text[1:] if text.startswith(" ") else f" {text}"
    wanted = [one.encode("utf-8", "surrogatepass") for one in (text, other) if one.strip() or one == text]
    return [token for data in wanted if data for token in spelled(data, pieces, vocab)][:MOST_SHOWN]


def numbered(text: str) -> int | None:
    """The number in #ID; None for any other text."""
    return int(text[1:]) if text.startswith("#") and text[1:].isdecimal() else None


def spelled(data: bytes, pieces: dict[int, bytes], vocab: int) -> list[int]:
    """The tokens of just these bytes."""
    return [token for token, piece in pieces.items() if piece == data and token < vocab]


def fewest(text: bytes, pieces: dict[int, bytes]) -> list[int] | None:
    """The fewest tokens whose bytes add up to a text; None where none do."""
    ids = {data: token for token, data in sorted(pieces.items(), reverse=True) if data}
    longest = max(map(len, ids), default=0)
    best: list[list[int] | None] = [[]]
    for end in range(1, len(text) + 1):
        ways = [
            [*best[start], ids[text[start:end]]]
            for start in range(max(0, end - longest), end)
            if best[start] is not None and text[start:end] in ids
        ]
        best.append(min(ways, key=len, default=None))
    return best[-1]


def _made_of(wanted: bytes, pieces: dict[int, bytes]) -> str:
    """The fewest tokens whose bytes add up to the text, in words."""
    found = fewest(wanted, pieces)
    if found is None:
        return "no tokens of this tokenizer add up to it"
    shown = [f"{pieces[token].decode('utf-8', 'backslashreplace')!r} (#{token})" for token in found[:8]]
    return f"it takes {len(found)}, such as {' and '.join(shown)}" + (" …" if len(found) > 8 else "")
