"""One server process: started detached, found again by its file, stopped with its children."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from frazil_local.home import write_private

_PATIENCE = 30.0  # seconds; Kafka needs it to close its logs; killed earlier, its next start recovers them
_PAUSE = 0.05
_BEHIND = 10  # added to our own nice value: a tenth of the CPU time of others, so that it always gets on
_NICEST = 19
_STEP = 3.0  # CPU seconds: in five minutes a JVM that has nothing to do uses less, a starved one more
_SAME = 2.0  # seconds by which two readings of one process's birth may differ when clocks are set


@dataclass(frozen=True, slots=True)
class Running:
    """A process that was started and not stopped; its birth tells it from a later one of that number."""

    pid: int
    born: float

    @property
    def process(self) -> psutil.Process | None:
        """The process, or nothing if it is gone."""
        try:
            process = psutil.Process(self.pid)
            same = abs(process.create_time() - self.born) < _SAME
            return process if same and lives(process) else None
        except psutil.Error:
            return None

    @property
    def family(self) -> list[psutil.Process]:
        """The process and its children; none if it is gone."""
        if (process := self.process) is None:
            return []
        try:
            return [process, *process.children(recursive=True)]
        except psutil.Error:
            return [process]

    @property
    def memory(self) -> int:
        """Bytes of memory that it and its children hold."""
        return int(_sum(self.family, lambda each: each.memory_info().rss))

    @property
    def cpu_seconds(self) -> float:
        """CPU time that it and its children have used."""
        return _sum(self.family, lambda each: each.cpu_times().user + each.cpu_times().system)


class Progress:
    """Whether a process makes progress: it writes to its log, or it uses the CPU for `step` seconds.

    It is looked at every `pause` seconds at most: a look goes through all processes of the machine.
    """

    def __init__(self, running: Running, log: Path, step: float = _STEP, pause: float = 0.0) -> None:
        self._running, self._log, self._step, self._pause = running, log, step, pause
        self._seen = self._now()
        self._at = self._looked = time.monotonic()

    @property
    def idle(self) -> float:
        """Seconds since progress was last seen."""
        moment = time.monotonic()
        if moment - self._looked >= self._pause:
            self._looked = moment
            if (now := self._now()) != self._seen:
                self._seen, self._at = now, moment
        return moment - self._at

    def _now(self) -> tuple[int, int]:
        written = self._log.stat().st_size if self._log.exists() else 0
        return written, int(self._running.cpu_seconds / self._step)


def start(
    command: Sequence[str], environment: Mapping[str, str], folder: Path, log: Path, file: Path
) -> Running:
    """Starts a process in a session of its own, so that it outlives the terminal.

    It works in `folder` and writes to `log`, beside which the log of the start before is kept. Which process
    it is stands in `file`. The command must hold no secrets, for everybody can read it.
    """
    if log.exists():
        log.replace(log.with_suffix(".previous.log"))
    with log.open("ab") as out:
        child = subprocess.Popen(
            command,
            env={**_surroundings(), **environment},
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            umask=0o077,
        )
    child.returncode = 0  # it is meant to outlive us: without this, Popen warns of it
    running = Running(child.pid, psutil.Process(child.pid).create_time())
    write_private(file, json.dumps({"pid": running.pid, "born": running.born}))
    return running


def _surroundings() -> dict[str, str]:
    """Our own environment without settings: secrets of other systems are none of a server's business."""
    return {name: value for name, value in os.environ.items() if not name.upper().startswith("FRAZIL_")}


def step_back(running: Running) -> None:
    """Lets all others have the CPU first; threads and children that come later inherit it."""
    if (process := running.process) is None:
        return
    nice = max(process.nice(), min(_NICEST, os.getpriority(os.PRIO_PROCESS, 0) + _BEHIND))
    process.nice(nice)
    for thread in Path(f"/proc/{running.pid}/task").glob("*"):  # Linux counts by threads
        with suppress(ProcessLookupError):
            os.setpriority(os.PRIO_PROCESS, int(thread.name), nice)
    # And it may share the CPU out among sessions first, and go by this within one only (sched_autogroup).
    with suppress(OSError):  # other systems, and kernels without it
        Path(f"/proc/{running.pid}/autogroup").write_text(str(nice))


def find(file: Path) -> Running | None:
    """What was started under this file; whether it still lives is another question."""
    try:
        noted = json.loads(file.read_text())
        return Running(noted["pid"], noted["born"])
    except (FileNotFoundError, ValueError, KeyError):
        return None


def stop(running: Running, file: Path, patience: float = _PATIENCE) -> None:
    """Gives a process some seconds to end, then kills it and its children; deletes its file."""
    family = running.family
    _each(psutil.Process.terminate, family[:1])
    _wait(family[:1], patience)
    left = [each for each in family if lives(each)]
    _each(psutil.Process.kill, left)
    _wait(left, _PATIENCE)
    file.unlink(missing_ok=True)


def _wait(processes: Sequence[psutil.Process], patience: float) -> None:
    """Until they ended. psutil's own waits for zombies, too, whose parent may have other work for minutes."""
    end = time.monotonic() + patience
    while any(map(lives, processes)) and time.monotonic() < end:
        time.sleep(_PAUSE)
    psutil.wait_procs(processes, timeout=0)  # reaps those that are our own


def lives(process: psutil.Process) -> bool:
    """Whether any of its threads runs: as long as one does, its ports are taken.

    A killed JVM is a zombie as soon as its first thread ended, and stays one until its parent asks for it.
    """
    with suppress(psutil.Error):
        ended = process.status() == psutil.STATUS_ZOMBIE and process.num_threads() == 1
        return bool(process.is_running() and not ended)
    return False


def log_tail(log: Path, lines: int = 15) -> str:
    """The last lines of a log."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - 8192))
            text = file.read().decode(errors="replace")
    except FileNotFoundError:
        return ""
    return "\n".join(text.splitlines()[-lines:])


def _sum(processes: Sequence[psutil.Process], measure: Callable[[psutil.Process], float]) -> float:
    total = 0.0
    for process in processes:
        with suppress(psutil.Error):
            total += measure(process)
    return total


def _each(act: Callable[[psutil.Process], None], processes: Sequence[psutil.Process]) -> None:
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            act(process)
