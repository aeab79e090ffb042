"""Figures as people and scripts read them."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from rich.console import Console
from rich.table import Table

__all__ = ["Line", "console", "show"]

console = Console(stderr=True, width=None if sys.stderr.isatty() else 130)


@dataclass(frozen=True, slots=True)
class Line:
    """One figure."""

    figure: str
    value: float
    unit: str
    target: str = ""
    met: bool = True


def show(lines: Sequence[Line]) -> None:
    """A table on stderr, one line of JSON on stdout."""
    table = Table("figure", "value", "target")
    for line in lines:
        colour = "green" if line.met else "red"
        value = f"{line.value:,.2f} {line.unit}"
        table.add_row(line.figure, f"[{colour}]{value}" if line.target else value, line.target)
    console.print(table)
    sys.stdout.write(json.dumps([{**asdict(line), "value": round(line.value, 3)} for line in lines]) + "\n")
