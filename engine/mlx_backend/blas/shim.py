"""Build the shim once, load it, and bind it to the OpenBLAS of the `scipy-openblas32` wheel.

OpenBLAS itself is loaded in a scope of its own: only the shim's three names become global, so NumPy's
and SciPy's copies of OpenBLAS never resolve a symbol into this one.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib.metadata
import importlib.util
import os
import platform
import shlex
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_cache_dir

WHEEL = "scipy-openblas32"
SOURCE = Path(__file__).with_name("shim.c")
INCLUDED = Path(__file__).with_name("few_rows.h")
FLAGS = ("-O3", "-std=c11", "-shared", "-fPIC", "-fvisibility=hidden")
#: Floats in the widest register there is a kernel for.
WIDEST = 16
BOUND = ("scipy_cblas_sgemm", "scipy_cblas_sgemv", "scipy_cblas_dgemm", "scipy_cblas_cgemm")

_loaded: Loaded | None = None
_problem = ""


@dataclass(frozen=True)
class Loaded:
    """The shim and the OpenBLAS behind it, both open for the life of the process."""

    shim: ctypes.CDLL
    openblas: ctypes.CDLL
    library: str  # name and version

    @property
    def core(self) -> str:
        """The CPU family whose kernels OpenBLAS picked."""
        name = self.openblas.scipy_openblas_get_corename
        name.restype = ctypes.c_char_p
        return name().decode()

    def set_threads(self, n: int) -> int:
        """Let a product use n threads. One thread is best served by a kernel of the shim's own for few rows;
        returns how many numbers that takes at once, 0 where this machine has none."""
        self.openblas.scipy_openblas_set_num_threads(n)
        return self.few_rows(WIDEST if n == 1 else 0)

    def few_rows(self, width: int) -> int:
        """Multiply few rows by registers of at most `width` floats (0: leave them to OpenBLAS); returns the
        width that is used."""
        return self.shim.draftscope_few_rows(width)


def problem() -> str:
    """Why the last `load` gave None, in a phrase."""
    return _problem


def calls() -> int | None:
    if _loaded is None:
        return None
    count = _loaded.shim.draftscope_calls
    count.restype = ctypes.c_ulong
    return count()


def load() -> Loaded | None:
    """The bound shim in the global scope, built first where needed; None, with `problem` set, if not."""
    global _loaded, _problem
    if _loaded is None:
        try:
            _loaded = _bind(ctypes.CDLL(str(build()), ctypes.RTLD_GLOBAL), ctypes.CDLL(str(_openblas())))
        except importlib.metadata.PackageNotFoundError:
            _problem = f"the package {WHEEL} is not installed"
        except FileNotFoundError as missing:
            _problem = f"{missing.filename or missing} was not found"
        except subprocess.CalledProcessError as failed:
            _problem = (
                f"the C compiler failed: {failed.stderr.strip().splitlines()[-1:] or failed.returncode}"
            )
        except OSError as error:
            _problem = f"the shim could not be built or loaded: {error}"
    return _loaded


def _bind(shim: ctypes.CDLL, openblas: ctypes.CDLL) -> Loaded:
    shim.draftscope_bind(*(ctypes.cast(getattr(openblas, name), ctypes.c_void_p) for name in BOUND))
    return Loaded(shim, openblas, f"{WHEEL} {importlib.metadata.version(WHEEL)}")


def _openblas() -> Path:
    """The wheel's shared library, found without importing it (its import makes every symbol global)."""
    spec = importlib.util.find_spec("scipy_openblas32")
    if spec is None or spec.origin is None:
        raise importlib.metadata.PackageNotFoundError(WHEEL)
    found = sorted((Path(spec.origin).parent / "lib").glob("libscipy_openblas*.so*"))
    if not found:
        raise FileNotFoundError(f"the library of {WHEEL}")
    return found[0]


def cached(folder: Path | None = None) -> Path:
    """Where this shim belongs: a name that changes with the source, the wheel and the machine."""
    key = hashlib.sha256(SOURCE.read_bytes() + INCLUDED.read_bytes())
    for part in (*FLAGS, importlib.metadata.version(WHEEL), platform.machine()):
        key.update(part.encode())
    folder = folder or Path(user_cache_dir("draftscope", appauthor=False))
    return folder / f"blas-{key.hexdigest()[:16]}.so"


def build(folder: Path | None = None) -> Path:
    """The compiled shim, from the cache where it is there.

    Compiled under a temporary name and renamed, so two processes that start at once never load half a
    file. Raises FileNotFoundError without a compiler, CalledProcessError when it fails.
    """
    target = cached(folder)
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(suffix=".so", dir=target.parent)
    os.close(handle)
    try:
        compiler = shlex.split(os.environ.get("CC", "cc"))
        command = [*compiler, *FLAGS, str(SOURCE), "-o", name]
        subprocess.run(command, check=True, capture_output=True, text=True)
        os.replace(name, target)
    finally:
        Path(name).unlink(missing_ok=True)
    return target
