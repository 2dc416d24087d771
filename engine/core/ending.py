"""When a text is over: an end-of-text token, or a stop string."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from engine.core.types import Block, Verdict


@dataclass(frozen=True)
class Ending:
    """`pieces` gives the bytes of token ids. A stop string counts when the last token completes it."""

    eos_ids: frozenset[int]
    stop: tuple[str, ...]
    pieces: Callable[[Iterable[int]], dict[int, bytes]]

    def reached(self, output: tuple[int, ...]) -> bool:
        return bool(self.reason(output))

    def reason(self, output: tuple[int, ...]) -> str:
        """Why the output ends with its last token; empty when it does not."""
        if not output:
            return ""
        if output[-1] in self.eos_ids:
            return "end of text"
        for stop in self.stop:
            if self._completes(output, stop.encode()):
                return f"stop string {stop!r}"
        return ""

    def _completes(self, output: tuple[int, ...], stop: bytes) -> bool:
        """True when the stop bytes end inside the last token: enough tokens back, each at least a byte."""
        recent = [i for i in output[-2 * len(stop) - 2 :]]
        pieces = self.pieces(recent)
        before = b"".join(pieces[i] for i in recent[:-1])
        text = before + pieces[recent[-1]]
        return text.find(stop, max(0, len(before) - len(stop) + 1)) >= 0


def close(block: Block, verdict: Verdict, final: bool) -> tuple[Verdict, tuple[int, ...]]:
    """The verdict and what it emits; a final block that stands whole emits nothing behind itself."""
    accepted = block.tokens[: verdict.n_accepted]
    if final and verdict.n_accepted == block.k:
        return replace(verdict, next_token=None, next_source="ended"), accepted
    return verdict, (*accepted, verdict.next_token)


def visible_text(data: bytes, stop: Iterable[str]) -> str:
    """A finished text as people read it: without the stop string that ended it and what follows.

    Cut as bytes, as `Ending` reads them, so a replaced half of a character is no stop string's U+FFFD.
    """
    cuts = [at for at in (data.find(s.encode()) for s in stop if s) if at >= 0]
    return data[: min(cuts, default=None)].decode("utf-8", errors="replace")
