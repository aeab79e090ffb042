"""`frazil demo`: the main job on the embedded stack, ending in one table that must add up."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.table import Table
from rich.text import Text

from frazil.checks.result import CheckResult
from frazil.checks.run import run_checks
from frazil.cli.console import console, print_json, print_table
from frazil.cli.selection import Json, Selection, select
from frazil.cli.views.tables import State, states_of
from frazil.connections import Connections
from frazil.derive.positions.state import DerivedState
from frazil.errors import AuditFailedError, FrazilError
from frazil.kafka.facts import topic_fact
from frazil.publishing.target import Shown
from frazil.publishing.targets import targets_of
from frazil.spec.names import AssetPath, Things
from frazil.spec.table import AnyTable
from frazil_local.cli.stack import Secure, up

app = typer.Typer()

TABLE = "stock_trades"
DERIVED = ("stock_trade_totals", "flagged_stock_trades", "anomalous_stock_trades")
"""Made of the trades: sums by minute, user, side and symbol; a flag for each; those that stand out."""

OTHERS = ("skyone", "sunset_avro", "shipments")
"""One topic of each other way to write records: JSON, Avro with decimals, Protobuf."""

_WORDS = {"passed": ("ok", "green"), "failed": ("no", "red"), "skipped": ("--", "")}
_EACH = 300
_WHILE = 5  # one record in five is produced while the second materialization runs

T = TypeVar("T")
Records = Annotated[int, typer.Option(min=1000, help="How many trades the first batch has.")]


@app.command("demo")
def demo(records: Records = 200_000, secure: Secure = None, as_json: Json = False) -> None:
    """Start the stack, let trades flow to Snowflake through Dagster, and prove that none was lost."""
    up(secure=secure)
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
    checking = "checks: every record compared with its row, every total summed up anew"
    every = _step(checking, lambda: _look(selection))
    print_json([layers.document for layers in every]) if as_json else _show(every, in_full=trades)
    for layers in every:
        _agree(layers)
    console.print("All layers agree. Open the graph with make ui; stop the stack with make down.")


def _step(text: str, work: Callable[[], T]) -> T:
    with console.status(text):
        done = work()
    console.print(Text("done", "green"), text)
    return done


def _generate(connections: Connections, topic: str, count: int) -> None:
    from frazil_local.generators import GENERATORS
    from frazil_local.generators.generator import generate  # 0.4 s of imports

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
    command += ["--select", selection_of(*names)]
    with log.open("w") as out:
        run = subprocess.run(command, stdout=out, stderr=out, env=env, check=False)
    if run.returncode:
        tail = "\n".join(log.read_text().splitlines()[-25:])
        raise FrazilError(
            f"Dagster's run failed.\n{tail}", where=str(log), todo="Read the log; then run the demo again."
        )


@dataclass(frozen=True, slots=True)
class _Layers:
    """One table in each layer, and what its checks say; offsets where it is made of a topic."""

    names: Things
    offsets: int | None
    iceberg: State
    shown: Sequence[Shown]
    results: Sequence[CheckResult]

    @property
    def document(self) -> dict[str, Any]:
        """The same for scripts."""
        rows = {shown.path[0]: shown.rows for shown in self.shown}
        checks = {result.check: result.passed for result in self.results}
        return {
            "table": self.iceberg.identifier, "offsets": self.offsets,
            "rows": {"iceberg": self.iceberg.rows, **rows}, "checks": checks,
        }  # fmt: skip

    def passed(self, asset: AssetPath) -> str:
        """How many of an asset's checks passed, of how many."""
        verdicts = [r.passed for r in self.results if r.asset == asset]
        return f"{sum(verdicts)}/{len(verdicts)}"

    @property
    def rows(self) -> set[int]:
        """Rows of each layer: one number where all agree."""
        counted = {self.iceberg.rows, *(s.rows for s in self.shown if s.rows is not None)}
        return counted if self.offsets is None else counted | {self.offsets}


def _look(selection: Selection[AnyTable]) -> list[_Layers]:
    """All layers of all tables, every check made, the deep ones too."""
    connections = selection.connections
    results = run_checks(selection.specs, connections, deep=True)
    pairs = zip(selection.pairs, states_of(selection).reports, strict=True)
    return [_layers(connections, spec, names, state, results) for (spec, names), state in pairs]


def _show(every: Sequence[_Layers], in_full: Collection[str]) -> None:
    """One table of all; all checks of the tables that are told in full, of the others what they refuse."""
    table = Table("layer", "what", "rows", "position", "fresh", "checks", title="From Kafka to Snowflake")
    for layers in every:
        for row in _rows(layers):
            table.add_row(*row)
        table.add_section()
    print_table(table)
    for layers in every:
        _tell(layers, all_of_them=layers.names.table.table in in_full)


def _agree(layers: _Layers) -> None:
    """Raises unless all layers hold the same rows, and all checks passed."""
    if len(layers.rows) > 1 or any(r.failed for r in layers.results):
        kafka = "" if layers.offsets is None else f"Kafka {layers.offsets}, "
        raise AuditFailedError(
            f"The layers of {layers.names.table} do not agree.",
            where=f"{kafka}Iceberg {layers.iceberg.rows}"
            + "".join(f", {s.path[0].capitalize()} {s.rows}" for s in layers.shown if s.rows is not None),
            todo="Read what each check says above.",
        )


def _layers(
    connections: Connections, spec: AnyTable, names: Things, state: State, results: list[CheckResult]
) -> _Layers:
    facts = topic_fact(connections.admin, names.topic) if names.topic else None
    seen = [target.read(connections) for target in targets_of(spec, connections.settings)]
    return _Layers(
        names=names,
        offsets=sum(end - facts.first[p] for p, end in facts.end.items()) if facts else None,
        iceberg=state,
        shown=[shown for shown in seen if shown],
        results=[r for r in results if r.table == str(names.table)],
    )


def _tell(layers: _Layers, *, all_of_them: bool) -> None:
    for result in layers.results:
        if all_of_them or result.failed:
            line = f"{layers.names.table.table} {result.check}: {result.text}"
            console.print(Text(*_WORDS[result.status]), line)


def _rows(layers: _Layers) -> Iterator[tuple[str, ...]]:
    names, state = layers.names, layers.iceberg
    fresh = "current" if not state.lag else f"{state.lag:,} behind"
    if layers.offsets is not None:
        yield "Kafka", names.topic, f"{layers.offsets:,}", "", "", ""
    iceberg = layers.passed(names.iceberg_path)
    yield "Iceberg", str(names.table), f"{state.rows:,}", _position(state), fresh, iceberg
    for s in layers.shown:
        rows = "" if s.rows is None else f"{s.rows:,}"
        version = f"version {s.facts['version']}" if "version" in s.facts else ""
        yield s.path[0].capitalize(), s.name, rows, version, "", layers.passed(s.path)


def _position(state: State) -> str:
    if isinstance(state, DerivedState):
        return "of " + ", ".join(each.table for each in state.inputs)
    return " ".join(f"{p}:{to}" for p, to in sorted(state.position.items()))
