"""`frazil tables`, `lag` and `check`: how the tables stand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from frazil.checks.result import CheckResult
from frazil.checks.run import run_checks
from frazil.cli.console import print_json, print_table
from frazil.cli.selection import AllTables, Json, Selection, Tables, select, select_topics
from frazil.derive.state import DerivedState, derived_states
from frazil.errors import FrazilError
from frazil.kafka.facts import TopicFacts, topic_facts
from frazil.landing.history import lost_offsets, starts
from frazil.landing.state import TableState, table_states
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
    selection = select((), every=True)
    states = states_of(selection)
    if as_json:
        print_json([row_of(s) for s in states])
        return
    table = Table("table", "made of", "state", "rows", "files", "bytes", "lag", "fresh (s)", "dead letters")
    for s in states:
        fresh = "never" if s.freshness is None else f"{s.freshness:.0f}"
        numbers = (f"{n:,}" for n in (s.rows, s.files, s.bytes, s.lag))
        table.add_row(s.identifier, _made_of(s), s.state, *numbers, fresh, f"{s.dead_letters:,}")
    print_table(table)


@app.command("lag")
def lag_command(as_json: Json = False) -> None:
    """Show what waits in the topics, per partition."""
    selection = select_topics((), every=True)
    states = table_states(selection.specs, selection.connections)
    facts = topic_facts(selection.connections.admin, {s.topic for s in selection.specs})
    rows = [row for s in states if s.topic in facts for row in _lags(s, facts[s.topic])]
    if as_json:
        print_json(rows)
        return
    table = Table("table", "topic", "partition", "end", "position", "lag", "lost", "state")
    for row in rows:
        table.add_row(*(f"{v:,}" if isinstance(v, int) else str(v) for v in row.values()))
    print_table(table)


def _lags(state: TableState, facts: TopicFacts) -> Iterator[dict[str, Any]]:
    """What waits in each partition, and what the topic no longer holds of it."""
    lost = lost_offsets(facts, state.position)
    for partition, begin in starts(facts, state.position).items():
        position, _ = lost.get(partition, (begin, begin))
        yield {
            "table": state.identifier,
            "topic": state.topic,
            "partition": partition,
            "end": facts.end[partition],
            "position": position,
            "lag": max(0, facts.end[partition] - begin),
            "lost": begin - position,
            "state": state.state,
        }


@app.command("check")
def check_command(
    tables: Tables = None, every: AllTables = False, deep: Deep = False, as_json: Json = False
) -> None:
    """Run the checks of tables; exit code 1 when one of severity ERROR fails."""
    selection = select(tables, every=every)
    results = run_checks(selection.specs, selection.connections, deep=deep)
    specs = {str(names.table): spec for spec, names in selection.pairs}
    for result in results:
        selection.tell(specs[result.table], result)
    print_json([{**asdict(r), "passed": r.passed} for r in results]) if as_json else _show(results)
    if any(r.failed and r.severity == "ERROR" for r in results):
        failed = sum(r.failed for r in results)
        raise FrazilError(f"{failed} of {len(results)} checks failed.", todo="Read what each one says above.")


def _show(results: list[CheckResult]) -> None:
    table = Table("table", "check", "result", "what was compared")
    for r in results:
        word = Text(r.severity, "red") if r.failed else Text(r.status, "green" if r.passed else "")
        table.add_row(r.table, r.check, word, r.text)
    print_table(table)


def states_of(selection: Selection[AnyTable]) -> list[State]:
    """How the tables stand, in their order."""
    topics, derived = selection.topics, selection.derived
    found: list[State] = [
        *(table_states(topics.specs, topics.connections) if topics.specs else []),
        *(derived_states(derived.specs, derived.connections) if derived.specs else []),
    ]
    by_name = {state.identifier: state for state in found}
    return [by_name[str(names.table)] for _, names in selection.pairs]


def row_of(state: State) -> dict[str, Any]:
    """A state for scripts."""
    row = asdict(state)
    if isinstance(state, DerivedState):
        return row
    return {**row, "position": {str(p): at for p, at in state.position.items()}}


def _made_of(state: State) -> str:
    return ", ".join(i.table for i in state.inputs) if isinstance(state, DerivedState) else state.topic
