"""What values of an exported file may be: small checks that say what they want, in code and in the docs.

A shape is called with a value and its place (`event.tokens[3]`) and raises Misshapen when the value is
another. Its `words` are what docs/export.md says of it. Nothing is converted: a value that passes is used
as it stands.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from dataclasses import dataclass, field

from storage.errors import StoreError


class Misshapen(StoreError):
    """A value of a file that is not what its place wants."""

    def __init__(self, where: str, wanted: str, value: object) -> None:
        shown = repr(value)
        shown = shown if len(shown) <= 60 else shown[:57] + "..."
        super().__init__(f"{where} is {shown}, not {wanted}.", "Export the session again.")


@dataclass(frozen=True)
class Shape:
    """A check and its words."""

    words: str
    check: Callable[[object, str], None]

    def __call__(self, value: object, where: str) -> None:
        self.check(value, where)


def _shape(words: str, holds: Callable[[object], bool]) -> Shape:
    def check(value: object, where: str) -> None:
        if not holds(value):
            raise Misshapen(where, words, value)

    return Shape(words, check)


def whole(low: int, high: int) -> Shape:
    """An integer; true and false are none."""
    return _shape(
        f"a whole number from {low} to {high}",
        lambda value: type(value) is int and low <= value <= high,
    )


#: Beyond every number that is written, and within what a float holds.
HUGE = 1e300


def number(low: float = -HUGE, high: float = HUGE) -> Shape:
    """A finite number."""
    limits = f" from {low:g} to {high:g}" if high < HUGE else f" from {low:g} up" if low > -HUGE else ""
    return _shape(
        f"a finite number{limits}",
        lambda value: type(value) in (int, float) and low <= value <= high,
    )


def text(most: int) -> Shape:
    """A text of at most so many characters, without half characters (lone surrogates)."""
    return _shape(
        f"a text of at most {most} characters",
        lambda value: type(value) is str and len(value) <= most and _whole_characters(value),
    )


def loose_text(most: int) -> Shape:
    """A text that may hold half characters, as a prompt may."""
    return _shape(
        f"a text of at most {most} characters, half characters among them",
        lambda value: type(value) is str and len(value) <= most,
    )


sha256 = _shape(
    "a SHA-256 in 64 hexadecimal digits",
    lambda value: type(value) is str and len(value) == 64 and set(value) <= set("0123456789abcdef"),
)


def _whole_characters(value: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in value)


flag = _shape("true or false", lambda value: type(value) is bool)


def one_of(*values: object) -> Shape:
    """One of a few given values."""
    words = " or ".join("null" if value is None else f"`{value}`" for value in values)
    return _shape(words, lambda v: any(type(v) is type(value) and v == value for value in values))


def maybe(shape: Shape) -> Shape:
    """The shape, or null."""

    def check(value: object, where: str) -> None:
        if value is not None:
            shape(value, where)

    return Shape(f"{shape.words}, or null", check)


def listing(shape: Shape, most: int, words: str = "") -> Shape:
    """A list of at most so many values of one shape."""
    words = words or f"a list of at most {most}: each {shape.words}"

    def check(value: object, where: str) -> None:
        if type(value) is not list or len(value) > most:
            raise Misshapen(where, words, value)
        for i, item in enumerate(value):
            shape(item, f"{where}[{i}]")

    return Shape(words, check)


def tuple_of(*shapes: Shape, words: str, older: int = 0) -> Shape:
    """A list of exactly these; `older`, where given, is the length that older events have."""

    def check(value: object, where: str) -> None:
        if type(value) is not list or len(value) not in (len(shapes), older or len(shapes)):
            raise Misshapen(where, words, value)
        for i, (shape, item) in enumerate(zip(shapes, value, strict=False)):
            shape(item, f"{where}[{i}]")

    return Shape(words, check)


def mapping(key: Shape, value: Shape, most: int) -> Shape:
    """An object with any keys of one shape and values of another."""
    words = f"an object of at most {most} entries: {key.words} to {value.words}"

    def check(found: object, where: str) -> None:
        if type(found) is not dict or len(found) > most:
            raise Misshapen(where, words, found)
        for name, item in found.items():
            key(name, f"a key of {where}")
            value(item, f"{where}[{name!r}]")

    return Shape(words, check)


@dataclass(frozen=True)
class Record:
    """An object with exactly these fields; those in `optional` may be missing."""

    fields: dict[str, Shape | Record]
    optional: frozenset[str] = field(default_factory=frozenset)

    @property
    def words(self) -> str:
        return "an object with " + ", ".join(f"`{name}`" for name in self.fields)

    def __call__(self, value: object, where: str) -> None:
        if type(value) is not dict:
            raise Misshapen(where, self.words, value)
        missing = self.fields.keys() - self.optional - value.keys()
        if missing:
            raise StoreError(f"{where} lacks {min(missing)!r}.", "Export the session again.")
        unknown = value.keys() - self.fields.keys()
        if unknown:
            raise StoreError(
                f"{where} has {min(unknown)[:60]!r}, which this program does not know.",
                "Open the file with the Draftscope that wrote it, or a newer one.",
            )
        for name, item in value.items():
            self.fields[name](item, f"{where}.{name}")


def bytes_of(most: int) -> Shape:
    """Bytes in base64."""
    return _shape(
        f"base64 of at most {most} bytes",
        lambda value: type(value) is str and len(value) <= 4 * (most // 3 + 1) and _decodes(value),
    )


def _decodes(value: str) -> bool:
    try:
        base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True
