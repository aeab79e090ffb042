"""The folder of one stack, and what lies where in it."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from frazil.errors import ConfigureError

__all__ = ["Home", "write_private"]


class Home:
    """Everything of one stack lies under an absolute path, `root`; two stacks have two roots."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.profile = root / "profile.json"  # what clients need to know, credentials included
        self.ports = root / "stack.json"  # the ports chosen, remembered from one start to the next
        self.lock = root / "stack.lock"  # held by whoever starts or stops parts
        self.running = root / "run"  # one file for each part that was started and not stopped
        self.logs = root / "logs"  # one for each part, and the log of its previous start
        self.secrets = root / "secrets"  # keys; nobody else may enter
        self.dagster = root / "dagster"  # DAGSTER_HOME
        self.scratch = root / "tmp"  # temporary files of the servers, emptied by nobody but `wipe`

    def data(self, part: str) -> Path:
        """The folder of one part's data; made if missing."""
        return _folder(self.root / "data" / part)

    def make(self) -> None:
        """Makes the folders that every part needs."""
        try:
            for folder in (self.root, self.secrets, self.running, self.logs, self.scratch):
                _folder(folder)
        except OSError as e:
            raise ConfigureError(
                "The folder of the stack can't be made.",
                where=str(e),
                todo="Set FRAZIL_HOME to a folder that you may write to.",
            ) from None

    def wipe(self) -> None:
        """Deletes all that a stack keeps, except its choice of ports."""
        for folder in (self.secrets, self.running, self.logs, self.scratch, self.dagster):
            shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(self.root / "data", ignore_errors=True)
        self.profile.unlink(missing_ok=True)


def write_private(path: Path, text: str, *, once: bool = False) -> None:
    """Writes a file in one step; only its owner can ever read it.

    With `once` a file is left alone that is there already, even if it came this instant.
    """
    descriptor, draft = tempfile.mkstemp(dir=path.parent)  # mode 0600
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    if once:
        with suppress(FileExistsError):
            path.hardlink_to(draft)
        Path(draft).unlink()
    else:
        Path(draft).replace(path)


def _folder(path: Path) -> Path:
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path
