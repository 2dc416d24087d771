"""Lists of like objects as columns, and back: the same values in an order that compresses twice as well.

A packed list is one of
    ["v", values]                       as they are
    ["n", [0 or 1, ...], packed]        some are null: where one is not, and those
    ["o", n, {key: [where, packed]}]    n objects: for each key, where it is there (0: all), and its values
    ["t", n, packed, ...]               lists that are all equally long: a column an item
    ["l", lengths, packed]              lists of any length, one behind the other
    ["d", exponents, digits]            numbers of at most four digits: digits times 10 to the minus exponent
assets/source/columns.js is the way back; nothing is rounded.
"""

from __future__ import annotations

import base64
import gzip
from itertools import chain

#: Lists up to this long are taken apart into a column an item.
TUPLE = 8


def packed(values: list) -> list:
    """The columns of a list of plain JSON values."""
    if any(value is None for value in values):
        there = [int(value is not None) for value in values]
        return ["n", there, packed([value for value in values if value is not None])]
    if values and all(isinstance(value, dict) for value in values):
        return ["o", len(values), {key: column(values, key) for key in dict.fromkeys(chain(*values))}]
    if values and all(isinstance(value, list) for value in values):
        return lists(values)
    return short(values) or ["v", values]


def column(objects: list[dict], key: str) -> list:
    there = [int(key in one) for one in objects]
    return [0 if all(there) else there, packed([one[key] for one in objects if key in one])]


def lists(values: list[list]) -> list:
    lengths = [len(value) for value in values]
    if len(set(lengths)) == 1 and 0 < lengths[0] <= TUPLE:
        return ["t", len(values), *(packed([value[i] for value in values]) for i in range(lengths[0]))]
    return ["l", lengths, packed(list(chain(*values)))]


def short(values: list) -> list | None:
    """Floats of at most four digits as two columns of whole numbers; None where one has more."""
    if not values or not all(isinstance(value, float) for value in values):
        return None
    parts = [parted(value) for value in values]
    return (
        None if None in parts else ["d", [exponent for _, exponent in parts], [digits for digits, _ in parts]]
    )


def parted(value: float) -> tuple[int, int] | None:
    """Four digits and what they are to be shifted by: value == float(f"{digits}e-{shift}")."""
    digits, exponent = f"{value:.3e}".split("e")
    found = int(digits.replace(".", "")), 3 - int(exponent)
    return found if float(f"{found[0]}e{-found[1]}") == value and str(value) != "-0.0" else None


def unpacked(columns: list) -> list:
    """The list again."""
    kind, first, *rest = columns
    if kind == "v":
        return first
    if kind == "d":
        return [float(f"{digits}e{-exponent}") for exponent, digits in zip(first, rest[0], strict=True)]
    if kind == "n":
        values = iter(unpacked(rest[0]))
        return [next(values) if there else None for there in first]
    if kind == "t":
        return [list(line) for line in zip(*map(unpacked, rest), strict=True)]
    if kind == "l":
        values = iter(unpacked(rest[0]))
        return [[next(values) for _ in range(length)] for length in first]
    objects: list[dict] = [{} for _ in range(first)]
    for key, (where, values) in rest[0].items():
        holders = objects if where == 0 else [one for one, there in zip(objects, where, strict=True) if there]
        for one, value in zip(holders, unpacked(values), strict=True):
            one[key] = value
    return objects


def deflated(text: str) -> str:
    """The text under gzip, written in base 85: five characters for four bytes, with "," for "<", which a
    script in a page must not hold."""
    return base64.b85encode(gzip.compress(text.encode(), 9, mtime=0)).decode("ascii").replace("<", ",")


def inflated(text: str) -> str:
    """The text that was deflated."""
    return gzip.decompress(base64.b85decode(text.replace(",", "<"))).decode()
