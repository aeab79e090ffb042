"""`frazil census`, `compact`, `expire`, `orphans`, `statistics`: how files stand, and the sensor's work."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.table import Table

from frazil.cli.console import console, print_json, print_table
from frazil.cli.results import Results
from frazil.cli.selection import AllTables, Json, Selection, Tables, select
from frazil.spec.names import Things
from frazil.spec.table import AnyTable
from frazil.tables.catalogs.catalog import catalog_errors
from frazil.tables.catalogs.handle import TableHandle
from frazil.upkeep.census import Census, census_of
from frazil.upkeep.compaction.partitions import PartitionCensus
from frazil.upkeep.kind import Kind, Order, Work
from frazil.upkeep.kinds import KINDS
from frazil.upkeep.run import work_on
from frazil.upkeep.work import WorkReport, size_text

app = typer.Typer()

_AT_ONCE = 4
_MOST_PARTITIONS = 20  # partitions that are shown to people; --json has all of them

_SHOWN = {"compaction": "compacted", "expiry": "expired"}

DryRun = Annotated[bool, typer.Option("--dry-run", help="Only tell what would be done.")]
Everything = Annotated[
    bool, typer.Option("--everything", help="Also rewrite files that are large enough, as the spec says now.")
]
Rows = Annotated[bool, typer.Option("--rows", help="Delete rows older than keep_rows_for, not snapshots.")]


@app.command("census")
def census_command(tables: Tables = None, as_json: Json = False) -> None:
    """Count the files, snapshots and manifests of tables, or all details of one table."""
    selection = select(tables, every=not tables)
    censuses = _take(selection, named=bool(tables))
    if as_json:
        print_json([_document(census) for census in censuses])
    else:
        _show_censuses(censuses, one=bool(tables))
    Results[Census](failed=dict(selection.broken)).exit()


def _show_censuses(censuses: Sequence[Census], *, one: bool) -> None:
    _show_census(censuses)
    if len(censuses) == 1 and one:
        copies, allowed = size_text(censuses[0].copies), size_text(censuses[0].most_copies)
        console.print(f"Snapshots hold {copies} of old copies; {allowed} are allowed.")
        _show_sizes(censuses[0])
        _show_partitions(censuses[0].partitions)


@app.command("compact")
def compact_command(
    tables: Tables = None,
    every: AllTables = False,
    everything: Everything = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Rewrite small data files into files of the target size, sorted if the spec says so."""
    _keep_up(KINDS["compaction"], tables, every, Order(dry_run=dry_run, everything=everything), as_json)


@app.command("expire")
def expire_command(
    tables: Tables = None,
    every: AllTables = False,
    rows: Rows = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Expire old snapshots and the files that only they need, or, with --rows, old rows."""
    _keep_up(KINDS["row_expiry" if rows else "expiry"], tables, every, Order(dry_run=dry_run), as_json)


@app.command("orphans")
def orphans_command(
    tables: Tables = None, every: AllTables = False, dry_run: DryRun = False, as_json: Json = False
) -> None:
    """Delete files in the tables' folders that no snapshot names."""
    _keep_up(KINDS["orphans"], tables, every, Order(dry_run=dry_run), as_json)


@app.command("statistics")
def statistics_command(
    tables: Tables = None, every: AllTables = False, dry_run: DryRun = False, as_json: Json = False
) -> None:
    """Count the distinct values of columns, by which Athena, Redshift and Trino plan joins."""
    _keep_up(KINDS["statistics"], tables, every, Order(dry_run=dry_run), as_json)


def _keep_up(kind: Kind, tables: Tables, every: bool, order: Order, as_json: bool) -> None:
    selection = select(tables, every=every)
    selection = selection.writable if every else selection
    results = Results[WorkReport](failed=dict(selection.broken))
    works = [Work(kind, spec, str(n.table), "asked for on the command line") for spec, n in selection.pairs]
    with console.status(f"{kind.title} of {len(works)} tables"):
        for outcome in work_on(works, selection.connections, time.time(), order):
            work = outcome.work
            if outcome.report:
                results.done[work.table] = outcome.report
            if outcome.error:
                results.fail(work.table, outcome.error, every=every)
            if outcome.report and not order.dry_run:
                selection.tell(work.spec, outcome.report)
            if outcome.shown:
                selection.tell(work.spec, outcome.shown)
    print_json([*map(asdict, results.reports), *results.errors]) if as_json else _show(results.reports)
    results.exit()


def _show(reports: Iterable[WorkReport]) -> None:
    table = Table("table", "work", "done", "what", "conflicts", "seconds")
    for r in reports:
        done: Any = {True: "would be", False: "nothing"} if r.dry_run else {True: "yes", False: "nothing"}
        table.add_row(r.table, r.kind, done[r.done], r.text, str(r.conflicts), f"{r.seconds:.2f}")
    print_table(table)


def _take(selection: Selection[AnyTable], *, named: bool) -> list[Census]:
    """The censuses; tables that no landing made yet are left out unless they were named."""
    now = time.time()

    def take(pair: tuple[AnyTable, Things]) -> Census | None:
        (spec, names), connections = pair, selection.connections.of(pair[0])
        with catalog_errors(connections.settings):
            handle = TableHandle(connections.catalog, names.table)
            table = handle.load() if named else handle.load_or_none()
            return census_of(spec, table, now) if table else None

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return [census for census in pool.map(take, selection.pairs) if census]


def _document(census: Census) -> dict[str, Any]:
    partitions = [asdict(p) | {"ideal": p.ideal, "saved": p.gain.saved} for p in census.partitions]
    files = {"ideal": census.ideal, "saved": census.saved}
    return {**asdict(census), **files, **census.numbers, "partitions": partitions}


def _show_census(censuses: Sequence[Census]) -> None:
    table = Table(
        "table", "files", "ideal", "size", "small", "small size", "deleted", "manifests", "snapshots",
        "oldest", *_SHOWN.values(),
    )  # fmt: skip
    for c in censuses:
        counts = (f"{c.files:,}", f"{c.ideal:,}", size_text(c.bytes), f"{c.small_files:,}")
        deleted = f"{c.deleted_share:.1%}" + (f", {c.deletes.files:,} files" if c.deletes.files else "")
        rest = (size_text(c.small_bytes), deleted, f"{c.manifests:,}", f"{c.snapshots:,}")
        table.add_row(c.table, *counts, *rest, _ago(c.oldest), *(_last(c, kind) for kind in _SHOWN))
    print_table(table)
    for c in censuses:
        for branch in c.dead_branches:
            size = f"{branch.files} files of {size_text(branch.bytes)}"
            console.print(f"{c.table}: branch {branch.name} is left over, {size}, {_ago(branch.age)} old")


def _show_sizes(census: Census) -> None:
    table = Table("size", "files", "bytes", "")
    most = max((s.files for s in census.sizes), default=0) or 1
    for size in census.sizes:
        bar = "#" * round(40 * size.files / most)
        table.add_row(size.label, f"{size.files:,}", size_text(size.bytes), bar)
    print_table(table)


def _show_partitions(partitions: Sequence[PartitionCensus]) -> None:
    table = Table(
        "partition", "files", "ideal", "size", "small", "small size", "rows", "deleted rows", "delete files"
    )
    for p in partitions[:_MOST_PARTITIONS]:
        counts = (f"{p.files:,}", f"{p.ideal:,}", size_text(p.bytes), f"{p.small_files:,}")
        rest = (size_text(p.small_bytes), f"{p.records:,}", f"{p.deleted_rows:,}", f"{p.delete_files:,}")
        table.add_row(p.partition or "-", *counts, *rest)
    print_table(table)
    if len(partitions) > _MOST_PARTITIONS:
        console.print(f"and {len(partitions) - _MOST_PARTITIONS} partitions more: --json shows all of them")


def _last(census: Census, kind: str) -> str:
    last = census.last.get(kind)
    return f"{_ago(census.at - last.at)} ago" if last else "never"


def _ago(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
