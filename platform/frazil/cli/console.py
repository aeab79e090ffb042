"""What the command line says: to people on stderr, to scripts one JSON document on stdout."""

from __future__ import annotations

import json
import sys
from typing import Any

from rich.console import Console

__all__ = ["console", "print_json"]

console = Console(stderr=True, highlight=False, soft_wrap=True)
"""For people; colours and movement only on a terminal."""


def print_json(data: Any) -> None:
    """Prints the one JSON document of a command."""
    sys.stdout.write(json.dumps(data, indent=2, default=str) + "\n")
