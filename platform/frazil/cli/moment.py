"""Times in a command's options: the state of a table that it goes back to, and how long something lasts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import typer
from pydantic import TypeAdapter, ValidationError

from frazil.spec.values import Duration


def moment_of(text: str) -> int | datetime:
    """Digits are a snapshot's id, all else is a time; one without an offset is UTC."""
    if text.isdecimal():
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        problem = f"{text!r} is neither a snapshot's id nor a time such as 2026-11-21T17:00."
        raise typer.BadParameter(problem) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def duration_of(text: str, option: str) -> timedelta:
    """A duration as pipelines write it, such as 12h; the error for any other text names the option."""
    try:
        return TypeAdapter[timedelta](Duration).validate_python(text)
    except ValidationError:
        raise typer.BadParameter(f"{option} {text!r} is no duration; write 30m, 12h or 7d.") from None
