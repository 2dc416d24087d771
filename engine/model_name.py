"""The names a model can have, told apart without loading anything: `bundled`, a folder, a hub id."""

from __future__ import annotations

import re
from pathlib import Path

from engine.errors import ModelError

BUNDLED = "bundled"
HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")


def folder_of(name: str) -> Path | None:
    """The local folder a name means; None for `bundled` and for a hub id.

    Raises ModelError for a file, a folder without config.json, and anything that is none of the three.
    """
    if name == BUNDLED:
        return None
    folder = Path(name).expanduser()
    if name and folder.is_dir():
        return checked(folder)
    if name and folder.exists():
        raise ModelError(f"{name} is a file.", "Give the folder that holds the model's config.json.")
    if not HUB_ID.fullmatch(name):
        raise ModelError(
            f"There is no folder {name!r}.",
            "Give `bundled`, an mlx-lm model folder, or a hub id like owner/name.",
        )
    return None


def checked(folder: Path) -> Path:
    """The folder itself; raises ModelError unless it has a config.json."""
    if not (folder / "config.json").is_file():
        raise ModelError(
            f"{folder} has no config.json, so it is no mlx-lm model.",
            "Give a folder that `mlx_lm.convert` wrote.",
        )
    return folder
