"""`frazil drift`: what the targets of tables show beside the tables themselves, and bringing it in step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import groupby
from typing import Annotated, Any

import typer
from rich.table import Table

from frazil.checks.targets.drift import Drift
from frazil.checks.targets.finding import find_drift, repair_drift
from frazil.cli.console import console, fail, print_json, print_table
from frazil.cli.results import Results
from frazil.cli.selection import Json, Selection, Tables, select
from frazil.errors import FrazilError
from frazil.reporting import is_news
from frazil.spec.names import things
from frazil.spec.table import AnyTable

app = typer.Typer()

_NAMED = 3  # tables that a line names

Repair = Annotated[
    bool,
    typer.Option("--repair", help="Publish the tables where that brings a target in step."),
]

Rows = Annotated[
    bool,
    typer.Option(
        "--rows",
        help="Also count the rows that each target shows: in Snowflake by a SELECT COUNT(*) for each table, "
        "and by Spark where a table has delete files; and say when Snowflake refreshed it last.",
    ),
]


@app.command("drift")
def drift_command(
    tables: Tables = None, rows: Rows = False, repair: Repair = False, as_json: Json = False
) -> None:
    """Compare what Glue, Snowflake and other targets show with the tables. Exit code 1 if one differs."""
    selection = select(tables, every=not tables)
    drifts = find_drift(selection.specs, selection.connections, counts=rows)
    if repair:
        drifts = [drift for spec in selection.specs for drift in _repaired(spec, drifts, selection)]
    print_json([_row_of(drift) for drift in drifts]) if as_json else _show(drifts, counts=rows)
    down = {drift.table: drift.error for drift in drifts if drift.state == "down" and drift.error}
    Results[Drift](failed={**selection.broken, **down}).exit()
    if left := sum(drift.differs for drift in drifts):
        todo = "Read what each line above says." if repair else "`frazil drift --repair` fixes what it may."
        fail(FrazilError(f"{left} of {len(drifts)} targets of tables are not in step.", todo=todo))


def _repaired(spec: AnyTable, drifts: Iterable[Drift], selection: Selection[AnyTable]) -> list[Drift]:
    name = str(things(spec, selection.connections.settings).table)
    own = [drift for drift in drifts if drift.table == name]
    repaired, shown = repair_drift(spec, own, selection.connections.of(spec))
    if is_news(shown):
        selection.tell(spec, shown)
    return repaired


def _row_of(drift: Drift) -> dict[str, Any]:
    row = {name: value for name, value in asdict(drift).items() if name != "error"}
    return {**row, "differs": drift.differs}


def _show(drifts: Sequence[Drift], *, counts: bool) -> None:
    """A row for each that differs; for all of them where rows were counted."""
    shown = [drift for drift in drifts if counts or drift.differs or drift.repaired]
    if shown:
        table = Table("table", "target", "shown as", "state", "snapshots behind", "seconds behind")
        for name in ("rows", "rows shown", "refreshed") if counts else ():
            table.add_column(name)
        for d in shown:
            numbers = (d.snapshots, d.seconds, *((d.rows, d.rows_shown) if counts else ()))
            texts = ("?" if n is None else f"{n:,.0f}" for n in numbers)
            at = ("" if d.refreshed is None else _time(d.refreshed),) if counts else ()
            table.add_row(d.table, d.target, d.name, "repaired" if d.repaired else d.state, *texts, *at)
        print_table(table)
    for line in _causes(drift for drift in drifts if drift.differs):
        console.print(line)
    console.print(f"{sum(not d.differs for d in drifts):,} of {len(drifts):,} targets of tables are in step.")


def _causes(drifts: Iterable[Drift]) -> Iterator[str]:
    """A line for each cause."""
    for (state, why), same in groupby(sorted(drifts, key=_cause), _cause):
        own = list(same)
        names = ", ".join(f"{drift.target} {drift.name}" for drift in own[:_NAMED])
        more = f" and {len(own) - _NAMED:,} more" if len(own) > _NAMED else ""
        yield f"{state}{_since(own)}: {names}{more}: {why.rstrip('.')}. {own[0].todo}"


def _since(drifts: Iterable[Drift]) -> str:
    """Since when the first of them is so, as far as anybody knows."""
    known = [drift.since for drift in drifts if drift.since is not None]
    return f" since {_time(min(known))}" if known else ""


def _time(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%F %T} UTC"


def _cause(drift: Drift) -> tuple[str, str]:
    return drift.state, drift.why
