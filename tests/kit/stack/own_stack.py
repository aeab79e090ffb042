"""A stack of one's own, by the command line."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import psutil

from frazil.settings.profile import Settings
from frazil_local.home import Home
from frazil_local.parts import known_stack
from frazil_local.stack import Stack, Status
from kit.runs.shell import Output, run_here

T = TypeVar("T")

FRAZIL = Path(sys.executable).parent / "frazil"


def names_of_parts(stack: Stack) -> set[str]:
    return {each.name for each in stack.status()}


@dataclass(frozen=True, slots=True)
class Own:
    """A home, and the command line on it."""

    home: Home

    def frazil(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [FRAZIL, *arguments],
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def here(self, *arguments: str) -> Output:
        """The same in this process, which is quicker."""
        return run_here(*arguments, FRAZIL_HOME=str(self.home.root))

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "FRAZIL_HOME": str(self.home.root)}

    def up(self, *arguments: str) -> None:
        result = self.frazil("up", *arguments)
        assert result.returncode == 0, result.stderr

    @property
    def settings(self) -> Settings:
        return Settings.of_profile(self.home.profile)

    @property
    def parts(self) -> dict[str, Status]:
        """What `frazil status` tells, asked in this process: the command takes seconds to start."""
        return {part.name: part for part in known_stack(self.home).status()}

    @property
    def pids(self) -> dict[str, int]:
        return {name: part.pid or 0 for name, part in self.parts.items()}

    @property
    def processes(self) -> list[psutil.Process]:
        roots = [psutil.Process(pid) for pid in self.pids.values() if pid]
        return [each for root in roots for each in (root, *root.children(recursive=True))]

    @property
    def commands(self) -> list[str]:
        """What the process list shows of all that runs."""
        return [" ".join(command) for command in self._each(psutil.Process.cmdline)]

    @property
    def environments(self) -> list[dict[str, str]]:
        """What each process was told by variables."""
        return list(self._each(psutil.Process.environ))

    def _each(self, look: Callable[[psutil.Process], T]) -> Iterator[T]:
        for process in self.processes:
            with suppress(psutil.ZombieProcess, psutil.NoSuchProcess):  # a child that ended a moment ago
                yield look(process)
