"""Which models stay in memory: one target, and the drafters used last."""

from __future__ import annotations

import pytest

from engine.errors import ModelError
from engine.mlx_backend import load
from engine.models import DRAFTERS_KEPT, Models


@pytest.fixture
def models(monkeypatch):
    """Models, and the list of what they loaded."""
    loaded = []
    for name in ("load_target", "load_drafter"):
        real = getattr(load, name)

        def noted(what, *rest, real=real):
            loaded.append(what)
            return real(what, *rest)

        monkeypatch.setattr(load, name, noted)
    owner = Models()
    owner.loaded = loaded
    return owner


def quiet(message: str, fraction: float | None) -> None:
    """Nobody looks."""


def test_a_pair_is_loaded_once(models, tiny_folder):
    first, again = (models.pair(tiny_folder, "self:4bit", quiet) for _ in range(2))
    assert models.loaded == [tiny_folder, "self:4bit"]
    assert (first.target, first.scorer, first.drafter) == (again.target, again.scorer, again.drafter)
    assert first.versions == again.versions
    assert first.versions.keys() >= {"mlx", "mlx-lm", "numpy", "device", "blas", "weights"}


def test_the_drafter_that_was_used_longest_ago_goes_first(models, tiny_folder):
    for bits in (2, 3, 4):
        models.pair(tiny_folder, f"self:{bits}bit", quiet)
    models.pair(tiny_folder, "self:2bit", quiet)
    models.pair(tiny_folder, "self:8bit", quiet)
    before = len(models.loaded)
    for bits in (4, 2, 8):
        models.pair(tiny_folder, f"self:{bits}bit", quiet)
    assert len(models.loaded) == before
    models.pair(tiny_folder, "self:3bit", quiet)
    assert len(models.loaded) == before + 1
    assert DRAFTERS_KEPT == 3


def test_another_target_takes_the_place_of_the_one_before_with_its_drafters(models, tiny_folder, tiny_draft):
    one = models.pair(tiny_folder, "self:4bit", quiet)
    other = models.pair(tiny_draft, "self:4bit", quiet)
    assert models.loaded == [tiny_folder, "self:4bit", tiny_draft, "self:4bit"]
    assert one.drafter is not other.drafter


def test_after_a_load_that_failed_the_next_one_works(models, tiny_folder, tmp_path):
    models.pair(tiny_folder, "lookup", quiet)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ModelError):
        models.pair(str(tmp_path), "lookup", quiet)
    with pytest.raises(ModelError):
        models.pair(tiny_folder, f"model:{tmp_path}", quiet)
    assert models.pair(tiny_folder, "lookup", quiet).drafter.kind == "lookup"


def test_loading_says_what_it_does(tiny_folder):
    said = []
    Models().pair(tiny_folder, "self:3bit", lambda message, fraction: said.append(message))
    assert said[0] == f"Loading {tiny_folder}"
    assert "Rounding the target's weights to 3 bits" in said
