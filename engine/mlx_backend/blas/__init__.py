"""Which matrix products MLX uses, and on Linux CPUs a faster one than its wheel brings.

The Linux CPU wheel of MLX links the reference BLAS, which on a float32 product is 20 to 40 times slower
than OpenBLAS. MLX imports its three BLAS functions by name, so a library that defines these names in the
process's global scope *before* `mlx.core` is loaded serves them instead. `ensure` does that, once, and
says what it did; importing `engine.mlx_backend` calls it first thing.
"""

from __future__ import annotations

import ctypes
import importlib.metadata
import platform
import sys
from dataclasses import dataclass
from functools import cache

from engine.mlx_backend.blas import shim
from engine.mlx_backend.blas.threads import thread_count

SYSTEM_LIBRARY = "libopenblas.so.0"
GPU_PACKAGES = ("mlx-cuda", "mlx-cuda-12", "mlx-cuda-13")


@dataclass(frozen=True, slots=True)
class BlasReport:
    """What multiplies matrices: `kind` in a word, `detail` in a phrase, `advice` empty when all is well.

    Kinds: "Metal" and "CUDA" (MLX on a GPU), "Accelerate" (MLX on an Intel Mac's CPU), "OpenBLAS" (this
    package's shim or the system's library), "reference" (the slow one that MLX's Linux wheel links).
    """

    kind: str
    detail: str
    advice: str = ""
    kernels: str = ""  # what decides the last bits beside the kind

    @property
    def name(self) -> str:
        """What a re-run must share to repeat a session to the last bit."""
        return self.kind + self.kernels

    @property
    def slow(self) -> bool:
        return self.kind == "reference"


@cache
def ensure() -> BlasReport:
    """Put OpenBLAS in MLX's way if this machine needs it. Never raises; the report tells what happened.

    The first call decides; later ones return the same report.
    """
    return _native() or _too_late() or _through_shim() or _through_system() or _reference(shim.problem())


def calls() -> int | None:
    """How many products the shim has served in this process; None when it is not loaded."""
    return shim.calls()


def _native() -> BlasReport | None:
    if sys.platform == "darwin":
        if platform.machine() == "arm64":
            return BlasReport("Metal", "MLX's own kernels on the GPU")
        return BlasReport("Accelerate", "Apple's BLAS on the CPU")
    for package in GPU_PACKAGES:
        try:
            version = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
        return BlasReport("CUDA", f"MLX's own kernels on the GPU ({package} {version})")
    return None


def _too_late() -> BlasReport | None:
    if "mlx.core" not in sys.modules:
        return None
    return BlasReport(
        "reference",
        "mlx.core was imported before engine.mlx_backend, so its own reference BLAS is in use",
        "Import engine.mlx_backend before anything that imports mlx.",
    )


def _through_shim() -> BlasReport | None:
    loaded = shim.load()
    if loaded is None:
        return None
    width = loaded.set_threads(thread_count())
    own = f", few rows by a kernel of {width} floats" if width else ""
    detail = f"{loaded.library} through a shim, {loaded.core} kernels, threads: {thread_count()}{own}"
    return BlasReport("OpenBLAS", detail, kernels=f" with few-row kernels of {width}" if width else "")


def _through_system() -> BlasReport | None:
    try:
        library = ctypes.CDLL(SYSTEM_LIBRARY, ctypes.RTLD_GLOBAL)
    except OSError:
        return None
    library.openblas_set_num_threads(thread_count())
    return BlasReport("OpenBLAS", f"the system's {SYSTEM_LIBRARY}, threads: {thread_count()}")


def _reference(problem: str) -> BlasReport:
    return BlasReport(
        "reference",
        f"MLX's own reference BLAS, many times slower than OpenBLAS ({problem})",
        "Install a C compiler, or the system package libopenblas0.",
    )
