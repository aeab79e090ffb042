"""The embedded stack that the tests share: a home and ports of its own, nothing of the developer's.

Kept between runs: `FRAZIL_TEST_KEEP=1`, and `FRAZIL_TEST_HOME` to say where. A stack that ran before
is left running.
"""

from __future__ import annotations

import fcntl
import getpass
import os
import random
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from frazil_local.home import Home
from frazil_local.parts import known_stack, prepared_stack
from frazil_local.ports import DEFAULTS, is_taken, recall

__all__ = ["all_parts_alike", "bring_down", "bring_up", "free_offset", "is_to_stay", "shared_home"]

_OFFSETS = range(1000, 17_000, 7)  # beyond, Linux hands ports out to clients


def shared_home() -> Home:
    """The folder of the tests' stack."""
    default = Path(tempfile.gettempdir()) / f"frazil-tests-{getpass.getuser()}"
    return Home(Path(os.environ.get("FRAZIL_TEST_HOME") or default).absolute())


def is_to_stay(home: Home) -> bool:
    """Whether the stack shall go on after the tests; to be asked before they start."""
    return bool(os.environ.get("FRAZIL_TEST_KEEP")) or known_stack(home).is_running()


def free_offset() -> int:
    """An offset at which no default port is taken, found at random so that two seldom agree."""
    for offset in random.sample(_OFFSETS, len(_OFFSETS)):
        if not any(is_taken(port + offset) for port in DEFAULTS.values()):
            return offset
    raise AssertionError("no offset leaves all ports of a stack free")


@contextmanager
def all_parts_alike() -> Iterator[None]:
    """Puts upkeep's Spark behind no other process: beside tests it took minutes to write one file."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("frazil_local.stack.step_back", lambda _: None)
        yield


def bring_up(home: Home, *, locked: bool | None = None, without: Collection[str] = ()) -> None:
    """Starts what does not run; of several processes that try, the first one chooses ports and starts all.

    Args:
        locked: Whether its parts ask who is there; None leaves that as it is.
        without: Parts that nobody needs.
    """
    home.make()
    with (home.root / "tests.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        offset = None if home.ports.exists() and _is_its_own(home) else free_offset()
        with all_parts_alike():
            stack = prepared_stack(home, {}, offset, locked)
            needed = [part.name for part in stack.status() if part.name not in without] if without else ()
            stack.up(lambda *_: None, needed)


def _is_its_own(home: Home) -> bool:
    """Whether the ports of a home's last start are its own: its stack runs, or nothing listens there."""
    return known_stack(home).is_running() or not any(map(is_taken, recall(home.ports).values()))


def bring_down(home: Home) -> None:
    """Stops the stack, and deletes its data."""
    stack = known_stack(home)
    stack.down(lambda *_: None)
    stack.wipe()
