"""What the command line says: to people on stderr, to scripts one JSON document on stdout."""

from __future__ import annotations

import json
import sys
from typing import Any

from rich.console import Console
from rich.table import Table

__all__ = ["console", "print_json", "print_table"]

_PAPER = 1000
"""Width of a file or pipe: wider than any table."""

console = Console(stderr=True, highlight=False, soft_wrap=True, width=None if sys.stderr.isatty() else _PAPER)
"""For people; colours and movement only on a terminal."""


def print_json(data: Any) -> None:
    """Prints the one JSON document of a command."""
    sys.stdout.write(json.dumps(data, indent=2, default=str) + "\n")


def print_table(table: Table) -> None:
    """Prints a table for people; where it is too wide its cells are folded, never cut."""
    for column in table.columns:
        column.overflow = "fold"
    console.print(table, soft_wrap=False)
