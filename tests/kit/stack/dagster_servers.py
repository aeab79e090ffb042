"""Dagster's own servers, on the checkout's workspace.yaml or in a project of dg's."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import psutil
import requests

import frazil
from kit.runs.processes import kill, wait_for_end
from kit.runs.waiting import wait_for

ROOT = Path(frazil.__file__).parents[2]


@contextmanager
def serving(command: Sequence[str], home: Path, port: int, project: Path | None = None) -> Iterator[None]:
    """Runs a server until the context ends: `serving(["dagster", "dev"], home, port)`."""
    program = str(Path(sys.executable).with_name(command[0]))
    what = [] if project else ["-w", str(ROOT / "workspace.yaml")]
    where = [*what, "--host", "127.0.0.1", "--port", str(port)]
    with (home / "server.log").open("wb") as log:
        server = subprocess.Popen(
            [program, *command[1:], *where],
            cwd=project or home,
            env={**os.environ, "DAGSTER_HOME": str(home)},
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # a background job of a shell would ignore SIGINT
        )
        try:
            wait_for(lambda: answers(port))
            yield
        finally:
            end(psutil.Process(server.pid))
            server.wait()


def end(server: psutil.Process) -> None:
    """As Ctrl-C would; a shell's background job ignores that, and its children outlive it."""
    family = [server, *server.children(recursive=True)]
    server.send_signal(signal.SIGINT)
    with suppress(AssertionError):
        wait_for_end(family, seconds=60)
    kill(family)


def free_port() -> int:
    return free_ports(1)[0]


def free_ports(count: int) -> list[int]:
    """So many ports, no two alike: one that was let go may be given out again at once."""
    with ExitStack() as opened:
        listeners = [opened.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [listener.getsockname()[1] for listener in listeners]


def answers(port: int) -> bool:
    try:
        return requests.get(f"http://127.0.0.1:{port}/server_info", timeout=60).ok
    except (requests.ConnectionError, requests.Timeout):
        return False
