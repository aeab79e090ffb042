"""What a process holds of what may run out."""

from __future__ import annotations

import tempfile
from pathlib import Path

import psutil


def open_now() -> dict[str, int]:
    """How much of each, of this process."""
    process = psutil.Process()
    return {
        "descriptors": process.num_fds(),
        "threads": process.num_threads(),
        "memory": process.memory_info().rss,
        "temporary": len(list(Path(tempfile.gettempdir()).iterdir())),
    }
