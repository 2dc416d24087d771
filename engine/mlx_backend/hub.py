"""Where a model's files are: a local folder, or a hub id, downloaded only when it is not here yet."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import huggingface_hub
from huggingface_hub.errors import LocalEntryNotFoundError
from tqdm import tqdm

from engine.errors import ModelError
from engine.model_name import checked, folder_of

#: Told what is going on, and how far it is in [0, 1], or None when that is not known. During a download
#: it is called from the downloading threads.
Progress = Callable[[str, float | None], None]

FILES = ["*.json", "model*.safetensors", "tokenizer.model", "*.tiktoken", "*.txt", "*.jsonl", "*.jinja"]


def locate(name: str, progress: Progress) -> Path:
    """The folder of an mlx-lm model. Raises ModelError, naming what is missing, when there is none."""
    folder = folder_of(name)
    return folder or checked(_snapshot(name, progress))


def _snapshot(name: str, progress: Progress) -> Path:
    """The cached files if they are complete, and only then the network; HF_HUB_OFFLINE forbids it."""
    try:
        return Path(huggingface_hub.snapshot_download(name, allow_patterns=FILES, local_files_only=True))
    except LocalEntryNotFoundError:
        progress(f"Downloading {name}", None)
    try:
        bar = _bar(name, progress)
        return Path(huggingface_hub.snapshot_download(name, allow_patterns=FILES, tqdm_class=bar))
    except Exception as error:  # the hub's client, its transport and its file layer raise unrelated classes
        raise ModelError(
            f"{name} is no folder here and could not be fetched from the hub: {_first_line(error)}",
            "Check the name and the connection (HF_HUB_OFFLINE forbids it), or give a local folder.",
        ) from error


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _bar(name: str, progress: Progress) -> type[tqdm]:
    """A progress bar that tells `progress` instead of writing to the terminal."""

    class Bar(tqdm):
        def __init__(self, *args, **settings) -> None:
            super().__init__(*args, **settings | {"file": io.StringIO(), "leave": False})

        def display(self, msg: str | None = None, pos: int | None = None) -> bool:
            if self.unit == "B" and self.total:
                done = f"{self.n / 1e6:.0f} of {self.total / 1e6:.0f} MB"
                progress(f"Downloading {name}: {done}", min(1.0, self.n / self.total))
            return True

    return Bar
