"""A session on the terminal while it runs: its text as it grows, and what it is doing before there is any."""

from __future__ import annotations

import codecs
import sys
from collections.abc import Callable, Iterable

import click

from engine.core.events import Event, PromptRead, Round, SessionStarted
from engine.errors import EngineError
from inspector.controller import Controller
from inspector.faults import watermark


class TextStream:
    """Tokens in, readable text out, a little late: half a character, the beginning of what may become a
    stop string, and control tokens that may be the last are held back. What `feed` and `end` return adds
    up to the finished session's text.
    """

    def __init__(
        self,
        pieces: Callable[[Iterable[int]], dict[int, bytes]],
        special: Iterable[int],
        stop: Iterable[str],
    ) -> None:
        self.pieces = pieces
        self.special = frozenset(special)
        self.stop = [text.encode() for text in stop]
        self.decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self.control: tuple[int, ...] = ()
        self.held = b""
        self.ended = False

    def feed(self, tokens: tuple[int, ...]) -> str:
        """The text that has become certain."""
        tokens = self.control + tokens
        n = max((i for i, token in enumerate(tokens, 1) if token not in self.special), default=0)
        self.control = tokens[n:]
        found = self.pieces(tokens[:n])
        self.held += b"".join(found.get(token, b"") for token in tokens[:n])
        cuts = [at for at in map(self.held.find, self.stop) if at >= 0]
        if cuts:
            text, self.ended = self._release(min(cuts)), True
            return text
        return self._release(len(self.held) - max(map(len, self.stop), default=1) + 1)

    def end(self) -> str:
        """What is left."""
        return self._release(len(self.held)) + self.decoder.decode(b"", final=True)

    def _release(self, n: int) -> str:
        if self.ended or n <= 0:
            return ""
        text, self.held = self.decoder.decode(self.held[:n]), self.held[n:]
        return text


class Live:
    """Writes a session's text to stdout or stderr, and its progress to stderr."""

    def __init__(self, controller: Controller, started: SessionStarted, to_stderr: bool) -> None:
        self.store = controller.store
        self.started = started
        self.to_stderr = to_stderr
        self.stream: TextStream | None = None
        self.status = ""

    def hear(self, event: Event) -> None:
        if isinstance(event, PromptRead):
            self.say("")
            self.stream = TextStream(
                lambda ids: self.store.pieces(event.tokenizer, ids), event.special, self.started.stop
            )
        elif isinstance(event, Round):
            self.write(self.stream.feed(event.emitted))

    def end(self) -> None:
        self.say("")
        if self.stream is not None:
            self.write(self.stream.end() + "\n")

    def write(self, text: str) -> None:
        click.echo(text, nl=False, err=self.to_stderr)

    def say(self, status: str) -> None:
        """Replace the progress line; where stderr is no terminal, write one line a status."""
        if status != self.status and sys.stderr.isatty():
            click.echo("\r\x1b[K" + status, nl=False, err=True)
        elif status != self.status and status:
            click.echo(status, err=True)
        self.status = status


def follow(controller: Controller, started: SessionStarted, to_stderr: bool) -> int:
    """Run a session to its end, showing it; its id. Ctrl-C stops it and keeps its finished rounds.

    Raises EngineError for a session that could not begin, Abort when it was stopped before it had read
    its prompt; neither leaves anything in the store.
    """
    tell_of_another_rule(started)
    live = Live(controller, started, to_stderr)
    run, sink = controller.begin(started, live.hear)
    try:
        while not run.done.wait(0.1):
            live.say(run.progress if live.stream is None else "")
    except KeyboardInterrupt:
        controller.worker.stop(run)
        run.done.wait()
    live.end()
    if sink.refused and sink.refused.status == "stopped":
        raise click.Abort
    if sink.refused:
        raise EngineError(sink.refused.reason)
    return sink.session_id


def tell_of_another_rule(started: SessionStarted) -> None:
    """On stderr, where a session runs another rule than it was asked to, or is faulty on purpose."""
    if started.reason:
        click.echo(f"{started.asked} runs as {started.rule}: {started.reason}", err=True)
    mark = watermark(started.fault, started.rule)
    if mark:
        click.echo(mark, err=True)


def rerun(controller: Controller, session_id: int, rule_ids: list[str]) -> list[int]:
    """Run the lanes of a comparison to their ends; their ids. Ctrl-C stops them all, and keeps them."""
    children = controller.rerun(session_id, rule_ids)
    try:
        for n, child in enumerate(children, 1):
            rule = controller.store.session(child).rule
            click.echo(f"{n} of {len(children)}: {rule}, session {child}", err=True)
            tell_of_another_rule(controller.store.started(child))
            controller.wait(child)
    except KeyboardInterrupt:
        for child in children:
            controller.stop(child)
        for child in children:
            controller.wait(child)
    return children
