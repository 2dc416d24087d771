"""The screen's modules as one script: a classic one for a page opened from disk, which may not import other
files, and a module for the app, because a hundred small requests cost more than a large one.

Each module becomes a function that returns what it exports, in the order of their imports; nothing is
minified or renamed, and lines stay lines, so that a source map can lead back to them. Only the forms of
import and export that assets/ uses are understood, and anything else is refused, so that nothing is dropped
in silence.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

_IMPORT = re.compile(r"^import\s*\{([^}]*)\}\s*from\s*[\"']((?:\.{1,2}/)+[\w/-]+\.js)[\"'];?[ \t]*$", re.M)
_EXPORT = re.compile(r"^export ((?:async )?function\*?|const|class) ([A-Za-z_$][\w$]*)", re.M)
_UNKNOWN = re.compile(r"^\s*(?:import\b(?!\.)|export\b)[^\n]*|\bimport\s*\(|\bimport\.meta\b", re.M)


class BundleError(ValueError):
    """A module that this bundler does not understand."""


def bundle(folder: Path, entry: str) -> str:
    """The source of `entry` and of all it imports from `folder`, as one expression: the entry's exports.

    Raises BundleError for a circular import and for a form of import or export it does not know.
    """
    order: list[str] = []
    sources: dict[str, str] = {}
    _visit(folder, entry, (), order, sources)
    modules = "".join(f"modules[{name!r}] = (() => {{\n{sources[name]}\n}})();\n" for name in order)
    return f'(() => {{\n"use strict";\nconst modules = {{}};\n{modules}return modules[{entry!r}];\n}})()'


def module(folder: Path, exports: Mapping[str, Sequence[str]], map_name: str) -> tuple[str, str]:
    """One ES module with everything that the keys of `exports` import, exporting the names given for each;
    and its source map, version 3, whose sources are the module's names. Raises BundleError as `bundle` does.
    """
    order: list[str] = []
    sources: dict[str, str] = {}
    for name in exports:
        _visit(folder, name, (), order, sources)
    lines, origins = ["const modules = {};"], [None]
    for i, name in enumerate(order):
        body = sources[name].split("\n")
        lines += [f"modules[{name!r}] = (() => {{", *body, "})();"]
        origins += [None, *((i, line) for line in range(len(body))), None]
    for name, names in exports.items():
        lines.append(f"export const {{ {', '.join(names)} }} = modules[{name!r}];")
    lines.append(f"//# sourceMappingURL={map_name}")
    mapping = {"version": 3, "sources": order, "names": [], "mappings": _mappings(origins)}
    return "\n".join(lines) + "\n", json.dumps(mapping)


def _mappings(origins: Iterable[tuple[int, int] | None]) -> str:
    """For each line of a script, the file and line it is from: differences in base 64, as source maps want
    them (https://tc39.es/ecma426/)."""
    groups, before = [], (0, 0)
    for origin in origins:
        if origin is None:
            groups.append("")
            continue
        groups.append("".join(map(_vlq, (0, origin[0] - before[0], origin[1] - before[1], 0))))
        before = origin
    return ";".join(groups)


_BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def _vlq(value: int) -> str:
    """Sign in the lowest bit, then five bits a digit, the lowest first."""
    rest, text = (-value << 1) | 1 if value < 0 else value << 1, ""
    while True:
        digit, rest = rest & 31, rest >> 5
        text += _BASE64[digit | 32 if rest else digit]
        if not rest:
            return text


def _visit(
    folder: Path, name: str, above: tuple[str, ...], order: list[str], sources: dict[str, str]
) -> None:
    if name in above:
        raise BundleError(f"{' imports '.join((*above, name))}: a circle")
    if name in sources:
        return
    text = (folder / name).read_text("utf-8")
    for _, imported in _IMPORT.findall(text):
        _visit(folder, _beside(name, imported), (*above, name), order, sources)
    sources[name] = _as_function(name, text)
    order.append(name)


def _as_function(name: str, text: str) -> str:
    exported = [match[1] for match in _EXPORT.findall(text)]
    body = _IMPORT.sub(lambda m: f"const {{{_renamed(m[1])}}} = modules[{_beside(name, m[2])!r}];", text)
    body = _EXPORT.sub(lambda m: f"{m[1]} {m[2]}", body)
    unknown = _UNKNOWN.search(_without_comments(body))
    if unknown:
        raise BundleError(f"{name}: {unknown[0].strip()!r} is no import or export that is understood here")
    return f"{body}\nreturn {{ {', '.join(exported)} }};"


def _beside(name: str, path: str) -> str:
    """The module that `path` means in the module `name`: in "lab/a.js", "../b.js" is "b.js"."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(name), path))


def _renamed(names: str) -> str:
    """The names of an import as those of a destructuring: `a as b` becomes `a: b`."""
    return re.sub(r"\s+as\s+", ": ", names)


def _without_comments(text: str) -> str:
    return re.sub(r"^\s*//[^\n]*", "", text, flags=re.M)
