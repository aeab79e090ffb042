"""The stack: all parts of one home, started in parallel, stopped in reverse, looked at together."""

from __future__ import annotations

import fcntl
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from frazil.errors import FrazilError, PartDownError, UsageError
from frazil_local.home import Home
from frazil_local.locks import locks_of
from frazil_local.ports import Ports, is_taken, taken
from frazil_local.process import Progress, Running, find, log_tail, start, step_back, stop
from frazil_local.server import Server

Report = Callable[[str, str], None]
"""Is told a part's name and what is happening to it."""

State = Literal["up", "ill", "dead", "down"]
"""Up: it answers; ill: it runs, but does not answer; dead: it was started and is gone; down: not started."""

_PAUSE, _LONGEST_PAUSE = 0.1, 0.5  # seconds


@dataclass(frozen=True, slots=True)
class Status:
    """How one part is, in one word and in one sentence; its memory in bytes, with that of its children."""

    name: str
    state: State
    text: str
    port: int
    pid: int | None
    memory: int
    log: Path


class Stack:
    """All parts of one home; each stands behind those it starts after."""

    def __init__(self, home: Home, ports: Ports, servers: Sequence[Server]) -> None:
        self.home = home
        self.ports = ports
        self._servers = servers
        self._given_up = threading.Event()

    @property
    def locked(self) -> bool:
        """Whether its parts ask who is there, and show certificates."""
        return locks_of(self.home) is not None

    def up(self, report: Report, only: Collection[str] = ()) -> None:
        """Starts parts that do not run, by default of all; waits for a slow one as long as it moves.

        Several threads report. Raises PartDownError, with the end of its log, where a part did not come up.
        """
        servers = self._chosen(only)
        self._given_up.clear()
        with self._locked(report, servers):
            states = self._states(servers)
            troubled = [each for each in servers if states[each.name].state != "up"]
            missing = [each for each in troubled if not self._recovers(each, report)]
            for server in servers:
                report(server.name, "waiting" if server in missing else "up")
            for server in missing:
                self._clear_way(server)
            self._start_all(missing, report)

    def down(self, report: Report, only: Collection[str] = ()) -> None:
        """Stops what runs, users before what they use; for the arguments see `up`."""
        servers = self._chosen(only)
        if not self.home.root.exists():
            return
        with self._locked(report, servers), ThreadPoolExecutor(len(servers)) as threads:
            for wave in _waves(servers):
                list(threads.map(lambda each: self._stop(each, report), wave))

    def wipe(self) -> None:
        """Deletes all data of a stack that is down."""
        if not self.home.root.exists():
            return
        with self._locked(lambda *_: None, ()):
            self.home.wipe()

    def status(self, only: Collection[str] = ()) -> list[Status]:
        """How each part is, by asking it."""
        return list(self._states(self._chosen(only)).values())

    def log_of(self, part: str) -> Path:
        """The file that a part of that name writes its log to."""
        (server,) = self._chosen([part])
        return self._log(server)

    def is_running(self) -> bool:
        """Whether a process of any part lives."""
        return any(self._alive(each) for each in self._servers)

    def _chosen(self, only: Collection[str]) -> list[Server]:
        known = [each.name for each in self._servers]
        if unknown := sorted(set(only).difference(known)):
            problem = f"The stack has no part {', '.join(unknown)}."
            raise UsageError(problem, todo=f"Its parts are {', '.join(known)}.")
        return [each for each in self._servers if not only or each.name in only]

    @contextmanager
    def _locked(self, report: Report, servers: Sequence[Server]) -> Iterator[None]:
        """One process at a time starts and stops parts."""
        self.home.make()
        with self.home.lock.open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                for server in servers:
                    report(server.name, "waiting for another frazil that is at work here")
                fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _states(self, servers: Sequence[Server]) -> dict[str, Status]:
        with ThreadPoolExecutor(len(servers)) as threads:
            return {each.name: each for each in threads.map(self._state, servers)}

    def _state(self, server: Server) -> Status:
        running = self._alive(server)
        state, text = self._judge(server, running)
        pid, memory = (running.pid, running.memory) if running else (None, 0)
        port = self.ports[server.ports[0]]
        return Status(server.name, state, text, port, pid, memory, self._log(server))

    def _judge(self, server: Server, running: Running | None) -> tuple[State, str]:
        if running is None:
            crashed = find(self._file(server)) is not None
            return ("dead", "crashed") if crashed else ("down", "not started")
        problem = _problem(server)
        return ("ill", f"does not answer: {problem}") if problem else ("up", "answers")

    def _recovers(self, server: Server, report: Report) -> bool:
        """Whether a part that runs was only busy: starting it anew would cost the work it does."""
        if (running := self._alive(server)) is None:
            return False
        report(server.name, "runs, but does not answer yet")
        return not self._wait(server, running, report)

    def _clear_way(self, server: Server) -> None:
        """Ends what is left of a part, and makes sure that its ports are free."""
        if (left := find(self._file(server))) is not None:
            stop(left, self._file(server))
        for name in server.ports:
            if is_taken(self.ports[name]):
                raise taken(server.name, name, self.ports[name])

    def _start_all(self, servers: Sequence[Server], report: Report) -> None:
        starting: dict[str, Future[None]] = {}

        def begin(server: Server) -> None:
            for needed in server.after:
                if needed in starting:
                    starting[needed].result()
            self._start(server, report)

        with ThreadPoolExecutor(max(len(servers), 1)) as threads:
            for server in servers:
                starting[server.name] = threads.submit(begin, server)
            try:
                wait(starting.values())
            except BaseException:  # Ctrl-C: the threads must not go on waiting
                self._given_up.set()
                raise
        errors = [error for each in starting.values() if (error := each.exception())]
        if errors:
            raise next((each for each in errors if isinstance(each, FrazilError)), errors[0])

    def _start(self, server: Server, report: Report) -> None:
        report(server.name, "getting ready")
        launch = server.launch()
        report(server.name, "starting")
        log, file = self._log(server), self._file(server)
        running = start(launch.command, launch.environment, self.home.scratch, log, file)
        if problem := self._wait(server, running, report):
            report(server.name, "failed")
            raise PartDownError(
                f"{server.name} did not start: {problem}.",
                where=f"{log} ends with\n{log_tail(log)}",
                meaning="What was stored stays as it is; the other parts keep running.",
                todo="Fix what the log says, then `frazil up` again.",
            )
        report(server.name, "up")

    def _wait(self, server: Server, running: Running, report: Report) -> str:
        """Waits for a good answer as long as the process moves; says what is wrong if there is none."""
        progress = Progress(running, self._log(server), pause=server.patience / 10)
        began = time.monotonic()
        while problem := _problem(server):
            if running.process is None:
                return "its process ended"
            if progress.idle > server.patience:
                idle = f"neither wrote to its log nor used the CPU for {server.patience:.0f} s"
                return f"its process {idle}, and gives no good answer ({problem})"
            report(server.name, f"waiting for a good answer: {problem}")
            if self._given_up.wait(_pause(time.monotonic() - began)):
                return "nobody waits for it any more"
        if server.background:  # not before: on a busy machine it would not be up in time
            step_back(running)
        return ""

    def _stop(self, server: Server, report: Report) -> None:
        if (running := find(self._file(server))) is not None:
            report(server.name, "stopping")
            stop(running, self._file(server))
        report(server.name, "down")

    def _alive(self, server: Server) -> Running | None:
        running = find(self._file(server))
        return running if running and running.process else None

    def _file(self, server: Server) -> Path:
        return self.home.running / f"{server.name}.json"

    def _log(self, server: Server) -> Path:
        return self.home.logs / f"{server.name}.log"


def _pause(waited: float) -> float:
    """Seconds until a part that starts is looked at again: each look takes CPU that the part needs."""
    return min(max(_PAUSE, waited / 20), _LONGEST_PAUSE)


def _problem(server: Server) -> str:
    """What is wrong with a server's answer, or nothing."""
    try:
        server.ask()
    except Exception as e:  # noqa: BLE001  whatever a client raises, the server is not up
        return str(e).strip() or type(e).__name__
    return ""


def _waves(servers: Sequence[Server]) -> Iterator[list[Server]]:
    """Groups of parts that may be stopped together, in order: no running part uses one that is stopped."""
    left = list(servers)
    while left:
        used = {name for each in left for name in each.after}
        wave = [each for each in left if each.name not in used]
        yield wave
        left = [each for each in left if each not in wave]
