"""A tiny target and a tiny drafter on disk, and controllers that many tests share. MLX loads on demand."""

from __future__ import annotations

from contextlib import closing

import pytest

from inspector.controller import Controller
from storage import Store


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory) -> str:
    """The folder of a random float32 Llama over bytes, with a chat template. Its end of text is id 260."""
    return _saved(tmp_path_factory, "target", seed=0)


@pytest.fixture(scope="session")
def tiny_draft(tmp_path_factory) -> str:
    """Another random model with the same tokens."""
    return _saved(tmp_path_factory, "draft", seed=1)


def _saved(tmp_path_factory, name: str, seed: int) -> str:
    from tests.mlx_backend import tiny

    folder = tmp_path_factory.mktemp(name)
    return str(tiny.save(folder, tiny.random_model(seed), tiny.tokenizer()))


@pytest.fixture(scope="session")
def controller(tmp_path_factory):
    """One controller and its worker for the tests on tiny models; every test adds its own sessions."""
    with (
        Store.open(tmp_path_factory.mktemp("sessions") / "tiny.sqlite") as store,
        closing(Controller(store)) as shared,
    ):
        yield shared


@pytest.fixture(scope="session")
def bundled_controller(tmp_path_factory):
    """One controller for the tests on the bundled pair, which takes seconds to load."""
    with (
        Store.open(tmp_path_factory.mktemp("bundled") / "bundled.sqlite") as store,
        closing(Controller(store)) as shared,
    ):
        yield shared
