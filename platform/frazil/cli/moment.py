"""A state of a table that a command goes back to: a snapshot, or a time."""

from __future__ import annotations

from datetime import UTC, datetime

import typer


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
