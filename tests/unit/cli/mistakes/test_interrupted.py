"""Ctrl-C, in a real process: exit code 130, and what came of the table."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kit.runs.shell import FRAZIL
from kit.runs.waiting import PATIENCE


@pytest.fixture
def silent_broker() -> Iterator[socket.socket]:
    """A Kafka that takes a connection and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(PATIENCE)
        yield server


@pytest.fixture
def heeds_ctrl_c() -> Iterator[None]:
    """As in a terminal: what a shell starts in the background ignores Ctrl-C, and so do its children."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("frazil", "heeds_ctrl_c")
def test_a_landing_that_is_stopped_says_that_nothing_landed(
    silent_broker: socket.socket, pipelines: Path
) -> None:
    broker = f"127.0.0.1:{silent_broker.getsockname()[1]}"
    landing = subprocess.Popen(
        [FRAZIL, "land", "orders"],
        env={**os.environ, "FRAZIL_KAFKA__BOOTSTRAP_SERVERS": broker},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    with silent_broker.accept()[0]:  # it asks Kafka: it is at work
        landing.send_signal(signal.SIGINT)
        out, err = landing.communicate(timeout=PATIENCE)

    assert (landing.returncode, out) == (130, ""), err
    assert err.startswith("Stopped by Ctrl-C while landing local.orders.\n  Data: Nothing landed.\n  Next: ")
