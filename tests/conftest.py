"""A tiny target and a tiny drafter on disk, the bundled pair, and controllers that many tests share.

MLX loads on demand.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from engine.core.types import Sampling
from engine.session import Request
from inspector import cli
from inspector.controller import Controller
from storage import Store
from tests.calling import Printed
from tests.playing import play


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


@pytest.fixture(scope="session")
def bundled():
    """The target of the bundled pair, on this thread."""
    from engine.mlx_backend import load

    return load.load_target("bundled")


@pytest.fixture(scope="session")
def bundled_3bit(bundled):
    """Its drafter of the same weights in three bits."""
    from engine.mlx_backend import load

    return load.load_drafter("self:3bit", bundled)


@pytest.fixture
def call(capsys):
    """Run the command line in this process."""

    def run(*args: object) -> Printed:
        with pytest.raises(SystemExit) as ended:
            cli.main([str(arg) for arg in args])
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return Printed(ended.value.code, out, err)

    return run


@pytest.fixture(scope="session")
def db(tmp_path_factory, tiny_folder) -> Path:
    """A database with one session of the tiny pair, number 1."""
    path = tmp_path_factory.mktemp("cli") / "cli.sqlite"
    sampling = Sampling(temperature=1.0, top_k=30)
    request = Request("the theme then", target=tiny_folder, drafter="self:4bit", sampling=sampling, seed=2)
    with Store.open(path) as store, closing(Controller(store)) as controller:
        assert play(controller, request) == 1
        assert store.session(1).rounds > 5
    return path
