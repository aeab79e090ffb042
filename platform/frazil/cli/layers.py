"""What each layer of some tables holds, side by side, and what the checks say of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from rich.table import Table
from rich.text import Text

from frazil.checks.result import CheckResult
from frazil.checks.run import run_checks
from frazil.cli.console import console, print_table
from frazil.cli.selection import Selection
from frazil.cli.tables import State, states_of
from frazil.connections import Connections
from frazil.derive.state import DerivedState
from frazil.errors import AuditFailedError
from frazil.kafka.facts import topic_fact
from frazil.publishing.target import Shown
from frazil.publishing.targets import targets_of
from frazil.spec.names import AssetPath, Things
from frazil.spec.table import AnyTable

__all__ = ["Layers", "agree", "look", "show"]


@dataclass(frozen=True, slots=True)
class Layers:
    """One table, from what it is made of to Snowflake.

    Args:
        names: Of its things.
        offsets: Of its topic; None where it is made of other tables.
        iceberg: The table itself.
        shown: What each target shows.
        results: What its checks say.
    """

    names: Things
    offsets: int | None
    iceberg: State
    shown: Sequence[Shown]
    results: Sequence[CheckResult]

    def passed(self, asset: AssetPath) -> str:
        """How many of an asset's checks passed, of how many."""
        verdicts = [r.passed for r in self.results if r.asset == asset]
        return f"{sum(verdicts)}/{len(verdicts)}"

    @property
    def rows(self) -> set[int]:
        """Rows of each layer: one number where all agree."""
        counted = {self.iceberg.rows, *(s.rows for s in self.shown if s.rows is not None)}
        return counted if self.offsets is None else counted | {self.offsets}


def look(selection: Selection[AnyTable]) -> list[Layers]:
    """All layers of all tables, every check made, the deep ones too."""
    connections = selection.connections
    results = run_checks(selection.specs, connections, deep=True)
    pairs = zip(selection.pairs, states_of(selection), strict=True)
    return [_layers(connections, spec, names, state, results) for (spec, names), state in pairs]


def show(found: Sequence[Layers], in_full: Collection[str]) -> None:
    """One table of all, and what the checks say.

    Args:
        found: What to show.
        in_full: Tables whose checks are all told; of the others only what they refuse.
    """
    table = Table("layer", "what", "rows", "position", "fresh", "checks", title="From Kafka to Snowflake")
    for layers in found:
        for row in _rows(layers):
            table.add_row(*row)
        table.add_section()
    print_table(table)
    for layers in found:
        _tell(layers, all_of_them=layers.names.table.table in in_full)


def agree(layers: Layers) -> None:
    """Raises unless all layers hold the same rows, and all checks passed.

    Raises:
        AuditFailedError: They do not; the text says what each one holds.
    """
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
) -> Layers:
    facts = topic_fact(connections.admin, names.topic) if names.topic else None
    seen = [target.read(connections) for target in targets_of(spec, connections.settings)]
    return Layers(
        names=names,
        offsets=sum(end - facts.first[p] for p, end in facts.end.items()) if facts else None,
        iceberg=state,
        shown=[shown for shown in seen if shown],
        results=[r for r in results if r.table == str(names.table)],
    )


def _tell(layers: Layers, *, all_of_them: bool) -> None:
    for result in layers.results:
        if all_of_them or result.failed:
            word, colour = {"passed": ("ok", "green"), "failed": ("no", "red"), "skipped": ("--", "")}[
                result.status
            ]
            said = f"{layers.names.table.table} {result.check}: {result.text}"
            console.print(Text(word, colour), said)


def _rows(layers: Layers) -> Iterator[tuple[str, ...]]:
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
