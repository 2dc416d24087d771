"""What computes the numbers: device, packages, BLAS, machine."""

from __future__ import annotations

import importlib.metadata
import platform

import huggingface_hub
import mlx.core as mx

from engine.errors import ModelError
from engine.mlx_backend import BLAS, bundled
from engine.model_name import BUNDLED


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
        "blas": BLAS.name,
    }


def report() -> dict:
    """What `doctor` says of the engine: device, BLAS, versions, and the models that need no network."""
    return {
        "backend": "mlx",
        "device": device(),
        "blas": {"kind": BLAS.kind, "detail": BLAS.detail, "advice": BLAS.advice},
        "models": [bundled_model(), *cached_models()],
        "versions": versions(),
    }


def bundled_model() -> dict:
    """Whether the bundled weights are there."""
    try:
        path = bundled.path()
    except ModelError as error:
        return {"name": BUNDLED, "found": False, "detail": str(error)}
    return {"name": BUNDLED, "found": True, "detail": f"{path.stem}, {path.stat().st_size / 1e6:.0f} MB"}


def cached_models() -> list[dict]:
    """Hub models whose files are in the local cache."""
    try:
        repos = huggingface_hub.scan_cache_dir().repos
    except huggingface_hub.errors.CacheNotFound:
        return []
    models = sorted((repo for repo in repos if repo.repo_type == "model"), key=lambda repo: repo.repo_id)
    return [
        {"name": repo.repo_id, "found": True, "detail": f"{repo.size_on_disk / 1e6:.0f} MB in the hub cache"}
        for repo in models
    ]
