"""What the command line says: to people on stderr, to scripts one JSON document on stdout."""

from __future__ import annotations

import json
import logging
import os
import sys
import traceback
from typing import Any, NoReturn

import typer
from rich.console import Console
from rich.table import Table
from stamina.instrumentation import set_on_retry_hooks

from frazil.errors import DEBUG, FaultError, FrazilError
from frazil.logs import configure_logs, is_json
from frazil.settings.profile import log_settings

_log = logging.getLogger(__name__)

_PAPER = 1000  # width of a file or pipe: wider than any table

console = Console(
    stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True,
    width=None if sys.stderr.isatty() else _PAPER,
)  # fmt: skip
"""For people; colours and movement only on a terminal. Others write names and reasons: no markup."""


def prepare() -> None:
    """Logs as the settings say, and nothing else on stdout: before a command runs."""
    set_on_retry_hooks([])  # by default each retry is a line on stdout, where JSON belongs
    configure_logs(log_settings())


def print_json(data: Any) -> None:
    """Prints the one JSON document of a command."""
    sys.stdout.write(json.dumps(data, indent=2, default=str) + "\n")


def print_table(table: Table) -> None:
    """Prints a table for people; where it is too wide its cells are folded, never cut."""
    for column in table.columns:
        column.overflow = "fold"
    console.print(table, soft_wrap=False)


def fail(error: FrazilError) -> NoReturn:
    """Ends a command that has printed its results, which are its one document."""
    complain(error)
    raise typer.Exit(error.exit_code)


def complain(error: FrazilError, tables: str = "") -> None:
    """Says what failed, and of which tables where that is not clear."""
    if is_json():
        extra = {"error": type(error).__name__, "tables": tables, **error.document}
        _log.error(error.what, extra=extra, exc_info=error.__cause__ if os.environ.get(DEBUG) else None)
        return
    headline, _, rest = str(error).partition("\n")
    console.print(f"{tables}: {headline}" if tables else headline, style="bold red")
    if rest:
        console.print(rest)
    if isinstance(error, FaultError) and os.environ.get(DEBUG):
        traceback.print_exception(error.__cause__)
