"""Several threads and programs on one file: who writes, who reads, and what a crash leaves."""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from storage import Store, StoreError
from storage.info import WRITER_GONE
from tests.storage.factories import fill, finished, prompt_read, round_at, started

ROOT = Path(__file__).parents[2]

#: Another Draftscope: creates a session, appends round after round, and says each number once it is stored.
WRITER = """
import sys
from pathlib import Path
from storage import Store
from tests.storage.factories import finished, prompt_read, round_at, started

path, rounds, then = sys.argv[1], int(sys.argv[2]), sys.argv[3]
with Store.open(path) as store:
    session_id = store.create(started())
    store.append(session_id, prompt_read())
    for index in range(rounds):
        store.append(session_id, round_at(index))
        print(index, flush=True)
    if then == "wait":
        sys.stdin.read()
    store.append(session_id, finished())
"""


class Writer:
    """The other program, with its last number read."""

    def __init__(self, path: Path, rounds: int, then: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), str(rounds), then],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def wait_for(self, index: int) -> None:
        while (line := self.process.stdout.readline()) and int(line) < index:
            pass
        assert line, "the writer ended early"

    def end(self) -> int:
        self.process.stdin.close()
        return self.process.wait(30)

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(30)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        if self.process.poll() is None:
            self.kill()
        self.process.stdin.close()
        self.process.stdout.close()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "sessions.sqlite"


def status_in_file(path: Path) -> str:
    conn = sqlite3.connect(path)
    try:
        return conn.execute("SELECT status FROM sessions").fetchone()[0]
    finally:
        conn.close()


def owner_files(path: Path) -> list[Path]:
    return list(path.parent.glob(path.name + "-owner-*"))


def test_a_killed_writer_leaves_every_stored_round_and_an_interrupted_session(path):
    with Writer(path, 100_000, "go on") as writer:
        writer.wait_for(5)
        writer.kill()
        last = max(int(line) for line in ["5", *writer.process.stdout.read().split()])
    with Store.open(path) as store:
        info = store.session(1)
        assert (info.status, info.reason) == ("interrupted", WRITER_GONE)
        rounds = store.rounds(1, 0, 10**6)
        # One more may have been stored than was said.
        assert last + 1 <= len(rounds) == info.rounds <= last + 2
        assert rounds == [round_at(index) for index in range(len(rounds))]
        with pytest.raises(StoreError, match=r"has ended \(interrupted\)"):
            store.append(1, round_at(len(rounds)))
        assert owner_files(path) == []
    assert status_in_file(path) == "interrupted"


def test_a_session_of_a_living_program_stays_running_for_everyone_else(path):
    with Writer(path, 2, "wait") as writer:
        writer.wait_for(1)
        for _ in range(2):
            with Store.open(path) as store:
                assert store.session(1).status == store.sessions()[0].status == "running"
                assert store.rounds(1, 0, 9) == [round_at(0), round_at(1)]
                with pytest.raises(StoreError, match="being written by another Draftscope"):
                    store.append(1, round_at(2))
                with pytest.raises(StoreError, match="still running"):
                    store.delete(1)
        assert len(owner_files(path)) == 1
        assert writer.end() == 0
    with Store.open(path) as store:
        assert store.session(1).status == "finished"


def test_a_writer_that_dies_while_we_watch_is_seen_at_once_and_written_at_the_next_open(path):
    with Writer(path, 2, "wait") as writer, Store.open(path) as store:
        writer.wait_for(1)
        assert store.session(1).status == "running"
        writer.kill()
        assert store.session(1).status == store.sessions()[0].status == "interrupted"
        assert status_in_file(path) == "running"
        store.delete(1)
        assert store.sessions() == []


def test_a_closed_store_leaves_its_unfinished_session_interrupted(path):
    with Store.open(path) as store:
        queued = store.create(started())
        assert store.session(queued).status == "queued"
    with Store.open(path) as store:
        assert store.session(queued).status == "interrupted"


def test_a_lost_lock_file_means_the_writer_is_gone(path):
    with Store.open(path) as store:
        store.create(started())
        with Store.open(path) as reader:
            assert reader.session(1).status == "queued"
            owner_files(path)[0].unlink()
            assert reader.session(1).status == "interrupted"


def test_a_reader_leaves_no_lock_file(path):
    with Store.open(path) as store:
        store.sessions()
        assert owner_files(path) == []


def test_an_end_between_the_look_at_the_line_and_the_look_at_the_lock_is_not_taken_for_a_crash(path):
    writer, reader = Store.open(path), Store.open(path)
    session_id = writer.create(started())
    alive = reader._owners.alive

    def end_first(owner):
        writer.append(session_id, finished())
        writer.close()
        return alive(owner)

    reader._owners.alive = end_first
    assert reader.session(session_id).status == "finished"
    reader.close()


def test_two_stores_write_their_own_sessions_to_one_file(path):
    with Store.open(path) as first, Store.open(path) as second:
        ids = first.create(started()), second.create(started())

        def write(store, session_id):
            fill(store, session_id, 20)
            store.append(session_id, finished())

        threads = [
            threading.Thread(target=write, args=pair) for pair in zip((first, second), ids, strict=True)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        expected = [started(), prompt_read(), *(round_at(i) for i in range(20)), finished()]
        for session_id in ids:
            assert second.events(session_id) == first.events(session_id) == list(enumerate(expected))


def test_programs_that_open_a_new_file_at_the_same_moment_all_succeed(path):
    with ExitStack() as stack:
        writers = [stack.enter_context(Writer(path, 1, "go on")) for _ in range(3)]
        assert [writer.end() for writer in writers] == [0, 0, 0]
    with Store.open(path) as store:
        assert [info.status for info in store.sessions()] == ["finished"] * 3


def test_one_store_serves_many_threads(path):
    with Store.open(path) as store:
        session_id = store.create(started())
        stop, seen, faults = threading.Event(), [], []

        def tail():
            after = -1
            try:
                while not (stop.is_set() and after == store.count(session_id) - 1):
                    for seq, _ in store.events(session_id, after=after):
                        after = seq
                seen.append(after)
            except Exception as error:
                faults.append(error)

        readers = [threading.Thread(target=tail) for _ in range(3)]
        for thread in readers:
            thread.start()
        fill(store, session_id, 15)
        stop.set()
        for thread in readers:
            thread.join()
        assert (faults, seen) == ([], [16, 16, 16])


def test_connections_of_finished_threads_are_dropped(path):
    with Store.open(path) as store:
        for _ in range(5):
            thread = threading.Thread(target=store.sessions)
            thread.start()
            thread.join()
        assert len(store._connections._by_thread) <= 2


def test_a_reader_inside_a_snapshot_does_not_block_the_writer(path):
    with Store.open(path) as store, Store.open(path) as other:
        session_id = store.create(started())
        with other._connections.reading() as db:
            before = db.execute("SELECT count(*) FROM events").fetchone()
            begun = time.monotonic()
            fill(store, session_id, 3)
            assert time.monotonic() - begun < 5
            assert db.execute("SELECT count(*) FROM events").fetchone() == before
        assert other.count(session_id) == 5


def test_a_file_locked_for_too_long_is_said_in_words(path, monkeypatch):
    monkeypatch.setattr("storage.connections.BUSY_SECONDS", 0.05)
    with Store.open(path) as store:
        blocker = sqlite3.connect(path, isolation_level=None)
        blocker.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="is locked by another program"):
            store.create(started())
        assert store.sessions() == []
        blocker.close()
        assert store.create(started()) == 1
