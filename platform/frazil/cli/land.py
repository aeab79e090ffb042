"""`frazil land` and `frazil sync`: doing what the assets do, from a shell."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from frazil.cli.console import console, print_json, print_table
from frazil.cli.results import OnStep, each, run_id
from frazil.cli.selection import AllTables, Json, Tables, select, select_topics
from frazil.connections import Connections
from frazil.formats.columns import metadata_names
from frazil.landing.land import LandingReport, land
from frazil.publishing.glue import GlueState, sync_glue
from frazil.publishing.snowflake.tables import SnowflakeState, publish_table
from frazil.reporting import Reporter
from frazil.spec.names import Things
from frazil.spec.table import AnyTable
from frazil.spec.topic import TableSpec
from frazil.tables.catalog import catalog_errors

__all__ = ["landed", "register", "show_landings"]

MaxRecords = Annotated[int | None, typer.Option(min=1, help="Land at most so many, then stop.")]


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command("land")(land_command)
    app.command("sync")(sync_command)


def land_command(
    tables: Tables = None, every: AllTables = False, max_records: MaxRecords = None, as_json: Json = False
) -> None:
    """Land topics into their tables, up to what is in Kafka now."""
    selection = select_topics(tables, every=every)

    def do(spec: TableSpec, _: Things, on_step: OnStep) -> LandingReport:
        return land(spec, selection.connections, run_id=run_id(), max_records=max_records, on_step=on_step)

    results = each(selection, "landing", do, Reporter.landed)
    documents = [*map(landed, results.reports), *results.errors]
    print_json(documents) if as_json else show_landings(results.reports)
    results.exit()


def sync_command(tables: Tables = None, every: AllTables = False, as_json: Json = False) -> None:
    """Bring Glue and Snowflake in step with the tables."""
    selection = select(tables, every=every)
    results = each(selection, "syncing", partial(_sync, selection.connections), _tell_synced)
    rows = [{"table": table, **_row(synced)} for table, synced in results.done.items()]
    if as_json:
        print_json([*rows, *results.errors])
    else:
        for row in rows:
            console.print(*(Text.assemble((k, "bold"), f" {v}") for k, v in row.items()))
    results.exit()


Synced = tuple[GlueState | None, SnowflakeState | None]
"""What each target shows; None where the table is not published there."""


def _sync(connections: Connections, spec: AnyTable, names: Things, _: OnStep) -> Synced:
    glue = snowflake = None
    with catalog_errors(connections.settings):
        if spec.publish:
            glue = sync_glue(connections, names)
        if "snowflake" in spec.publish:
            snowflake = publish_table(connections, names, metadata_names(spec))
    return glue, snowflake


def _tell_synced(reporter: Reporter, spec: AnyTable, names: Things, synced: Synced) -> None:
    reporter.synced(spec, names, *synced)


def _row(synced: Synced) -> dict[str, Any]:
    glue, snowflake = synced
    return {
        "glue": f"{glue.database}.{glue.table}" if glue else None,
        "snowflake": f"{snowflake.database}.{snowflake.schema}.{snowflake.table}" if snowflake else None,
        "metadata_location": glue.metadata_location if glue else None,
        "changed": bool(glue and glue.changed),
        "snowflake_rows": snowflake.rows if snowflake else None,
    }


def landed(report: LandingReport) -> dict[str, Any]:
    """A landing for scripts."""
    return {**asdict(report), "spans": report.spans or {}}


def show_landings(reports: list[LandingReport]) -> None:
    """Landings for people."""
    table = Table(
        "table", "records", "dead letters", "skipped", "gaps", "partitions", "files", "conflicts", "seconds"
    )
    for r in reports:
        numbers = (
            r.records, r.dead_letters, r.skipped, r.gaps, len(r.spans or {}), r.files, r.conflicts
        )  # fmt: skip
        table.add_row(r.table, *(f"{n:,}" for n in numbers), f"{r.seconds:.2f}")
    print_table(table)
