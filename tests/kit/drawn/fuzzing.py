"""Gives a reader text that nobody foresaw, and asks that it answers, or refuses in words of its own.

FRAZIL_TEST_FUZZ says how many inputs each reader gets, FRAZIL_TEST_SEED which ones these are.
"""

from __future__ import annotations

import faulthandler
import gc
import math
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from frazil.errors import FaultError, FrazilError
from kit.drawn.mutation import Mutator

__all__ = ["COUNT", "SEED", "fuzz"]

COUNT = int(os.environ.get("FRAZIL_TEST_FUZZ", "100"))
SEED = int(os.environ.get("FRAZIL_TEST_SEED") or time.time_ns() % 100_000 if COUNT > 1000 else 11)

_CPU_SECONDS = 5.0
_DEAD_SECONDS = 120
"""Seconds until the process of a reader that nothing interrupts is ended, with a trace of where it hangs."""
_TOLD_SECONDS = 10
"""Between two signs of life; each costs a thread."""
_BYTES = 3 * 2**30
"""What one reader may take beyond what the process has."""

T = TypeVar("T")


class Hang(BaseException):
    """A reader that took too long."""


def fuzz(
    name: str,
    make: Callable[[Mutator], T],
    read: Callable[[T], object],
    writes: tuple[Path, ...] = (),
    at_once: int = 1,
) -> int:
    """Fails where an input ends in anything but a result or a FrazilError; how many were read to the end.

    Args:
        name: Of the reader; it is part of the seed.
        make: Makes an input.
        read: Reads it.
        writes: Folders that it may write to.
        at_once: How many inputs of the reader one of `make` holds.
    """
    faults: dict[str, str] = {}
    good, began, alive = 0, time.process_time(), -math.inf
    count = COUNT // at_once
    with tempfile.NamedTemporaryFile("w", prefix="fuzz-") as last, _watched(writes) as strays:
        print(
            f"{name}: {count * at_once} inputs, FRAZIL_TEST_SEED={SEED}; the last one is in {last.name}",
            flush=True,
        )
        for number in range(count):
            if time.monotonic() > alive + _TOLD_SECONDS:
                faulthandler.dump_traceback_later(_DEAD_SECONDS, exit=True, file=sys.__stderr__)
                alive = time.monotonic()
            given = make(Mutator(Random(f"{SEED} {name} {number}")))
            line = f"{number} {given!r}".encode("utf-8", "replace")
            os.ftruncate(last.fileno(), os.pwrite(last.fileno(), line, 0))
            try:
                with _limited():
                    read(given)
                good += 1
            except KeyboardInterrupt:
                raise
            except BaseException as e:  # noqa: BLE001 - that is what is looked for
                if not _is_told(e):
                    _note(faults, number, given, e)
            for event, what in strays:
                faults.setdefault(f"{event} left its place", f"  {what}\n  input {number}: {given!r:.700}")
            strays.clear()
    print(f"{name}: {good} of {count} to the end, {time.process_time() - began:.1f} s CPU", flush=True)
    assert not faults, f"{len(faults)} kinds of faults:\n" + "\n\n".join(
        f"{k}\n{v}" for k, v in faults.items()
    )
    return good


def _is_told(error: BaseException) -> bool:
    """Whether it is a refusal, in words that any terminal shows and none obeys."""
    is_expected = isinstance(error, FrazilError) and not isinstance(error, FaultError)
    return is_expected and str(error).replace("\n", "").isprintable()


def _note(faults: dict[str, str], number: int, given: object, error: BaseException) -> None:
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if "/platform/" in f.filename] or frames
    place = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}"
    key = f"{type(error).__name__} at {place}"
    if key not in faults:
        last = frames[-1]
        faults[key] = f"  {error!s:.300}\n  {last.filename}:{last.lineno}\n  input {number}: {given!r:.700}"


@contextmanager
def _limited() -> Iterator[None]:
    """Ends what takes too long: the processor's time counts, for the machine may have other things to do."""
    signal.setitimer(signal.ITIMER_PROF, _CPU_SECONDS, 0.5)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


@contextmanager
def _watched(writes: tuple[Path, ...]) -> Iterator[list[tuple[str, str]]]:
    """What was done in the meantime that no reader may do: programs started, files written, others called."""

    def hang(*_: Any) -> None:
        raise Hang(f"not done after {_CPU_SECONDS} s")

    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    handler = signal.signal(signal.SIGPROF, hang)
    resource.setrlimit(resource.RLIMIT_DATA, (_taken() + _BYTES, hard))
    gc.collect()  # folders of tests before go with what holds them, and not while a reader is watched
    _HOUSE.begin(writes)
    try:
        yield _HOUSE.strays
    finally:
        _HOUSE.end()
        faulthandler.cancel_dump_traceback_later()
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
        signal.signal(signal.SIGPROF, handler)


def _taken() -> int:
    pages = Path("/proc/self/statm").read_text().split()[5]
    return int(pages) * resource.getpagesize()


_STARTS = {
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.spawn",
    "subprocess.Popen",
    "pty.spawn",
    "os.kill",
    "webbrowser.open",
    "ftplib.connect",
    "smtplib.connect",
    "telnetlib.Telnet.open",
}
_WRITES = {
    "open",
    "os.mkdir",
    "os.remove",
    "os.rmdir",
    "os.truncate",
    "os.rename",
    "os.link",
    "os.symlink",
    "os.chmod",
    "shutil.rmtree",
}
_NEAR = ("127.0.0.1", "localhost", "::1")


class _House:
    """Hears of what Python does, by an audit hook, which nobody can take away again."""

    def __init__(self) -> None:
        self.strays: list[tuple[str, str]] = []
        self._writes: tuple[str, ...] | None = None
        self._installed = False

    def begin(self, writes: tuple[Path, ...]) -> None:
        if not self._installed:
            sys.addaudithook(self._hear)
            self._installed = True
        self._writes = ("/dev/null", *(str(path.resolve()) for path in writes))

    def end(self) -> None:
        self._writes = None

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self._writes is None:
            return
        if event in _STARTS or (event in _WRITES and not self._may_write(event, arguments)):
            self.strays.append((event, f"{arguments!r:.200}"))
        elif event in ("socket.connect", "socket.getaddrinfo"):
            host = arguments[1] if event == "socket.connect" else arguments[0]
            host = host[0] if isinstance(host, tuple) else host
            if str(host) not in _NEAR and not str(host).startswith("/"):
                self.strays.append((event, repr(host)))

    def _may_write(self, event: str, arguments: tuple[Any, ...]) -> bool:
        path = arguments[0]
        if isinstance(path, int) or (event in ("os.remove", "os.rmdir", "os.mkdir") and arguments[-1] != -1):
            return True  # within a folder that is open already
        text = os.fsdecode(path) if isinstance(path, bytes | os.PathLike) else str(path)
        flags = arguments[2] if event == "open" and isinstance(arguments[2], int) else os.O_WRONLY
        if not flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            return "passwd" not in text
        real = os.path.realpath(text)
        return "__pycache__" in real or any(real == w or real.startswith(f"{w}/") for w in self._writes or ())


_HOUSE = _House()
