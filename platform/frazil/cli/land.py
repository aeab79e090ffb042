"""`frazil land` and `frazil sync`: doing what the assets do, from a shell."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer
from rich.table import Table

from frazil.cli.console import console, print_json, print_table
from frazil.cli.selection import AllTables, Json, Selection, Tables, select, select_topics
from frazil.errors import FrazilError
from frazil.formats.columns import metadata_names
from frazil.landing.land import LandingReport, land
from frazil.publishing.glue import sync_glue
from frazil.publishing.snowflake.tables import publish_table
from frazil.spec.names import Things
from frazil.spec.table import AnyTable
from frazil.spec.topic import TableSpec
from frazil.tables.catalog import catalog_errors

__all__ = ["fail", "land_tables", "landed", "register", "show_landings", "sync_tables"]

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
    reports, failed = land_tables(selection, max_records)
    print_json([landed(r) for r in reports]) if as_json else show_landings(reports)
    fail(failed)


def sync_command(tables: Tables = None, every: AllTables = False, as_json: Json = False) -> None:
    """Bring Glue and Snowflake in step with the tables."""
    selection = select(tables, every=every)
    synced, failed = sync_tables(selection)
    if as_json:
        print_json(synced)
    else:
        for row in synced:
            console.print(*(f"[bold]{k}[/] {v}" for k, v in row.items()))
    fail(failed)


def land_tables(
    selection: Selection[TableSpec], max_records: int | None = None
) -> tuple[list[LandingReport], list[FrazilError]]:
    """Lands each table; one that fails does not keep the others from landing."""
    reports, failed = [], []
    for spec, names in selection.pairs:
        try:
            with console.status(f"landing {names.table}") as status:
                report = land(
                    spec,
                    selection.connections,
                    run_id=f"cli-{time.time_ns()}",
                    max_records=max_records,
                    on_step=lambda step, t=names.table, s=status: s.update(f"{t}: {step}"),  # type: ignore[misc]
                )
        except FrazilError as e:
            failed.append(e)
            continue
        reports.append(report)
        for reporter in selection.reporters:
            reporter.landed(spec, names, report)
    return reports, failed


def sync_tables(selection: Selection[AnyTable]) -> tuple[list[dict[str, Any]], list[FrazilError]]:
    """Syncs each table where its spec publishes it."""
    synced, failed = [], []
    for spec, names in selection.pairs:
        try:
            with catalog_errors(selection.connections.settings):
                synced.append(_sync(selection, spec, names))
        except FrazilError as e:
            failed.append(e)
    return synced, failed


def _sync(selection: Selection[AnyTable], spec: AnyTable, names: Things) -> dict[str, Any]:
    glue = snowflake = None
    if spec.publish:
        glue = sync_glue(selection.connections, names)
    if "snowflake" in spec.publish:
        snowflake = publish_table(selection.connections, names, metadata_names(spec))
    for reporter in selection.reporters:
        reporter.synced(spec, names, glue, snowflake)
    return {
        "table": str(names.table),
        "glue": f"{glue.database}.{glue.table}" if glue else None,
        "snowflake": f"{snowflake.database}.{snowflake.schema}.{snowflake.table}" if snowflake else None,
        "metadata_location": glue.metadata_location if glue else None,
        "changed": bool(glue and glue.changed),
        "snowflake_rows": snowflake.rows if snowflake else None,
    }


def landed(report: LandingReport) -> dict[str, Any]:
    """A landing for scripts."""
    return {
        "table": report.table,
        "topic": report.topic,
        "snapshot_id": report.snapshot_id,
        "records": report.records,
        "dead_letters": report.dead_letters,
        "skipped": report.skipped,
        "gaps": report.gaps,
        "spans": {str(p): list(s) for p, s in (report.spans or {}).items()},
        "bytes": report.bytes,
        "files": report.files,
        "conflicts": report.conflicts,
        "seconds": report.seconds,
    }


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


def fail(failed: list[FrazilError]) -> None:
    """Says what failed; the worst error's exit code becomes the command's."""
    failed.sort(key=lambda e: e.exit_code)
    for error in failed[:-1]:
        console.print(str(error), style="red", markup=False)
    if failed:
        raise failed[-1]
