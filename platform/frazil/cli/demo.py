"""`frazil demo`: the main job on the embedded stack, ending in one table that must add up."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeVar

import typer
from rich.table import Table

from frazil.catalogs.glue_entries import read_glue
from frazil.checks.result import CheckResult
from frazil.checks.run import CHECKS, run_checks
from frazil.cli.console import console, print_table
from frazil.cli.selection import select
from frazil.cli.stack import up
from frazil.connections import Connections
from frazil.errors import AuditFailedError, FrazilError
from frazil.landing.state import TableState, table_states
from frazil.naming import Things
from frazil.topics.facts import topic_fact
from frazil.warehouse.tables import SnowflakeState, read_table

__all__ = ["register"]

TABLE = "stock_trades"
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
    selection = select([TABLE], every=False)
    connections = selection.connections
    _step(f"{records:,} trades into Kafka", lambda: _generate(connections, records))
    _step("Dagster: topic, Iceberg, Glue, Snowflake", lambda: _materialize(connections))
    more = threading.Thread(target=_generate, args=(connections, records // _WHILE))
    more.start()
    _step(f"the same while {records // _WHILE:,} more arrive", lambda: _materialize(connections))
    more.join()
    _step("what arrived meanwhile", lambda: _materialize(connections))
    spec, names = next(iter(selection.pairs))
    layers = _look(connections, names, table_states([spec], connections)[0])
    results = _step("checks, every offset counted", lambda: run_checks([spec], connections, deep=True))
    _show(names, layers, results)
    _agree(layers, results)
    console.print("All layers agree. Open the graph with [bold]make ui[/]; stop the stack with make down.")


@dataclass(frozen=True, slots=True)
class Layers:
    """What each layer holds."""

    offsets: int
    iceberg: TableState
    glue_version: str
    snowflake: SnowflakeState


def _step(text: str, work: Callable[[], T]) -> T:
    with console.status(text):
        done = work()
    console.print(f"[green]done[/] {text}")
    return done


def _generate(connections: Connections, count: int) -> None:
    from frazil.local.generators.stock_trades import generate_stock_trades  # 0.4 s of imports

    generate_stock_trades(connections.settings, count=count)


def _materialize(connections: Connections) -> None:
    """Runs the graph as a shell would; what Dagster says goes to a file."""
    home = connections.settings.dagster_home or Path.cwd()
    log = home / "demo.log"
    command = [sys.executable, "-m", "dagster", "asset", "materialize", "-m", "frazil.definitions"]
    env = {**os.environ, "DAGSTER_HOME": str(home)}
    with log.open("w") as out:
        run = subprocess.run(
            [*command, "--select", f"key:*{TABLE}"], stdout=out, stderr=out, env=env, check=False
        )
    if run.returncode:
        tail = "\n".join(log.read_text().splitlines()[-25:])
        raise FrazilError(
            f"Dagster's run failed.\n{tail}", where=str(log), todo="Read the log; then run the demo again."
        )


def _look(connections: Connections, names: Things, state: TableState) -> Layers:
    facts = topic_fact(connections.admin, names.topic)
    entry = read_glue(connections.glue, names)
    return Layers(
        offsets=sum(end - facts.first[p] for p, end in facts.end.items()),
        iceberg=state,
        glue_version=entry.version_id if entry else "none",
        snowflake=read_table(connections, names),
    )


def _show(names: Things, layers: Layers, results: list[CheckResult]) -> None:
    table = Table("layer", "what", "rows", "position", "fresh", "checks", title="From Kafka to Snowflake")
    state = layers.iceberg
    at = " ".join(f"{p}:{to}" for p, to in sorted(state.position.items()))
    fresh = "current" if not state.lag else f"{state.lag:,} behind"
    passed = {
        layer: f"{sum(r.passed for r in found)}/{len(found)}" for layer, found in _by_layer(results).items()
    }
    table.add_row("Kafka", names.topic, f"{layers.offsets:,}", "", "", "")
    table.add_row("Iceberg", str(names.table), f"{state.rows:,}", at, fresh, passed["iceberg"])
    glue = f"{names.glue_database}.{names.table.table}"
    table.add_row("Glue", glue, "", f"version {layers.glue_version}", "", passed["glue"])
    flake = layers.snowflake
    table.add_row(
        "Snowflake", f"{flake.schema}.{flake.table}", f"{flake.rows:,}", "", "", passed["snowflake"]
    )
    print_table(table)
    for result in results:
        console.print(f"{'[green]ok[/]' if result.passed else '[red]no[/]'} {result.check}: {result.text}")


def _by_layer(results: list[CheckResult]) -> dict[str, list[CheckResult]]:
    layers = ("iceberg", "glue", "snowflake")
    return {layer: [r for r in results if CHECKS[r.check].asset == layer] for layer in layers}


def _agree(layers: Layers, results: list[CheckResult]) -> None:
    rows = {layers.offsets, layers.iceberg.rows, layers.snowflake.rows}
    if len(rows) > 1 or not all(r.passed for r in results):
        raise AuditFailedError(
            "The layers do not agree.",
            where=f"Kafka {layers.offsets}, Iceberg {layers.iceberg.rows}, Snowflake {layers.snowflake.rows}",
            todo="Read what each check says above.",
        )
