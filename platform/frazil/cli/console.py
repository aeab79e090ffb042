"""What the command line says: tables, or one JSON document, on stdout; messages on stderr."""

from __future__ import annotations

import json
import logging
import os
import sys
import traceback
from collections.abc import Iterator
from typing import Any, NoReturn

import typer
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.measure import Measurement
from rich.table import Table
from stamina.instrumentation import set_on_retry_hooks

from frazil.errors import DEBUG, FaultError, FrazilError
from frazil.settings.profile import log_settings
from frazil.telemetry.logs import configure_logs, is_json

_log = logging.getLogger(__name__)

IDS = frozenset(
    {"snapshot_id", "from_snapshot_id", "accepted_snapshot", "rolled_back_to", "read_to", "head", "inputs"}
)
"""Names of snapshots' ids in documents; `inputs` may hold them by table."""

_PAPER = 1000  # width of a file or pipe
_PADDED = 100  # of columns in a pipe; cells that are wider stand out of theirs


def _console(*, stderr: bool) -> Console:
    """Colours and movement only on a terminal. Others write names and reasons: no markup."""
    width = None if (sys.stderr if stderr else sys.stdout).isatty() else _PAPER
    return Console(
        stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=True, width=width
    )  # fmt: skip


console = _console(stderr=True)
"""For messages, and for what moves."""

paper = _console(stderr=False)
"""For what was asked for."""


def prepare() -> None:
    """Logs as the settings say, and nothing else on stdout: before a command runs."""
    set_on_retry_hooks([])  # by default each retry is a line on stdout, where JSON belongs
    configure_logs(log_settings())


class Row(dict[str, Any]):
    """A row of a user's table: whatever its columns are called, none of them is an id of ours."""


def print_json(data: Any) -> None:
    """Prints the one JSON document of a command.

    Ids of snapshots are texts in it: jq and JavaScript round numbers beyond 2 ** 53.
    """
    sys.stdout.write(json.dumps(_for_scripts(data), indent=2, default=str) + "\n")


def print_json_line(data: Any) -> None:
    """Prints one of many JSON documents, on a line of its own, at once."""
    sys.stdout.write(json.dumps(_for_scripts(data), default=str) + "\n")
    sys.stdout.flush()


def _for_scripts(data: Any, *, is_id: bool = False) -> Any:
    if isinstance(data, Row):
        return data
    if isinstance(data, dict):
        return {k: _for_scripts(v, is_id=is_id or k in IDS) for k, v in data.items()}
    if isinstance(data, list | tuple):
        return [_for_scripts(each) for each in data]
    return str(data) if is_id and isinstance(data, int) else data


def print_table(table: Table, to: Console = paper) -> None:
    """Prints a table for people; one without rows says nothing.

    In a pipe a row is a line, for grep and awk: breaks within cells are written out. On a terminal that is
    too narrow each row becomes a block of lines; cells are folded, never cut.
    """
    if not table.row_count:
        return
    if not to.is_terminal:
        _print_lines(table, to)
        return
    for column in table.columns:
        column.overflow = "fold"
    needed = Measurement.get(to, to.options.update(max_width=_PAPER), table).minimum
    if needed > to.width:
        _print_blocks(table, to)
    else:
        to.print(table, soft_wrap=False)


def _print_lines(table: Table, to: Console) -> None:
    headers = [[_line(column.header) for column in table.columns]] if table.show_header else []
    rows = [*headers, *([_line(cell) for cell in row] for row in _rows(table))]
    widths = [min(max(map(cell_len, column)), _PADDED) for column in zip(*rows, strict=True)]
    for row in rows:
        padded = (cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True))
        to.print("  ".join(padded).rstrip())


def _line(cell: RenderableType) -> str:
    """What a cell says, its breaks written out."""
    return str(cell).replace("\r", "\\r").replace("\n", "\\n")


def _rows(table: Table) -> Iterator[tuple[RenderableType, ...]]:
    return zip(*(column.cells for column in table.columns), strict=True)


def _print_blocks(table: Table, to: Console) -> None:
    headers = [column.header for column in table.columns]
    for cells in _rows(table):
        block = Table.grid(padding=(0, 2))
        for header, cell in zip(headers, cells, strict=True):
            block.add_row(header, cell)
        to.print(block, "", soft_wrap=False)


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
