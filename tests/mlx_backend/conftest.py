"""A tiny model for every test."""

# OpenBLAS has to be in the process before mlx is.
from engine.mlx_backend import load

# isort: split
import sys

import mlx.core as mx
import pytest

from tests.mlx_backend import tiny

# What is checked to the last bit is checked on a CPU, on a Mac too.
mx.set_default_device(mx.cpu)

#: The shim is for Linux CPUs alone.
collect_ignore = [] if sys.platform == "linux" else ["test_blas_shim.py"]


@pytest.fixture
def tiny_target():
    """A tiny model with its tokenizer, as `load_target` would return it."""
    model = tiny.random_model()
    text = load.Text(tiny.tokenizer(), "tiny")
    return load._finished("tiny", model, text, tiny.config(), "float32")
