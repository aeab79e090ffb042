"""`frazil describe`: all about one table."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

import typer
from rich.table import Table

from frazil.checks.readers import READERS
from frazil.cli.console import IDS, paper, print_json, print_table
from frazil.cli.selection import Json, Name, Selection, select
from frazil.cli.views.tables import State, row_of, states_of
from frazil.connections import Connections
from frazil.derive.positions.ledger import DerivedLedger
from frazil.errors import DifferentError, FrazilError
from frazil.exact import iso_moment
from frazil.formats.evolution import Verdict
from frazil.formats.record import topic_columns
from frazil.formats.row_key import row_key
from frazil.landing.position.history import unguarded
from frazil.landing.position.interval import ChosenInterval, interval_of
from frazil.landing.position.ledger import Ledger, ledgers
from frazil.landing.schema.evolve import plan_evolution
from frazil.landing.upsert.key import difference
from frazil.publishing.targets import targets_of
from frazil.spec.derived import DerivedSpec
from frazil.spec.table import AnyTable
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.metadata.snapshots import made_at

if TYPE_CHECKING:
    from pyiceberg.table import Table as IcebergTable
    from pyiceberg.table.snapshots import Snapshot

app = typer.Typer()

_NEWEST = 10  # landings or derivations of a table that are described


@app.command("describe")
def describe_command(table: Name, as_json: Json = False) -> None:
    """Show one table: its state, columns, and last landings or derivations."""
    selection = select([table], every=False)
    results = states_of(selection)
    if not results.done:
        results.exit()
    document = _describe(selection, results.reports[0])
    print_json(document) if as_json else _show(document)
    results.exit()


def _show(document: dict[str, Any]) -> None:
    for name, value in document.items():
        if value:
            paper.print(name.replace("_", " "), style="bold")
            print_table(_rows(value) if isinstance(value, list) else _pairs(value))
            paper.print()


def _pairs(values: dict[str, Any]) -> Table:
    table = Table("", "", show_header=False)
    for name, value in values.items():
        table.add_row(name.replace("_", " "), _text(name, value))
    return table


def _rows(rows: list[dict[str, Any]]) -> Table:
    """One row each; columns that say nothing of any are left out."""
    names = [n for n in rows[0] if n != "at_ms" and any(row[n] not in ("", None, {}, 0) for row in rows)]
    table = Table(*(name.replace("_", " ") for name in names))
    for row in rows:
        table.add_row(*(_text(name, row[name]) for name in names))
    return table


def _text(name: str, value: Any) -> str:
    """As people read it: times in UTC as `rollback --to` takes them, ids whole, other numbers in groups."""
    if value is None or value == "":
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name in ("landed_at", "derived_at", "waits_since"):
        return _moment(value)
    if name == "open_since":
        return f"{iso_moment(int(value) * 1_000_000, zoned=False)}Z"
    if name == "watermark":
        return f"{iso_moment(value - value % 1_000_000, zoned=False)}.{value % 1_000_000 // 1000:03}Z"
    if name == "not_read_by":
        return ", ".join(value) or "-"
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_text(name, each)}" for key, each in value.items()) or "-"
    if isinstance(value, list):
        return "-".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) and name not in IDS else str(value)


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _describe(selection: Selection[AnyTable], at: State) -> dict[str, Any]:
    spec, names = next(iter(selection.pairs))
    connections = selection.connections.of(spec)
    state = row_of(at)
    chosen = state.pop("land_interval", None)
    table = TableHandle(connections.catalog, names.table).load_or_none()
    own = _derived(spec, state, table) if isinstance(spec, DerivedSpec) else _landed(spec, connections, table)
    return {
        "state": state,
        **_interval(spec, chosen),
        **own,
        "format": _format(table) if table else {},
        "columns": [
            {"name": f.name, "type": str(f.field_type), "required": f.required, "doc": f.doc or ""}
            for f in (table.schema().fields if table else ())
        ],
        "shown_in": {target.word: "/".join(target.path) for target in targets_of(spec, connections.settings)},
    }


def _format(table: IcebergTable) -> dict[str, Any]:
    """Iceberg's format version, and the engines that do not read it, as far as Frazil knows."""
    version = table.metadata.format_version
    return {
        "version": version,
        "not_read_by": [reader.name for reader in READERS.values() if reader.newest < version],
    }


def _interval(spec: AnyTable, chosen: dict[str, Any] | None) -> dict[str, Any]:
    """How often it lands, where a budget says what that may cost, and why."""
    if not (isinstance(spec, TableSpec) and spec.budget):
        return {}
    interval = interval_of(spec, ChosenInterval(**chosen) if chosen else None)
    return {"land_interval": {"every_seconds": interval.every, "why": interval.why}}


def _derived(spec: DerivedSpec, state: dict[str, Any], table: IcebergTable | None) -> dict[str, Any]:
    """What it is made of, and by what."""
    made = {"kind": spec.kind, "file": str(spec.sql or spec.python), "parameters": dict(spec.parameters)}
    newest = islice(DerivedLedger.all(table.metadata) if table else (), _NEWEST)
    return {
        "made_by": made,
        "inputs": list(state.pop("inputs")),
        "derivations": [_derivation(*pair) for pair in newest],
    }


def _landed(spec: AnyTable, connections: Connections, table: IcebergTable | None) -> dict[str, Any]:
    newest = list(islice(ledgers(table.metadata) if table else (), _NEWEST))
    asked = _verdicts(spec, connections, table) if table and isinstance(spec, TableSpec) else []
    return {
        "schema": asked,
        "not_guarded": [{"what": what} for _, ledger in newest[:1] for what in unguarded(ledger)],
        "acceptances": [
            _acceptance(*pair) for pair in (ledgers(table.metadata) if table else ()) if pair[1].accepted
        ],
        "landings": [_landing(*pair) for pair in newest],
    }


def _verdicts(spec: TableSpec, connections: Connections, table: IcebergTable) -> list[dict[str, Any]]:
    """What the newest schemas ask of the table; none where it fits, or where they say nothing of it."""
    try:
        columns = topic_columns(spec, connections.registry)
        verdicts = plan_evolution(spec, table, columns).verdicts
        unlike = difference(table, spec, row_key(spec, columns))
    except FrazilError as e:
        return [{"outcome": "unknown", "rule": e.what, "where": e.where, "todo": e.todo}]
    open_ones = [_verdict(v) for v in verdicts if v.outcome != "no change"]
    return open_ones + ([_key(unlike)] if unlike else [])


def _verdict(verdict: Verdict) -> dict[str, Any]:
    """What the next landing does of it: nothing of it is done yet."""
    document = verdict.document()
    return {**document, "outcome": "waits for a landing"} if verdict.outcome == "applied" else document


def _key(unlike: DifferentError) -> dict[str, Any]:
    """That no landing gets so far, for rows would be told apart in another way."""
    rule = f"{unlike.what} {unlike.where}"
    return {"field": "(key)", "change": "key", "outcome": "refused", "rule": rule, "todo": unlike.todo}


def _commit(snapshot: Snapshot) -> dict[str, Any]:
    """What a rollback takes: the id, or the time."""
    return {
        "snapshot_id": snapshot.snapshot_id,
        "at": _moment(made_at(snapshot)),
        "at_ms": snapshot.timestamp_ms,
    }


def _acceptance(snapshot: Snapshot, ledger: Ledger) -> dict[str, Any]:
    return {
        **_commit(snapshot),
        "accepted_snapshot": ledger.accepted_snapshot,
        "rows": ledger.accepted,
        "by": ledger.accepted_by,
        "because": ledger.because,
    }


def _landing(snapshot: Snapshot, ledger: Ledger) -> dict[str, Any]:
    return {
        **_commit(snapshot),
        "records": ledger.records,
        "dead_letters": ledger.dead_letters,
        "inserted": ledger.inserted,
        "updated": ledger.updated,
        "deleted": ledger.deleted,
        "redriven": ledger.redriven,
        "expired": ledger.expired,
        "gaps": sum(ledger.gaps.values()),
        "because": ledger.because,
        "run_id": ledger.run_id,
        "log": ledger.log,
        "spans": {str(p): list(s) for p, s in ledger.spans.items()},
    }


def _derivation(snapshot: Snapshot, ledger: DerivedLedger) -> dict[str, Any]:
    return {
        **_commit(snapshot),
        "rows": ledger.rows,
        "replaced": ledger.removed,
        "dead_letters": ledger.bad,
        "late": ledger.late,
        "watermark": ledger.watermark,
        "run_id": ledger.run_id,
        "inputs": {name: position.snapshot for name, position in ledger.inputs.items()},
    }
