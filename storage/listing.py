"""Which sessions a list shows, and in which order, as SQL over table `sessions`."""

from __future__ import annotations

from dataclasses import dataclass, fields

from sqlite_utils import Database

from storage.errors import StoreError
from storage.session_line import as_text

_SEARCHED = (
    "casefold("
    + " || char(10) || ".join(
        ("title", "note", "tags", "prompt", "rule", "drafter", "target", "status", "fault")
    )
    + ")"
)

#: Orders by name; the id decides between equals, so that pages never overlap.
ORDERS = {
    "newest": "id DESC",
    "oldest": "id",
    "title": "casefold(CASE WHEN title = '' THEN prompt ELSE title END), id DESC",
    "longest": "emitted DESC, id DESC",
    "acceptance": "CAST(accepted AS REAL) / nullif(positions_tested, 0) DESC NULLS LAST, id DESC",
}

#: Columns that a list can be narrowed by, besides tags and stars.
FACETS = ("rule", "drafter", "target", "status")


@dataclass(frozen=True)
class Listing:
    """What a list shows. Each word of `search` must occur, in any letter case, in the title, note, tags,
    prompt, rule, drafter, target, status or fault; the other fields narrow it further, None leaves one
    open."""

    search: str = ""
    rule: str | None = None
    drafter: str | None = None
    target: str | None = None
    status: str | None = None
    tag: str | None = None
    starred: bool | None = None
    order: str = "newest"
    without: tuple[int, ...] = ()  # ids to leave out

    def __post_init__(self) -> None:
        if self.order not in ORDERS:
            raise StoreError(f"order is {self.order!r}.", f"Choose one of {', '.join(ORDERS)}.")

    @property
    def narrow(self) -> bool:
        """True when it may leave something out on purpose."""
        names = {field.name for field in fields(self)} - {"order", "without"}
        return any(getattr(self, name) not in (None, "") for name in names)

    def where(self) -> tuple[str, list[object]]:
        """The WHERE clause ("" where nothing is left out), and its parameters."""
        terms: list[tuple[str, object]] = [
            (f"instr({_SEARCHED}, ?)", as_text(word)) for word in self.search.casefold().split()
        ]
        terms += [
            (f"{name} = ?", as_text(value)) for name in FACETS if (value := getattr(self, name)) is not None
        ]
        if self.tag is not None:
            terms.append(("EXISTS (SELECT 1 FROM json_each(tags) WHERE value = ?)", as_text(self.tag)))
        if self.starred is not None:
            terms.append(("starred = ?", int(self.starred)))
        terms += [("id <> ?", session_id) for session_id in self.without]
        clause = " AND ".join(term for term, _ in terms)
        return (f"WHERE {clause}" if clause else ""), [value for _, value in terms]

    def order_by(self) -> str:
        return f"ORDER BY {ORDERS[self.order]}"


def facets(db: Database) -> dict[str, dict[str, int]]:
    """For each facet and for tags: the values there are, and how many sessions have each; most first."""
    found = {name: f"SELECT {name}, count(*) FROM sessions GROUP BY {name}" for name in FACETS} | {
        "tag": "SELECT value, count(*) FROM sessions, json_each(tags) GROUP BY value"
    }
    return {name: dict(db.execute(f"{sql} ORDER BY 2 DESC, 1").fetchall()) for name, sql in found.items()}
