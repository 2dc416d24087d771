"""What computes the numbers: device, packages, BLAS, machine."""

from __future__ import annotations

import importlib.metadata
import platform

import mlx.core as mx

from engine.mlx_backend import BLAS


def device() -> str:
    """MLX's default device in a word: "cpu" or "gpu"."""
    return "gpu" if mx.default_device() == mx.Device(mx.gpu) else "cpu"


def versions() -> dict[str, str]:
    """All that a re-run must share with a session to be sure of repeating it bit for bit."""
    packages = {name: importlib.metadata.version(name) for name in ("mlx", "mlx-lm", "numpy")}
    return packages | {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "device": device(),
        "blas": BLAS.kind,
    }
