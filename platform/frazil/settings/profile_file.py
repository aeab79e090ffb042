"""The profile as a file: where it is, and what it says."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from frazil.errors import MALFORMED, UsageError


def frazil_home() -> Path:
    """The folder that holds everything of one stack: `$FRAZIL_HOME`, or `.frazil` in the user's home."""
    return Path(os.environ.get("FRAZIL_HOME") or Path.home() / ".frazil").absolute()


def profile_path() -> Path:
    """The profile in force: `$FRAZIL_PROFILE`, or `profile.json` in `frazil_home()`."""
    return Path(os.environ.get("FRAZIL_PROFILE") or frazil_home() / "profile.json")


def read_profile(file: Path) -> dict[str, Any]:
    """What a profile file says, by the names of `Settings`; nothing where there is no such file."""
    try:
        document = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    except (OSError, *MALFORMED) as e:
        raise _no_profile(file, str(e)) from None
    if not isinstance(document, dict):
        raise _no_profile(file, f"it holds a JSON {type(document).__name__}")
    return document


def _no_profile(file: Path, why: str) -> UsageError:
    return UsageError(
        "The profile is not a JSON object.",
        where=f"{file}: {why}",
        todo="Fix it."
        if os.environ.get("FRAZIL_PROFILE")
        else "Fix it. If it is that of the embedded stack, and you wrote nothing into it, it may be "
        "deleted: `frazil up` writes it again.",
    )


def profile_in_force() -> dict[str, Any]:
    """What the profile in force says.

    Raises:
        UsageError: FRAZIL_PROFILE names no file, or the file is no JSON object.
    """
    if os.environ.get("FRAZIL_PROFILE") and not profile_path().is_file():
        raise UsageError(
            "There is no such profile.", where=f"FRAZIL_PROFILE={profile_path()}", todo="Fix FRAZIL_PROFILE."
        )
    return read_profile(profile_path())
