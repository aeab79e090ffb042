"""`frazil tables` and `lag`: how the tables stand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict
from typing import Any

import typer
from rich.table import Table

from frazil.cli.console import console, print_json, print_table
from frazil.cli.results import Results
from frazil.cli.selection import Json, Selection, Tables, select, select_topics
from frazil.derive.positions.state import DerivedState, derived_states
from frazil.errors import FrazilError, PartDownError, explain
from frazil.kafka.facts import TopicFacts, known_facts
from frazil.landing.position.history import lost_offsets, starts
from frazil.landing.position.refusal import with_refusals
from frazil.landing.position.state import TableState, known_states
from frazil.spec.derived import DerivedSpec
from frazil.spec.names import AssetPath
from frazil.spec.table import AnyTable
from frazil.spec.topic import TableSpec

app = typer.Typer()

State = TableState | DerivedState
"""How a table stands, made of a topic or of others."""


@app.command("tables")
def tables_command(tables: Tables = None, as_json: Json = False) -> None:
    """List all tables of the pipelines, or those named: rows, files, what waits, freshness."""
    results = states_of(select(tables, every=not tables))
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
def lag_command(tables: Tables = None, as_json: Json = False) -> None:
    """Show how many records wait in each partition, for all tables or for those named."""
    selection = select_topics(tables, every=not tables)
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
        for state in results.reports:
            if isinstance(state, TableState) and state.held:
                console.print(f"{state.identifier}: {state.waiting_text}.", style="yellow")
    results.exit()


def _topics(selection: Selection[TableSpec]) -> dict[AssetPath, TopicFacts]:
    topics: dict[AssetPath, TopicFacts] = {}
    for part in selection.parts:
        with suppress(PartDownError):  # the states say so
            facts, _ = known_facts(part.connections.admin, {spec.topic for spec in part.specs})
            topics |= {
                names.kafka_path: facts[names.topic] for _, names in part.pairs if names.topic in facts
            }
    return topics


def _show_lags(rows: Iterable[dict[str, Any]]) -> None:
    table = Table("table", "topic", "partition", "end", "position", "lag", "held", "lost", "state")
    for row in rows:
        table.add_row(*("?" if v is None else f"{v:,}" if isinstance(v, int) else v for v in row.values()))
    print_table(table)


def _lags(state: State | None, facts: TopicFacts | None) -> Iterator[dict[str, Any]]:
    """What waits in each partition, and what the topic no longer holds of it; None for what is not known.

    A topic that is missing has one row, or nothing would be told of its table.
    """
    known = state if isinstance(state, TableState) else None
    if known and known.state == "topic missing":
        yield {**dict.fromkeys(("partition", "end", "position", "lag", "held", "lost")), "state": known.state}
        return
    if facts is None or known is None:
        ends, at = facts.end if facts else {}, known.position if known and known.state == "unknown" else {}
        unknown = {"lag": None, "held": None, "lost": None, "state": "unknown"}
        for p in sorted({*ends, *at}):
            yield {"partition": p, "end": ends.get(p), "position": at.get(p), **unknown}
        return
    lost, held_back = lost_offsets(facts, known.position), facts.behind_transactions(known.position)
    for partition, begin in starts(facts, known.position).items():
        position, _ = lost.get(partition, (begin, begin))
        yield {
            "partition": partition,
            "end": facts.end[partition],
            "position": position,
            "lag": max(0, facts.end[partition] - begin) + held_back.get(partition, 0),
            "held": held_back.get(partition, 0),
            "lost": begin - position,
            "state": known.state,
        }


def states_of(selection: Selection[AnyTable]) -> Results[State]:
    """How the tables stand, in their order; of which a server kept silent about some, or about all."""
    down = dict(selection.broken)
    by_name: dict[str, State] = {}
    for part in selection.parts:
        states, silent = _states(part.topics, part.derived)
        by_name |= {state.identifier: state for state in states}
        down |= silent
    order = [str(names.table) for _, names in selection.pairs]
    return Results({name: by_name[name] for name in order if name in by_name}, down)


def _states(
    topics: Selection[TableSpec], derived: Selection[DerivedSpec]
) -> tuple[list[State], dict[str, FrazilError]]:
    """The states of one connection's tables, and the errors of those that can't be read."""
    down: dict[str, FrazilError] = {}
    states: list[State] = []
    if topics.specs:
        landed, silent = known_states(topics.specs, topics.connections)
        specs = {str(names.table): spec for spec, names in topics.pairs}
        states, down = [*with_refusals(landed, specs, topics.connections)], {**silent}
    try:
        states += derived_states(derived.specs, derived.connections) if derived.specs else []
    except Exception as e:  # noqa: BLE001 - the topics' tables are told all the same
        down |= {str(names.table): explain(e) for _, names in derived.pairs}
    return states, down


def row_of(state: State) -> dict[str, Any]:
    """A state for scripts."""
    row = asdict(state)
    if isinstance(state, DerivedState):
        return row
    unknown = {"lag": None, "freshness": None} if state.state == "unknown" else {}
    return {**row, **unknown, "position": {str(p): at for p, at in state.position.items()}}


def _made_of(state: State) -> str:
    return ", ".join(i.table for i in state.inputs) if isinstance(state, DerivedState) else state.topic
