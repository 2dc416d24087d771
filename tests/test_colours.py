"""The fates' colours stay apart for every kind of sight, and text stays readable: computed from the style
sheet itself.

Colour vision is simulated by the matrices of Machado, Oliveira and Fernandes 2009 at full severity, in linear
light; distance is CIE76 in CIELAB (D65).
"""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import numpy as np
import pytest

SHEET = Path(__file__).resolve().parent.parent / "assets" / "styles" / "inspector.css"
FATES = ("accepted", "rejected", "corrected", "bonus", "untested")
LEAST = 24.0

SIGHT = {
    "normal": np.eye(3),
    "protan": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deutan": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritan": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
WHITE = TO_XYZ @ np.ones(3)


def properties(theme: str) -> dict[str, str]:
    """The custom properties of a theme: the dark ones lie over the light ones."""
    text = SHEET.read_text("utf-8")
    found: dict[str, str] = {}
    for selector in (":root",) if theme == "light" else (":root", ".dark"):
        block = re.search(rf"^{re.escape(selector)}\s*{{(.*?)^}}", text, re.M | re.S)[1]
        found |= dict(re.findall(r"--([\w-]+):\s*([^;]+);", block))
    return found


def linear(colour: str) -> np.ndarray:
    """#rrggbb as linear light: float64[3]."""
    assert re.fullmatch(r"#[0-9a-fA-F]{6}", colour), f"{colour} is not written as #rrggbb"
    values = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def lab(light: np.ndarray) -> np.ndarray:
    ratio = TO_XYZ @ np.clip(light, 0, 1) / WHITE
    f = np.where(ratio > (6 / 29) ** 3, np.cbrt(ratio), ratio / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def distance(a: str, b: str, sight: str) -> float:
    seen = [lab(SIGHT[sight] @ linear(colour)) for colour in (a, b)]
    return float(np.linalg.norm(seen[0] - seen[1]))


def contrast(a: str, b: str) -> float:
    """WCAG's contrast ratio."""
    lights = sorted(float(TO_XYZ[1] @ linear(colour)) for colour in (a, b))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("sight", SIGHT)
def test_no_two_fates_look_alike(theme, sight):
    found = properties(theme)
    near = {
        (a, b): round(distance(found[a], found[b], sight), 1)
        for a, b in itertools.combinations(FATES, 2)
        if distance(found[a], found[b], sight) < LEAST
    }
    assert not near, f"{theme}, {sight}: closer than {LEAST}: {near}"


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("ink", ["ink", "soft", "faint"])
@pytest.mark.parametrize("paper", ["panel", "paper", "sunken"])
def test_text_stands_out_from_its_paper(theme, ink, paper):
    found = properties(theme)
    assert contrast(found[ink], found[paper]) >= 4.5


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_lines_of_a_fate_stand_out_from_the_panel(theme):
    found = properties(theme)
    assert all(contrast(found[fate], found["panel"]) >= 3 for fate in FATES)


def test_the_measure_itself_knows_near_from_far():
    assert distance("#000000", "#ffffff", "normal") == pytest.approx(100, abs=0.1)
    assert distance("#ff0000", "#00ff00", "normal") == pytest.approx(170.6, abs=1)
    assert distance("#d00000", "#708000", "deutan") < distance("#d00000", "#708000", "normal") / 2
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
