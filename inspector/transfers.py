"""Files between the screen and this program, in parts, since a page asks by calls and not by files.

A download is prepared whole and handed out part by part; an upload is gathered part by part and then taken in
whole. Nothing is read from or written to a path that a page names. What nobody finishes is forgotten.
"""

from __future__ import annotations

import base64
import binascii
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from engine.errors import BadSetting

#: Bytes of a part, and of a file that a page may send or fetch; the command line takes larger ones.
PART = 3 * 2**20
MOST = 256 * 2**20
#: Files under way at once, and seconds after which one that stands still is forgotten.
AT_ONCE, FORGET_S = 4, 600.0


@dataclass
class File:
    """A file on its way. `size` is what it has in the end, `moved` when a part of it last went through."""

    name: str
    size: int
    data: bytearray
    moved: float = field(default=0.0)


class Transfers:
    """The files under way, each under a key that only its page knows. Safe to call from any thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._files: dict[str, File] = {}
        self._lock = threading.Lock()

    def offer(self, name: str, data: bytes) -> dict:
        """Make a file ready to be fetched: its `file` key, `name`, `size` and the bytes of a `part`.

        Raises BadSetting for a file that is too large, and while too many are under way.
        """
        key = self._add(File(name, len(data), bytearray(data)))
        return {"file": key, "name": name, "size": len(data), "part": PART}

    def fetch(self, key: str, start: int) -> dict:
        """The part from byte `start` on, in base64; the file is forgotten with its last one."""
        with self._lock:
            file = self._of(key)
            part = bytes(file.data[max(0, start) : max(0, start) + PART])
            if start + len(part) >= file.size:
                del self._files[key]
        return {"data": base64.b64encode(part).decode("ascii")}

    def expect(self, name: str, size: int) -> dict:
        """Make room for a file that will be sent: its `file` key and the bytes of a `part`. Raises as `offer`
        does."""
        return {"file": self._add(File(name, size, bytearray())), "part": PART}

    def send(self, key: str, data: str) -> dict:
        """Append a part in base64. Raises BadSetting, and forgets the file, for more than was announced."""
        try:
            part = base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError) as error:
            raise BadSetting("A part of the file is no base64.", "Send the file again.") from error
        with self._lock:
            file = self._of(key)
            file.data += part
            if len(file.data) > file.size:
                del self._files[key]
                raise BadSetting(
                    f"{file.name} has more than the {file.size} bytes announced.", "Send it again."
                )
        return {"received": len(file.data)}

    def take(self, key: str) -> bytes:
        """A file that was sent, which is then forgotten. Raises BadSetting unless all of it has come."""
        with self._lock:
            file = self._of(key)
            del self._files[key]
        if len(file.data) != file.size:
            raise BadSetting(
                f"{len(file.data)} of {file.size} bytes of {file.name} have come.", "Send it again."
            )
        return bytes(file.data)

    def _add(self, file: File) -> str:
        if not 0 <= file.size <= MOST:
            raise BadSetting(
                f"{file.name} has {file.size:,} bytes; a page takes at most {MOST:,}.",
                "Use `python app.py export` or `import`, which take larger files.",
            )
        now = self.clock()
        with self._lock:
            self._files = {key: old for key, old in self._files.items() if now - old.moved < FORGET_S}
            if len(self._files) >= AT_ONCE:
                raise BadSetting(
                    f"{len(self._files)} files are under way already.", "Wait until one of them is through."
                )
            key = secrets.token_urlsafe(16)
            file.moved = now
            self._files[key] = file
        return key

    def _of(self, key: str) -> File:
        file = self._files.get(key)
        if file is None:
            raise BadSetting("That file is no longer under way.", "Begin again.")
        file.moved = self.clock()
        return file
