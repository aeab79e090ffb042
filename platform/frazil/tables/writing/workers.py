"""How long files that Spark's Python workers wrote may wait for a commit."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from frazil.tables.commits.commit import LONGEST

if TYPE_CHECKING:
    from datetime import timedelta


def lifetime(orphans_after: timedelta) -> float:
    """Seconds within which files that no snapshot names are published, or never."""
    return min(orphans_after.total_seconds() / 2, LONGEST)


def latest_commit(orphans_after: timedelta, since: float | None = None) -> float:
    """Until when files are published that are written from now on, or since then; in seconds of the epoch."""
    return (time.time() if since is None else since) + lifetime(orphans_after)
