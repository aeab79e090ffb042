"""`frazil demo`: the main job on the embedded stack, ending in one table that must add up."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, TypeVar

import typer
from rich.text import Text

from frazil.cli.console import console
from frazil.cli.layers import agree, look, show
from frazil.cli.selection import select
from frazil.cli.stack import up
from frazil.connections import Connections
from frazil.errors import FrazilError

__all__ = ["register", "selection_of"]

TABLE = "stock_trades"
DERIVED = ("stock_trade_totals", "flagged_stock_trades", "anomalous_stock_trades")
"""Made of the trades: sums by minute, user, side and symbol; a flag for each; those that stand out."""

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
    selection = select([TABLE, *DERIVED, *OTHERS], every=False)
    connections, trades = selection.connections, (TABLE, *DERIVED)
    _step(f"{records:,} trades into Kafka", lambda: _generate(connections, TABLE, records))
    _step("Dagster: topic, Iceberg, Glue, Snowflake", lambda: _materialize(connections, TABLE))
    more = threading.Thread(target=_generate, args=(connections, TABLE, records // _WHILE))
    more.start()
    _step(
        f"the same, and totals and flags of it, while {records // _WHILE:,} more arrive",
        lambda: _materialize(connections, *trades),
    )
    more.join()
    _step(f"{_EACH} records into each of {', '.join(OTHERS)}", lambda: _others(connections))
    _step("what arrived meanwhile, in every format", lambda: _materialize(connections, *trades, *OTHERS))
    found = _step("checks: every offset counted, every total summed up anew", lambda: look(selection))
    show(found, in_full=trades)
    for layers in found:
        agree(layers)
    console.print("All layers agree. Open the graph with make ui; stop the stack with make down.")


def _step(text: str, work: Callable[[], T]) -> T:
    with console.status(text):
        done = work()
    console.print(Text("done", "green"), text)
    return done


def _generate(connections: Connections, topic: str, count: int) -> None:
    from frazil.local.generators.generator import generate  # 0.4 s of imports
    from frazil.local.generators.kinds import GENERATORS

    generate(GENERATORS[topic], connections.settings, count=count)


def _others(connections: Connections) -> None:
    for topic in OTHERS:
        _generate(connections, topic, _EACH)


def selection_of(*names: str) -> str:
    """All assets of some tables, as Dagster reads it."""
    return " or ".join(f'key:"*/{name}"' for name in names)


def _materialize(connections: Connections, *names: str) -> None:
    """Runs the graph as a shell would; what Dagster says goes to a file."""
    home = connections.settings.dagster_home or Path.cwd()
    log = home / "demo.log"
    command = [sys.executable, "-m", "dagster", "asset", "materialize", "-m", "frazil.definitions"]
    env = {**os.environ, "DAGSTER_HOME": str(home)}
    with log.open("w") as out:
        run = subprocess.run(
            [*command, "--select", selection_of(*names)], stdout=out, stderr=out, env=env, check=False
        )
    if run.returncode:
        tail = "\n".join(log.read_text().splitlines()[-25:])
        raise FrazilError(
            f"Dagster's run failed.\n{tail}", where=str(log), todo="Read the log; then run the demo again."
        )
