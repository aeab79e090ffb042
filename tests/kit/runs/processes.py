"""Processes that end, or are killed. One that ended stays in the list until its parent asks for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress

import psutil

from frazil_local.process import lives
from kit.runs.waiting import PATIENCE, wait_for


def is_up(pid: int) -> bool:
    """Whether a process of that number runs."""
    with suppress(psutil.NoSuchProcess):
        return lives(psutil.Process(pid))
    return False


def wait_for_end(processes: Sequence[psutil.Process], seconds: float = PATIENCE) -> None:
    """Returns as soon as none runs; fails where one still does after so many seconds."""
    wait_for(lambda: not any(map(lives, processes)), seconds)
    psutil.wait_procs(processes, timeout=0)  # asks for our own children


def kill(processes: Iterable[psutil.Process]) -> None:
    """SIGKILL to all of them; returns when none runs."""
    killed = list(processes)
    for each in killed:
        with suppress(psutil.NoSuchProcess):
            each.kill()
    wait_for_end(killed)
