"""protoc in a process that stays: Python takes 200 ms to start, and protoc 3."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

__all__ = ["RunProtoc", "ready_protoc"]

RunProtoc = Callable[..., subprocess.CompletedProcess[bytes]]

_SERVER = """
import json, os, resource, sys, time
from grpc_tools import protoc

def work(seconds, most):
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    for line in sys.stdin:
        folder, arguments = json.loads(line)
        os.chdir(folder)
        told = os.open("told", os.O_CREAT | os.O_WRONLY)
        os.dup2(told, 2)
        os.close(told)
        end = int(time.process_time()) + 1 + seconds
        resource.setrlimit(resource.RLIMIT_CPU, (end, resource.RLIM_INFINITY))
        print(protoc.main(["protoc", *arguments]), flush=True)

while not (child := os.fork()) or (ended := os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])):
    if not child:
        work(*map(int, sys.argv[1:]))
        os._exit(0)
    print(ended, flush=True)
"""
"""Reads what protoc is to do, line by line, and tells how it ended; one that it killed has a successor."""
_SECONDS, _BYTES = 5, 3 * 2**30
"""What one schema may take of the processor's time, and of memory."""


@contextmanager
def ready_protoc() -> Iterator[RunProtoc]:
    """Does what `subprocess.run` does with protoc, but for a schema that takes too long: that is a fault."""
    command = [sys.executable, "-c", _SERVER, str(_SECONDS), str(_BYTES)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin
        assert server.stdout
        asked, answers = server.stdin, server.stdout
        yield lambda command, *, cwd, **_: _run(asked, answers, command, cwd)


def _run(
    asked: IO[str], answers: IO[str], command: Sequence[str], cwd: Path
) -> subprocess.CompletedProcess[bytes]:
    assert list(command[:3]) == [sys.executable, "-m", "grpc_tools.protoc"]
    print(json.dumps([str(cwd), command[3:]]), file=asked, flush=True)
    code = int(answers.readline())
    assert code != -signal.SIGXCPU, f"protoc was not done after {_SECONDS} s"
    return subprocess.CompletedProcess[Any](command, code, b"", (cwd / "told").read_bytes())
