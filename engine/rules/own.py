"""A rule of one's own: a Python file that the person who runs the program names.

Such a file is code. It is run only when a person names it, never because a session names it: a session
keeps the rule's id with the first digits of the file's sha256, `my-rule@0123456789ab`, and no code. What
was loaded stands beside the built-in table, never in it.
"""

from __future__ import annotations

import hashlib
import re
import sys
from dataclasses import dataclass, fields
from pathlib import Path
from types import ModuleType

from engine.core import rule_check
from engine.core.rule_check import Report
from engine.core.types import Rule
from engine.errors import BadSetting

#: Digits of the file's sha256 in a rule's id.
DIGITS = 12

WORDS = ("id", "title", "meaning", "formula", "source", "closed_form")

GUIDE = "docs/your-own-rule.md leads from nothing to a rule."


@dataclass(frozen=True)
class Own:
    """A rule that was loaded from a file, and what its law turned out to be."""

    rule: Rule
    path: Path
    sha256: str
    report: Report


_loaded: dict[str, Own] = {}


def is_file(name: str) -> bool:
    """Whether a rule's name is that of a file."""
    return name.strip().endswith(".py")


def find(rule_id: str) -> Own | None:
    """The loaded rule of that id."""
    return _loaded.get(rule_id)


def load(name: str, built_in: dict[str, Rule]) -> Own:
    """Run a file, take the one rule in it, and check it; once for each content of the file.

    Raises BadSetting, naming what is wrong with the file or the rule.
    """
    path = Path(name.strip()).expanduser()
    try:
        code = path.read_bytes()
    except OSError as error:
        raise BadSetting(
            f"{name} cannot be read: {error.strerror}.", "Give the path of a .py file."
        ) from None
    sha256 = hashlib.sha256(code).hexdigest()
    for own in _loaded.values():
        if own.sha256 == sha256:
            return own
    rule = _finished(path, _rule_in(_module(path, code, sha256)), sha256, built_in)
    report = rule_check.check(rule)
    if report.contradicted:
        rule = _changed(rule, lossless=False)
    return _loaded.setdefault(rule.id, Own(rule, path.resolve(), sha256, report))


def _module(path: Path, code: bytes, sha256: str) -> ModuleType:
    """Exactly the bytes whose sum was taken, as a module."""
    module = ModuleType(f"draftscope_own_{sha256[:DIGITS]}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # dataclasses look their module up
    try:
        exec(compile(code, str(path), "exec"), module.__dict__)
    except (Exception, SystemExit) as error:
        del sys.modules[module.__name__]
        line = _line(error, str(path))
        raise BadSetting(
            f"{path.name} fails{line}: {type(error).__name__}: {error}.", f"Correct it there. {GUIDE}"
        ) from error
    return module


def _line(error: BaseException, path: str) -> str:
    """Where in the file an error came up."""
    if isinstance(error, SyntaxError):
        return f" in line {error.lineno}" if error.lineno else ""
    trace, line = error.__traceback__, ""
    while trace:
        if trace.tb_frame.f_code.co_filename == path:
            line = f" in line {trace.tb_lineno}"
        trace = trace.tb_next
    return line


def _rule_in(module: ModuleType) -> type[Rule]:
    name = Path(module.__file__).name
    found = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Rule) and value.__module__ == module.__name__
    ]
    found = list(dict.fromkeys(found))
    if len(found) != 1:
        names = ", ".join(cls.__name__ for cls in found)
        what = f"defines {len(found)} rules ({names})" if found else "defines no rule"
        raise BadSetting(f"{name} {what}.", f"Write exactly one subclass of Rule. {GUIDE}")
    return found[0]


def _finished(path: Path, cls: type[Rule], sha256: str, built_in: dict[str, Rule]) -> Rule:
    """The rule at its defaults, its words checked, under its id for keeps."""
    missing = [
        word for word in WORDS if not (isinstance(getattr(cls, word, None), str) and getattr(cls, word))
    ]
    if cls.__abstractmethods__:
        missing = [*missing, *sorted(cls.__abstractmethods__)]
    if missing:
        raise BadSetting(f"{cls.__name__} in {path.name} lacks {', '.join(missing)}.", f"Add it. {GUIDE}")
    if cls.id in built_in:
        raise BadSetting(
            f"{cls.id!r} is the id of a built-in rule.", f"Give the rule in {path.name} another."
        )
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,39}", cls.id):
        raise BadSetting(
            f"The id {cls.id!r} in {path.name} is no id.",
            "Use up to 40 small letters, digits and hyphens, for example my-rule.",
        )
    unknown = {param.name for param in cls.parameters} - {field.name for field in fields(cls)}
    if unknown:
        raise BadSetting(
            f"{cls.__name__} in {path.name} has no field for its parameter {min(unknown)!r}.",
            f"Declare it as {min(unknown)}: float = … under @dataclass(frozen=True). {GUIDE}",
        )
    try:
        return _changed(cls(), id=f"{cls.id}@{sha256[:DIGITS]}")
    except TypeError as error:
        raise BadSetting(
            f"{cls.__name__} in {path.name} cannot be made: {error}.", "Give every parameter a default."
        ) from error


def _changed(rule: Rule, **words: object) -> Rule:
    """The same rule with other class attributes."""
    cls = type(rule)
    return type(cls.__name__, (cls,), {"__module__": cls.__module__, "__doc__": cls.__doc__, **words})()
