"""Files and folders that settings name."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator

from frazil.errors import ConfigureError


def expanded(given: Path) -> Path:
    """The path, in which `~` is the home of who runs Frazil, as a shell has it.

    Raises:
        ValueError: It is the home of a user whom this machine does not know.
    """
    try:
        return given.expanduser()
    except RuntimeError:
        raise ValueError("this machine knows no user of that name") from None


File = Annotated[Path, AfterValidator(expanded)]
"""A file or a folder, see `expanded`."""


def file_text(file: Path, what: str, kind: str, todo: str) -> str:
    """The text of a file that a setting names; a ConfigureError where it is not there, or of no such kind."""
    try:
        return file.read_text(encoding="ascii")
    except (OSError, ValueError) as e:
        raise ConfigureError(
            f"{what} can't be read.",
            where=f"{file}: {getattr(e, 'strerror', None) or f'this is no {kind}'}",
            todo=todo,
        ) from None
