"""Starting parts: a slow one is waited for as long as it moves, one that stands still is told."""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from frazil.errors import PartDownError
from frazil_local.home import Home
from frazil_local.ports import LOOPBACK
from frazil_local.process import Progress, find, start, stop
from frazil_local.server import Launch, Server
from frazil_local.stack import Stack
from kit.runs.waiting import wait_for

SILENT = "import time; time.sleep(600)"
TALKATIVE = """
import time
while True:
    print("still reading my files", flush=True)
    time.sleep(0.01)
"""
BUSY = "while True: pass"

ASKED = 20
"""So often a slow part is asked before it answers."""


class Part:
    """A stand-in for a server: a process, and an answer that the test gives.

    Args:
        home: Of its stack.
        code: What the process runs.
        ask: Raises while there is no good answer.
        patience: Seconds without progress.
    """

    def __init__(self, home: Home, code: str, ask: Callable[[], None], patience: float = 0.0) -> None:
        self.lines: list[str] = []
        launch = Launch((sys.executable, "-c", code))
        server = Server("part", ("part",), lambda: launch, ask, patience=patience)
        self.log = home.logs / "part.log"
        self.stack = Stack(home, {"part": free_port()}, [server])

    def up(self) -> None:
        self.stack.up(lambda _, text: self.lines.append(text))


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    home = Home(tmp_path / "home")
    yield home
    file = home.running / "part.json"
    if running := find(file):
        stop(running, file, patience=0.0)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind((LOOPBACK, 0))
        port: int = listener.getsockname()[1]
        return port


def growing(log: Path) -> Callable[[], None]:
    """Refuses some times, each time after the log has grown."""
    asked = count(1)

    def ask() -> None:
        before = log.stat().st_size
        wait_for(lambda: log.stat().st_size > before)
        if next(asked) < ASKED:
            raise ConnectionRefusedError("nobody listens")

    return ask


def refuse() -> None:
    raise ConnectionRefusedError("nobody listens")


def test_a_part_that_is_slow_but_moves_is_waited_for(home: Home) -> None:
    part = Part(home, TALKATIVE, growing(home.logs / "part.log"))

    part.up()

    assert part.lines[-1] == "up"
    assert [each.state for each in part.stack.status()] == ["up"]


def test_what_is_waited_for_is_said(home: Home) -> None:
    part = Part(home, TALKATIVE, growing(home.logs / "part.log"))

    part.up()

    assert "waiting for a good answer: nobody listens" in part.lines


def test_a_part_that_lives_but_does_nothing_fails_and_its_log_is_named(home: Home) -> None:
    part = Part(home, SILENT, refuse)

    with pytest.raises(PartDownError, match="neither wrote to its log nor used the CPU for 0 s") as failure:
        part.up()

    assert "nobody listens" in failure.value.what
    assert str(part.log) in failure.value.where


def test_a_part_that_ends_is_not_waited_for(home: Home) -> None:
    part = Part(home, "print('no room left')", refuse, patience=300.0)

    with pytest.raises(PartDownError, match="its process ended") as failure:
        part.up()

    assert "no room left" in failure.value.where


def test_a_part_that_runs_and_moves_but_does_not_answer_is_not_started_anew(home: Home) -> None:
    answers = [True]

    def ask() -> None:
        if not answers:
            slow()

    part = Part(home, TALKATIVE, ask)
    part.up()
    before = part.stack.status()[0].pid
    slow = growing(home.logs / "part.log")
    answers.clear()

    part.up()

    assert part.stack.status()[0].pid == before


def test_ctrl_c_ends_the_waiting(home: Home) -> None:
    def ask() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        raise ConnectionRefusedError("nobody listens")

    part = Part(home, TALKATIVE, ask)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in a background job

    with pytest.raises(KeyboardInterrupt):
        part.up()


def test_a_process_that_uses_the_cpu_moves(home: Home) -> None:
    home.make()
    file, log = home.running / "part.json", home.logs / "part.log"
    running = start((sys.executable, "-c", BUSY), {}, home.scratch, log, file)
    progress = Progress(running, log, step=0.05)
    used = running.cpu_seconds

    wait_for(lambda: running.cpu_seconds > used + 0.1)

    assert progress.idle == 0.0
