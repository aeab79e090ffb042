"""`frazil tables`, `lag` and `check`: how the tables stand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from frazil.checks.result import CheckResult
from frazil.checks.run import run_checks
from frazil.cli.console import print_json, print_table
from frazil.cli.results import Results
from frazil.cli.selection import AllTables, Json, Selection, Tables, select, select_topics
from frazil.derive.state import DerivedState, derived_states
from frazil.errors import FrazilError, PartDownError
from frazil.kafka.facts import TopicFacts, topic_facts
from frazil.landing.history import lost_offsets, starts
from frazil.landing.state import TableState, known_states
from frazil.spec.table import AnyTable

__all__ = ["State", "app", "row_of", "states_of"]

app = typer.Typer()

State = TableState | DerivedState
"""How a table stands, made of a topic or of others."""

Deep = Annotated[
    bool, typer.Option("--deep", help="Also read the data: count every offset, derive all rows again.")
]


@app.command("tables")
def tables_command(as_json: Json = False) -> None:
    """List all tables of all pipelines: what they are made of, rows, files, what waits, freshness."""
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
    try:
        topics = topic_facts(selection.connections.admin, {s.topic for s in selection.specs})
    except PartDownError:  # the states say so
        topics = {}
    rows = [
        {"table": str(names.table), "topic": spec.topic, **row}
        for spec, names in selection.pairs
        for row in _lags(results.done.get(str(names.table)), topics.get(spec.topic))
    ]
    if as_json:
        print_json([*rows, *results.errors])
    else:
        _show_lags(rows)
    results.exit()


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
    """Run the checks of tables; exit code 1 when one of severity ERROR fails, 5 when a server is silent."""
    selection = select(tables, every=every)
    results = run_checks(selection.specs, selection.connections, deep=deep, partly=True)
    specs = {str(names.table): spec for spec, names in selection.pairs}
    for result in (r for r in results if not r.down):
        selection.tell(specs[result.table], result)
    print_json([_row_of(r) for r in results]) if as_json else _show(results)
    Results[CheckResult](failed={r.table: r.down for r in results if r.down}).exit()
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
    topics, derived = selection.topics, selection.derived
    down: dict[str, FrazilError] = {}
    found: list[State] = []
    if topics.specs:
        states, silent = known_states(topics.specs, topics.connections)
        found, down = [*states], {**silent}
    try:
        found += derived_states(derived.specs, derived.connections) if derived.specs else []
    except PartDownError as e:
        down |= {str(names.table): e for _, names in derived.pairs}
    by_name = {state.identifier: state for state in found}
    order = [str(names.table) for _, names in selection.pairs]
    return Results({name: by_name[name] for name in order if name in by_name}, down)


def row_of(state: State) -> dict[str, Any]:
    """A state for scripts."""
    row = asdict(state)
    if isinstance(state, DerivedState):
        return row
    unknown = {"lag": None, "freshness": None} if state.state == "unknown" else {}
    return {**row, **unknown, "position": {str(p): at for p, at in state.position.items()}}


def _made_of(state: State) -> str:
    return ", ".join(i.table for i in state.inputs) if isinstance(state, DerivedState) else state.topic
