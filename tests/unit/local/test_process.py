from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import stamina

from frazil_local.process import Running, find, log_tail, start, step_back, stop
from kit.runs.processes import is_up, kill
from kit.runs.waiting import PATIENCE, wait_for

SLEEP = "import time; time.sleep(600)"
THREADS = """
import threading, time
threading.Thread(target=time.sleep, args=(600,)).start()
print("ready", flush=True)
"""
BEHEADED = """
import ctypes, threading, time
threading.Thread(target=time.sleep, args=(600,)).start()
print("ready", flush=True)
ctypes.CDLL(None).pthread_exit(None)
"""
STUBBORN = """
import signal, subprocess, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(child.pid, flush=True)
child.wait()
"""


class Started:
    """Starts Python programs the way servers are started."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.log, self.file = folder, folder / "part.log", folder / "part.json"

    def __call__(self, code: str, **environment: str) -> Running:
        command = (sys.executable, "-c", code)
        return start(command, environment, self.folder, self.log, self.file)


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Started]:
    yield (program := Started(tmp_path))
    if left := find(program.file):
        stop(left, program.file)


@stamina.retry(on=AssertionError, attempts=None, timeout=PATIENCE, wait_initial=0.02, wait_max=0.1)
def wait_for_output(log: Path, text: str) -> None:
    assert text in log_tail(log)


def test_a_started_process_is_found_again_by_its_file(started: Started) -> None:
    running = started(SLEEP)

    assert find(started.file) == running
    assert running.process


def test_it_is_the_leader_of_a_session_of_its_own(started: Started) -> None:
    assert os.getsid(started(SLEEP).pid) != os.getsid(0)


def test_it_gets_its_environment_beside_ours(started: Started) -> None:
    started("import os; print(os.environ['ANSWER'], os.environ['PATH'])", ANSWER="42")

    wait_for_output(started.log, f"42 {os.environ['PATH']}")


def test_one_that_stepped_back_lets_all_others_have_the_cpu_first_with_each_of_its_threads(
    started: Started,
) -> None:
    running = started(THREADS)
    wait_for_output(started.log, "ready")

    step_back(running)

    threads = [thread.id for thread in psutil.Process(running.pid).threads()]
    assert len(threads) == 2
    assert min(map(nice, threads)) > nice(os.getpid())


def nice(pid: int) -> int:
    return os.getpriority(os.PRIO_PROCESS, pid)


@pytest.mark.skipif(not Path("/proc/self/autogroup").exists(), reason="this system has no groups of sessions")
def test_one_that_stepped_back_does_so_as_a_session(started: Started) -> None:
    running = started(SLEEP)

    step_back(running)

    assert int(Path(f"/proc/{running.pid}/autogroup").read_text().split()[-1]) == nice(running.pid)


def test_one_that_is_gone_cannot_step_back(started: Started) -> None:
    running = started(SLEEP)
    kill([psutil.Process(running.pid)])

    step_back(running)

    assert running.process is None


def test_its_log_is_for_its_owner_and_the_one_before_is_kept(started: Started) -> None:
    for word in ("first", "second"):
        running = started(f"print({word!r})")
        wait_for_output(started.log, word)
        stop(running, started.file)

    assert "first" in (started.folder / "part.previous.log").read_text()


def test_what_ran_in_this_process_before_lets_servers_hear_that_they_shall_stop() -> None:
    """What is ignored here is ignored by all that is started here."""
    assert signal.getsignal(signal.SIGTERM) is not signal.SIG_IGN


def test_a_stopped_process_is_gone_and_so_is_its_file(started: Started) -> None:
    running = started(SLEEP)

    stop(running, started.file)

    assert not is_up(running.pid)
    assert find(started.file) is None


def test_a_killed_process_is_known_to_be_gone(started: Started) -> None:
    running = started(SLEEP)

    kill([psutil.Process(running.pid)])

    assert find(started.file) == running
    assert running.process is None
    assert running.memory == 0


def test_a_number_used_again_by_another_process_is_not_taken_for_ours(started: Started) -> None:
    with subprocess.Popen([sys.executable, "-c", SLEEP]) as stranger:
        started.file.write_text(json.dumps({"pid": stranger.pid, "born": 12345.0}))
        process = find(started.file)
        assert process
        stop(process, started.file)

        assert stranger.poll() is None
        stranger.kill()


def test_one_that_ignores_the_signal_is_killed_with_its_children(started: Started) -> None:
    running = started(STUBBORN)
    child = int(first_line(started.log))

    stop(running, started.file, patience=0.2)

    assert not is_up(running.pid)
    assert not is_up(child)


@stamina.retry(on=IndexError, attempts=None, timeout=PATIENCE, wait_initial=0.02, wait_max=0.1)
def first_line(log: Path) -> str:
    return log.read_text().splitlines()[0]


def test_one_whose_first_thread_ended_runs_until_the_last_one_did(started: Started) -> None:
    running = started(BEHEADED)
    wait_for_output(started.log, "ready")
    process = psutil.Process(running.pid)
    wait_for(lambda: process.status() == psutil.STATUS_ZOMBIE)

    assert running.process == process
    stop(running, started.file)
    assert running.process is None


def test_the_end_of_a_log_is_its_last_lines(tmp_path: Path) -> None:
    log = tmp_path / "part.log"
    log.write_text("".join(f"line {n}\n" for n in range(10_000)))

    assert log_tail(log, 2) == "line 9998\nline 9999"


def test_a_log_that_was_never_written_has_no_end(tmp_path: Path) -> None:
    assert log_tail(tmp_path / "part.log") == ""


def test_settings_of_whoever_starts_it_are_none_of_a_servers(
    started: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FRAZIL_ALARMS__SLACK", "https://hooks.test/a-secret")
    monkeypatch.setenv("OF_THE_SHELL", "yes")

    started("import os; print(dict(os.environ), 'all')", FRAZIL_PART_PORT="1")

    wait_for_output(started.log, " all")
    log = started.log.read_text()
    assert "'OF_THE_SHELL': 'yes'" in log
    assert "'FRAZIL_PART_PORT': '1'" in log
    assert "a-secret" not in log
