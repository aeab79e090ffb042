"""`frazil tables`, `lag`, `check` and `describe`: how the tables stand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from frazil.checks.result import CheckResult
from frazil.checks.run import run_checks
from frazil.cli.console import console, print_json, print_table
from frazil.cli.results import Results
from frazil.cli.selection import AllTables, Json, Selection, Tables, select, select_topics
from frazil.connections import Connections
from frazil.derive.ledger import DerivedLedger
from frazil.derive.state import DerivedState, derived_states
from frazil.errors import FrazilError, PartDownError, explain
from frazil.formats.record import topic_columns
from frazil.kafka.facts import TopicFacts, topic_facts
from frazil.landing.evolve import plan_evolution
from frazil.landing.history import lost_offsets, starts, unguarded
from frazil.landing.ledger import Ledger, ledgers
from frazil.landing.state import TableState, known_states
from frazil.publishing.targets import targets_of
from frazil.spec.derived import DerivedSpec
from frazil.spec.names import AssetPath
from frazil.spec.table import AnyTable
from frazil.spec.topic import TableSpec
from frazil.tables.catalog import load_table_or_none

if TYPE_CHECKING:
    from pyiceberg.table import Table as IcebergTable
    from pyiceberg.table.snapshots import Snapshot

app = typer.Typer()

State = TableState | DerivedState
"""How a table stands, made of a topic or of others."""

_NEWEST = 10  # landings or derivations of a table that are described

Deep = Annotated[
    bool, typer.Option("--deep", help="Also read the data: count every offset, derive all rows again.")
]


@app.command("tables")
def tables_command(as_json: Json = False) -> None:
    """List the tables of all pipelines: rows, files, what waits, freshness."""
    results = states_of(select((), every=True))
    states = results.reports
    print_json([*map(row_of, states), *results.errors]) if as_json else _show_states(states)
    results.exit()


def _show_states(states: Iterable[State]) -> None:
    table = Table("table", "made of", "state", "rows", "files", "bytes", "lag", "fresh (s)", "dead letters")
    for s in states:
        fresh = "never" if s.freshness is None else f"{s.freshness:.0f}"
        lag, fresh = ("?", "?") if s.state == "unknown" else (f"{s.lag:,}", fresh)
        numbers = (f"{n:,}" for n in (s.rows, s.files, s.bytes))
        table.add_row(s.identifier, _made_of(s), s.state, *numbers, lag, fresh, f"{s.dead_letters:,}")
    print_table(table)


@app.command("lag")
def lag_command(as_json: Json = False) -> None:
    """Show what waits in the topics, per partition."""
    selection = select_topics((), every=True)
    results = states_of(selection)
    topics = _topics(selection)
    rows = [
        {"table": str(names.table), "topic": spec.topic, **row}
        for spec, names in selection.pairs
        for row in _lags(results.done.get(str(names.table)), topics.get(names.kafka_path))
    ]
    if as_json:
        print_json([*rows, *results.errors])
    else:
        _show_lags(rows)
    results.exit()


def _topics(selection: Selection[TableSpec]) -> dict[AssetPath, TopicFacts]:
    found: dict[AssetPath, TopicFacts] = {}
    for part in selection.parts:
        with suppress(PartDownError):  # the states say so
            facts = topic_facts(part.connections.admin, {spec.topic for spec in part.specs})
            found |= {names.kafka_path: facts[names.topic] for _, names in part.pairs if names.topic in facts}
    return found


def _show_lags(rows: Iterable[dict[str, Any]]) -> None:
    table = Table("table", "topic", "partition", "end", "position", "lag", "lost", "state")
    for row in rows:
        table.add_row(*("?" if v is None else f"{v:,}" if isinstance(v, int) else v for v in row.values()))
    print_table(table)


def _lags(state: State | None, facts: TopicFacts | None) -> Iterator[dict[str, Any]]:
    """What waits in each partition, and what the topic no longer holds of it; None where nobody tells."""
    known = state if isinstance(state, TableState) else None
    if facts is None or known is None:
        ends, at = facts.end if facts else {}, known.position if known and known.state == "unknown" else {}
        unknown = {"lag": None, "lost": None, "state": "unknown"}
        for p in sorted({*ends, *at}):
            yield {"partition": p, "end": ends.get(p), "position": at.get(p), **unknown}
        return
    lost = lost_offsets(facts, known.position)
    for partition, begin in starts(facts, known.position).items():
        position, _ = lost.get(partition, (begin, begin))
        yield {
            "partition": partition,
            "end": facts.end[partition],
            "position": position,
            "lag": max(0, facts.end[partition] - begin),
            "lost": begin - position,
            "state": known.state,
        }


@app.command("check")
def check_command(
    tables: Tables = None, every: AllTables = False, deep: Deep = False, as_json: Json = False
) -> None:
    """Run the checks of tables; exit code 1 when one fails, 5 when a server is silent."""
    selection = select(tables, every=every)
    results = run_checks(selection.specs, selection.connections, deep=deep, partly=True)
    specs = {str(names.table): spec for spec, names in selection.pairs}
    for result in (r for r in results if not r.down):
        selection.tell(specs[result.table], result)
    print_json([_row_of(r) for r in results]) if as_json else _show(results)
    Results[CheckResult](failed={**selection.broken, **{r.table: r.down for r in results if r.down}}).exit()
    if any(r.failed and r.severity == "ERROR" for r in results):
        failed = sum(r.failed for r in results)
        raise FrazilError(f"{failed} of {len(results)} checks failed.", todo="Read what each one says above.")


def _row_of(result: CheckResult) -> dict[str, Any]:
    row = {name: value for name, value in asdict(result).items() if name != "down"}
    return {**row, "passed": result.passed}


def _show(results: list[CheckResult]) -> None:
    table = Table("table", "check", "result", "what was compared")
    for r in results:
        word = Text(r.severity, "red") if r.failed else Text(r.status, "green" if r.passed else "")
        table.add_row(r.table, r.check, word, r.text)
    print_table(table)


def states_of(selection: Selection[AnyTable]) -> Results[State]:
    """How the tables stand, in their order; of which a server kept silent about some, or about all."""
    down = dict(selection.broken)
    by_name: dict[str, State] = {}
    for part in selection.parts:
        found, silent = _states(part.topics, part.derived)
        by_name |= {state.identifier: state for state in found}
        down |= silent
    order = [str(names.table) for _, names in selection.pairs]
    return Results({name: by_name[name] for name in order if name in by_name}, down)


def _states(
    topics: Selection[TableSpec], derived: Selection[DerivedSpec]
) -> tuple[list[State], dict[str, FrazilError]]:
    """Those of one connection, and what can't be told."""
    down: dict[str, FrazilError] = {}
    found: list[State] = []
    if topics.specs:
        states, silent = known_states(topics.specs, topics.connections)
        found, down = [*states], {**silent}
    try:
        found += derived_states(derived.specs, derived.connections) if derived.specs else []
    except Exception as e:  # noqa: BLE001 - the topics' tables are told all the same
        down |= {str(names.table): explain(e) for _, names in derived.pairs}
    return found, down


def row_of(state: State) -> dict[str, Any]:
    """A state for scripts."""
    row = asdict(state)
    if isinstance(state, DerivedState):
        return row
    unknown = {"lag": None, "freshness": None} if state.state == "unknown" else {}
    return {**row, **unknown, "position": {str(p): at for p, at in state.position.items()}}


def _made_of(state: State) -> str:
    return ", ".join(i.table for i in state.inputs) if isinstance(state, DerivedState) else state.topic


@app.command("describe")
def describe_command(table: Annotated[str, typer.Argument()], as_json: Json = False) -> None:
    """Show one table: its state, columns, and last landings or derivations."""
    selection = select([table], every=False)
    results = states_of(selection)
    if not results.done:
        results.exit()
    told = _describe(selection, results.reports[0])
    print_json(told) if as_json else _show_told(told)
    results.exit()


def _show_told(told: dict[str, Any]) -> None:
    for name, value in told.items():
        console.print(name, style="bold")
        rows = value if isinstance(value, list) else [value]
        for row in rows:
            console.print("  ", *(f"{k}={v}" for k, v in row.items()))


def _describe(selection: Selection[AnyTable], at: State) -> dict[str, Any]:
    spec, names = next(iter(selection.pairs))
    connections = selection.connections.of(spec)
    state = row_of(at)
    table = load_table_or_none(connections.catalog, names.table)
    own = _derived(spec, state, table) if isinstance(spec, DerivedSpec) else _landed(spec, connections, table)
    return {
        "state": state,
        **own,
        "columns": [
            {"name": f.name, "type": str(f.field_type), "required": f.required, "doc": f.doc or ""}
            for f in (table.schema().fields if table else ())
        ],
        "shown_in": {target.word: "/".join(target.path) for target in targets_of(spec, connections.settings)},
    }


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
        "landings": [_landing(*pair) for pair in newest],
    }


def _verdicts(spec: TableSpec, connections: Connections, table: IcebergTable) -> list[dict[str, Any]]:
    """What the newest schemas ask of the table; none where it fits, or where they say nothing of it."""
    try:
        columns = topic_columns(spec, connections.registry)
        found = plan_evolution(spec, table, columns).verdicts
    except FrazilError as e:
        return [{"outcome": "unknown", "rule": e.what, "where": e.where, "todo": e.todo}]
    return [v.document() for v in found if v.outcome != "no change"]


def _landing(snapshot: Snapshot, ledger: Ledger) -> dict[str, Any]:
    return {
        "snapshot_id": snapshot.snapshot_id,
        "at_ms": snapshot.timestamp_ms,
        "records": ledger.records,
        "dead_letters": ledger.dead_letters,
        "redriven": ledger.redriven,
        "expired": ledger.expired,
        "gaps": sum(ledger.gaps.values()),
        "run_id": ledger.run_id,
        "log": ledger.log,
        "spans": {str(p): list(s) for p, s in ledger.spans.items()},
    }


def _derivation(snapshot: Snapshot, ledger: DerivedLedger) -> dict[str, Any]:
    return {
        "snapshot_id": snapshot.snapshot_id,
        "at_ms": snapshot.timestamp_ms,
        "rows": ledger.rows,
        "replaced": ledger.removed,
        "dead_letters": ledger.bad,
        "late": ledger.late,
        "watermark": ledger.watermark,
        "run_id": ledger.run_id,
        "inputs": {name: position.snapshot for name, position in ledger.inputs.items()},
    }
