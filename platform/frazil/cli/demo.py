"""`frazil demo`: the main job on the embedded stack, ending in one table that must add up."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeVar

import typer
from rich.table import Table

from frazil.catalogs.glue_entries import read_glue
from frazil.checks.result import CheckResult
from frazil.checks.run import run_checks
from frazil.cli.console import console, print_table
from frazil.cli.selection import Selection, select_topics
from frazil.cli.stack import up
from frazil.connections import Connections
from frazil.errors import AuditFailedError, FrazilError
from frazil.landing.state import TableState, table_states
from frazil.naming import Things
from frazil.spec import TableSpec
from frazil.topics.facts import topic_fact
from frazil.warehouse.tables import SnowflakeState, read_table

__all__ = ["register"]

TABLE = "stock_trades"
OTHERS = ("skyone", "sunset_avro", "shipments")
"""One topic of each other way to write records: JSON, Avro with decimals, Protobuf."""

_EACH = 300
_WHILE = 5
"""One part in so many of the records is produced while the second materialization runs."""

T = TypeVar("T")
Records = Annotated[int, typer.Option(min=1000, help="Trades of the first batch.")]


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("demo")(demo)


def demo(records: Records = 200_000) -> None:
    """Start the stack, let trades flow to Snowflake through Dagster, and prove that none was lost."""
    up()
    selection = select_topics([TABLE, *OTHERS], every=False)
    connections = selection.connections
    _step(f"{records:,} trades into Kafka", lambda: _generate(connections, TABLE, records))
    _step("Dagster: topic, Iceberg, Glue, Snowflake", lambda: _materialize(connections, TABLE))
    more = threading.Thread(target=_generate, args=(connections, TABLE, records // _WHILE))
    more.start()
    _step(f"the same while {records // _WHILE:,} more arrive", lambda: _materialize(connections, TABLE))
    more.join()
    _step(f"{_EACH} records into each of {', '.join(OTHERS)}", lambda: _others(connections))
    _step("what arrived meanwhile, in every format", lambda: _materialize(connections, TABLE, *OTHERS))
    found = _step("checks, every offset counted", lambda: _look(selection))
    _show(found)
    for layers in found:
        _agree(layers)
    console.print("All layers agree. Open the graph with [bold]make ui[/]; stop the stack with make down.")


@dataclass(frozen=True, slots=True)
class Layers:
    """What each layer of one topic holds, and what the checks say of it."""

    names: Things
    offsets: int
    iceberg: TableState
    glue_version: str
    snowflake: SnowflakeState
    results: list[CheckResult]

    def passed(self, layer: str) -> str:
        """How many of a layer's checks passed, of how many."""
        verdicts = [r.passed for r in self.results if r.layer == layer]
        return f"{sum(verdicts)}/{len(verdicts)}"


def _step(text: str, work: Callable[[], T]) -> T:
    with console.status(text):
        done = work()
    console.print(f"[green]done[/] {text}")
    return done


def _generate(connections: Connections, topic: str, count: int) -> None:
    from frazil.local.generators.generator import generate  # 0.4 s of imports
    from frazil.local.generators.known import GENERATORS

    generate(GENERATORS[topic], connections.settings, count=count)


def _others(connections: Connections) -> None:
    for topic in OTHERS:
        _generate(connections, topic, _EACH)


def _materialize(connections: Connections, *topics: str) -> None:
    """Runs the graph as a shell would; what Dagster says goes to a file."""
    home = connections.settings.dagster_home or Path.cwd()
    log = home / "demo.log"
    command = [sys.executable, "-m", "dagster", "asset", "materialize", "-m", "frazil.definitions"]
    wanted = " or ".join(f"key:*{topic}" for topic in topics)
    env = {**os.environ, "DAGSTER_HOME": str(home)}
    with log.open("w") as out:
        run = subprocess.run([*command, "--select", wanted], stdout=out, stderr=out, env=env, check=False)
    if run.returncode:
        tail = "\n".join(log.read_text().splitlines()[-25:])
        raise FrazilError(
            f"Dagster's run failed.\n{tail}", where=str(log), todo="Read the log; then run the demo again."
        )


def _look(selection: Selection[TableSpec]) -> list[Layers]:
    """All layers of all topics."""
    specs, connections = selection.specs, selection.connections
    results = run_checks(specs, connections, deep=True)
    states = table_states(specs, connections)
    pairs = zip(selection.pairs, states, strict=True)
    return [_layers(connections, names, state, results) for (_, names), state in pairs]


def _layers(connections: Connections, names: Things, state: TableState, results: list[CheckResult]) -> Layers:
    facts = topic_fact(connections.admin, names.topic)
    entry = read_glue(connections.glue, names)
    return Layers(
        names=names,
        offsets=sum(end - facts.first[p] for p, end in facts.end.items()),
        iceberg=state,
        glue_version=entry.version_id if entry else "none",
        snowflake=read_table(connections, names),
        results=[r for r in results if r.table == str(names.table)],
    )


def _show(found: list[Layers]) -> None:
    table = Table("layer", "what", "rows", "position", "fresh", "checks", title="From Kafka to Snowflake")
    for layers in found:
        for row in _rows(layers):
            table.add_row(*row)
        table.add_section()
    print_table(table)
    for layers in found:
        _tell(layers, all_of_them=layers is found[0])


def _tell(layers: Layers, *, all_of_them: bool) -> None:
    """What the checks of one topic say; of those beside the trades, only what they refuse."""
    for result in layers.results:
        if all_of_them or not result.passed:
            verdict = "[green]ok[/]" if result.passed else "[red]no[/]"
            console.print(f"{verdict} {layers.names.topic} {result.check}: {result.text}")


def _rows(layers: Layers) -> Iterator[tuple[str, ...]]:
    names, state, flake = layers.names, layers.iceberg, layers.snowflake
    at = " ".join(f"{p}:{to}" for p, to in sorted(state.position.items()))
    fresh = "current" if not state.lag else f"{state.lag:,} behind"
    glue = f"{names.glue_database}.{names.table.table}"
    yield "Kafka", names.topic, f"{layers.offsets:,}", "", "", ""
    yield "Iceberg", str(names.table), f"{state.rows:,}", at, fresh, layers.passed("iceberg")
    yield "Glue", glue, "", f"version {layers.glue_version}", "", layers.passed("glue")
    yield "Snowflake", f"{flake.schema}.{flake.table}", f"{flake.rows:,}", "", "", layers.passed("snowflake")


def _agree(layers: Layers) -> None:
    rows = {layers.offsets, layers.iceberg.rows, layers.snowflake.rows}
    if len(rows) > 1 or not all(r.passed for r in layers.results):
        raise AuditFailedError(
            f"The layers of {layers.names.topic} do not agree.",
            where=f"Kafka {layers.offsets}, Iceberg {layers.iceberg.rows}, Snowflake {layers.snowflake.rows}",
            todo="Read what each check says above.",
        )
