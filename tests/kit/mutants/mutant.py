"""A bug that is planted into a copy of the engine: one text of one module becomes another."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import frazil

__all__ = ["ENGINE", "SECONDS", "Copy", "Mutant"]

ENGINE = Path(frazil.__file__).parent
ROOT = ENGINE.parents[1]

SECONDS = 300
"""In which a copy must have done what it is to do."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A bug.

    Args:
        name: What is wrong, in words.
        mode: The scenario that comes by.
        file: The module, below the engine.
        old: The text that it has once.
        new: What stands there instead.
        finds: What the verifier finds then; nothing where the engine refuses its own work.
        caught: One of the tests without servers that fails then: its file below `tests`, and its name.
    """

    name: str
    mode: str
    file: str
    old: str
    new: str
    finds: tuple[str, ...]
    caught: str

    def planted(self, text: str) -> str:
        """The module with the bug; raises ValueError where the text is not there once."""
        if text.count(self.old) != 1:
            raise ValueError(f"{self.name}: {self.file} has {self.old!r} {text.count(self.old)} times")
        return text.replace(self.old, self.new)


@dataclass(frozen=True)
class Copy:
    """A copy of the engine in a folder that stands before the engine's own in the path."""

    folder: Path

    def make(self) -> None:
        """Copies the engine as it is."""
        shutil.copytree(ENGINE, self.folder / "frazil")

    def plant(self, mutant: Mutant) -> None:
        """Has a bug from now on."""
        file = self.folder / "frazil" / mutant.file
        file.write_text(mutant.planted(file.read_text()))

    @property
    def environment(self) -> dict[str, str]:
        """Of a process that takes this engine."""
        path = [self.folder, ENGINE.parent, ROOT, ROOT / "tests"]
        return os.environ | {"PYTHONPATH": ":".join(map(str, path))}

    def fails(self, test: str) -> bool:
        """Whether a test of the project fails; raises AssertionError where there is none of that name."""
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", f"tests/{test}"],
            cwd=ROOT, env=self.environment, capture_output=True, text=True, check=False, timeout=SECONDS,
        )  # fmt: skip
        assert done.returncode in (0, 1), done.stdout
        return done.returncode == 1
