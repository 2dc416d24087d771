"""The small pictures on docs/rules.md: what a rule emits for cat, dog and fox, beside what the target wants.

`python -m docs.pictures` writes them; a test holds the files to the code.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np

from engine.core.law import emitted_law
from engine.core.types import Rule
from engine.rules import RULES

FOLDER = Path(__file__).parent / "pictures"
TOKENS = ("cat", "dog", "fox")
P = np.array([3, 5, 2]) / 10
Q = np.array([6, 3, 1]) / 10
WIDTH, LINE, LEFT, SCALE = 300, 22, 40, 200


def law_of(rule: Rule) -> list[float]:
    """What the rule emits first, one draft a round: float[3]."""
    found = emitted_law(rule, lambda prefix: P, lambda prefix: Q, 1, 1)
    return [found.get((i,), 0.0) for i in range(3)]


def fraction(value: float) -> str:
    """The fraction a float stands for; the laws here have small denominators."""
    exact = Fraction(value).limit_denominator(2000)
    assert abs(float(exact) - value) < 1e-12, value
    return str(exact)


def svg(rule: Rule) -> str:
    """Bars of the law; a dark tick is p, red is what the law has above p, an empty box what it lacks."""
    law = law_of(rule)
    tv = sum(abs(o - p) for o, p in zip(law, P.tolist(), strict=True)) / 2
    body = "".join(bar(i, law[i], float(P[i])) for i in range(3))
    height = 3 * LINE + 26
    label = ", ".join(f"{name} {fraction(o)}" for name, o in zip(TOKENS, law, strict=True))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" role="img" '
        f'font-family="system-ui, sans-serif" font-size="12" fill="#888">'
        f"<title>{rule.id}: {label}</title>{body}"
        f'<text x="{LEFT}" y="{height - 6}">TV to p: {fraction(tv)}</text></svg>\n'
    )


def bar(i: int, law: float, p: float) -> str:
    """One token's line: shared part blue, excess red, lack outlined, p as a tick, the law as a fraction."""
    y, shared = i * LINE + 4, min(law, p)
    parts = [f'<text x="{LEFT - 6}" y="{y + 12}" text-anchor="end">{TOKENS[i]}</text>']
    parts.append(box(0, shared, y, 'fill="#0072B2"'))
    if law > p + 1e-9:
        parts.append(box(p, law, y, 'fill="#D55E00"'))
    elif p > law + 1e-9:
        parts.append(box(law, p, y, 'fill="none" stroke="#888" stroke-dasharray="2 2"'))
    parts.append(f'<path d="M{LEFT + p * SCALE:.1f} {y - 2}v18" stroke="#888" stroke-width="2"/>')
    parts.append(f'<text x="{LEFT + max(law, p) * SCALE + 6:.1f}" y="{y + 12}">{fraction(law)}</text>')
    return "".join(parts)


def box(low: float, high: float, y: int, style: str) -> str:
    return (
        f'<rect x="{LEFT + low * SCALE:.1f}" y="{y}" width="{(high - low) * SCALE:.1f}" height="14" {style}/>'
    )


def write() -> None:
    """Write every rule's picture, and take away those of rules that are gone."""
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.glob("*.svg"):
        if old.stem not in RULES:
            old.unlink()
    for rule in RULES.values():
        (FOLDER / f"{rule.id}.svg").write_text(svg(rule))


if __name__ == "__main__":
    write()
