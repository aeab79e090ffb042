"""Waiting for a condition, never for a time."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE = 600.0
"""Seconds that one thing may take: it ends what hangs, and has nothing to say of a machine that is busy."""


def wait_for(condition: Callable[[], object], seconds: float = PATIENCE) -> None:
    """Returns as soon as the condition holds; fails the test where it never does."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds} s for {condition}"
        time.sleep(0.05)
