"""`frazil tables`, `lag`, `describe` and `check`: how the tables stand."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from frazil.catalogs.iceberg import load_table_or_none
from frazil.checks.result import CheckResult
from frazil.checks.run import run_checks
from frazil.cli.console import console, print_json, print_table
from frazil.cli.selection import AllTables, Json, Selection, Tables, select
from frazil.errors import FrazilError
from frazil.landing.decoders.choose import topic_columns
from frazil.landing.evolve import plan_evolution
from frazil.landing.position import Ledger, ancestors, ledger_of
from frazil.landing.state import TableState, table_states
from frazil.spec import TableSpec
from frazil.topics.facts import topic_facts

if TYPE_CHECKING:
    from pyiceberg.table import Table as IcebergTable

    from frazil.connections import Connections

__all__ = ["register"]

Deep = Annotated[bool, typer.Option("--deep", help="Also count every single offset.")]


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command("tables")(tables_command)
    app.command("lag")(lag_command)
    app.command("describe")(describe_command)
    app.command("check")(check_command)


def tables_command(as_json: Json = False) -> None:
    """List all tables of all pipelines: rows, files, position, lag, freshness."""
    selection = select((), every=True)
    states = table_states(selection.specs, selection.connections)
    if as_json:
        print_json([_row(s) for s in states])
        return
    table = Table("table", "topic", "state", "rows", "files", "bytes", "lag", "fresh (s)", "dead letters")
    for s in states:
        fresh = "never" if s.freshness is None else f"{s.freshness:.0f}"
        numbers = (f"{n:,}" for n in (s.rows, s.files, s.bytes, s.lag))
        table.add_row(s.identifier, s.topic, s.state, *numbers, fresh, f"{s.dead_letters:,}")
    print_table(table)


def lag_command(as_json: Json = False) -> None:
    """Show what waits in the topics, per partition."""
    selection = select((), every=True)
    states = table_states(selection.specs, selection.connections)
    facts = topic_facts(selection.connections.admin, {s.topic for s in selection.specs})
    rows = [
        {
            "table": s.identifier, "topic": s.topic, "partition": p, "end": end,
            "position": s.position.get(p, facts[s.topic].first[p]),
            "lag": max(0, end - s.position.get(p, facts[s.topic].first[p])),
        }
        for s in states if s.topic in facts for p, end in sorted(facts[s.topic].end.items())
    ]  # fmt: skip
    if as_json:
        print_json(rows)
        return
    table = Table("table", "topic", "partition", "end", "position", "lag")
    for row in rows:
        table.add_row(*(f"{v:,}" if isinstance(v, int) else str(v) for v in row.values()))
    print_table(table)


def describe_command(table: Annotated[str, typer.Argument()], as_json: Json = False) -> None:
    """Show one table: its state, columns and last landings."""
    told = _describe(select([table], every=False))
    if as_json:
        print_json(told)
        return
    for name, value in told.items():
        console.print(f"[bold]{name}[/]")
        rows = value if isinstance(value, list) else [value]
        for row in rows:
            console.print("  ", *(f"{k}={v}" for k, v in row.items()), markup=False)


def check_command(
    tables: Tables = None, every: AllTables = False, deep: Deep = False, as_json: Json = False
) -> None:
    """Run the checks of tables; exit code 1 when one of severity ERROR fails."""
    selection = select(tables, every=every)
    results = run_checks(selection.specs, selection.connections, deep=deep)
    for spec, names in selection.pairs:
        for reporter in selection.reporters:
            for result in (r for r in results if r.table == str(names.table)):
                reporter.checked(spec, names, result)
    print_json([asdict(r) for r in results]) if as_json else _show(results)
    if any(not r.passed and r.severity == "ERROR" for r in results):
        failed = sum(not r.passed for r in results)
        raise FrazilError(f"{failed} of {len(results)} checks failed.", todo="Read what each one says above.")


def _show(results: list[CheckResult]) -> None:
    table = Table("table", "check", "result", "what was compared")
    for r in results:
        word = "[green]passed[/]" if r.passed else f"[red]{r.severity}[/]"
        table.add_row(r.table, r.check, word, r.text)
    print_table(table)


def _describe(selection: Selection) -> dict[str, Any]:
    (spec, names), connections = next(iter(selection.pairs)), selection.connections
    state = table_states([spec], connections)[0]
    table = load_table_or_none(connections.catalog, names.table)
    fields = table.schema().fields if table else ()
    return {
        "state": _row(state),
        "schema": _verdicts(spec, connections, table) if table else [],
        "columns": [
            {"name": f.name, "type": str(f.field_type), "required": f.required, "doc": f.doc or ""}
            for f in fields
        ],
        "landings": [
            _landing(s.snapshot_id, s.timestamp_ms, ledger)
            for s in (ancestors(table.metadata) if table else ())
            if (ledger := ledger_of(s))
        ][:10],
        "shown_in": {"glue": "/".join(names.glue_path), "snowflake": "/".join(names.snowflake_path)},
    }


def _verdicts(spec: TableSpec, connections: Connections, table: IcebergTable) -> list[dict[str, Any]]:
    """What the newest schemas ask of the table; none where it fits, or where they say nothing of it."""
    try:
        columns = topic_columns(spec, connections.registry)
        found = plan_evolution(spec, table, columns).verdicts
    except FrazilError as e:
        return [{"outcome": "unknown", "rule": e.what, "where": e.where, "todo": e.todo}]
    return [v.document() for v in found if v.outcome != "no change"]


def _landing(snapshot_id: int, timestamp_ms: int, ledger: Ledger) -> dict[str, Any]:
    return {
        "snapshot_id": snapshot_id,
        "at_ms": timestamp_ms,
        "records": ledger.records,
        "dead_letters": ledger.dead_letters,
        "redriven": ledger.redriven,
        "expired": ledger.expired,
        "gaps": sum(ledger.gaps.values()),
        "run_id": ledger.run_id,
        "spans": {str(p): list(s) for p, s in ledger.spans.items()},
    }


def _row(state: TableState) -> dict[str, Any]:
    row = asdict(state)
    return {**row, "position": {str(p): at for p, at in state.position.items()}}
