"""What a table must hold, made anew of its inputs as they were when they were read; nothing is written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from frazil.connections import Connections
from frazil.derive.computation import Computation, computation_of
from frazil.derive.dead_letters import good_rows
from frazil.derive.inputs import Increment, at_head, is_same, rows_of, standing
from frazil.derive.kinds import kind_of
from frazil.derive.ledger import DerivedLedger, Position
from frazil.derive.plan import load_inputs
from frazil.landing.ledger import read_ledger
from frazil.spec.derived import DerivedSpec
from frazil.spec.names import things

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyspark.sql import DataFrame


__all__ = ["Recomputation"]


class Recomputation:
    """The rows that a table's ledger speaks of.

    Args:
        spec: The table.
        connections: The outside systems.
        ledger: What its head says.

    Raises:
        MissingError: An input is not there any more.
    """

    def __init__(self, spec: DerivedSpec, connections: Connections, ledger: DerivedLedger) -> None:
        self._spec, self._connections, self._ledger = spec, connections, ledger
        self._computation: Computation = computation_of(spec)
        namespace = things(spec, connections.settings).table.namespace
        self._names, self._inputs = load_inputs(connections.catalog, self._computation, namespace)

    @property
    def hindrance(self) -> str:
        """Why the rows can't be made anew; empty where they can."""
        late_left_out = self._spec.window and self._spec.window.late_rows != "update"
        if self._ledger.query != self._computation.fingerprint:
            return "the query is another by now"
        if self._computation.uses_now and self._spec.kind != "full":
            return "the query asks for :now, which was another time at each derivation"
        if self._ledger.total_late and late_left_out:
            return f"{self._ledger.total_late} rows came late and were left out"
        return next(filter(None, map(self._lost, self._inputs)), "")

    @contextmanager
    def rows(self) -> Iterator[DataFrame]:
        """All rows of the table, lazily."""
        spark = self._connections.spark
        frames = {
            said: rows_of(spark, name, self._inputs[str(name)], Increment(None, self._position(str(name))))
            for said, name in self._names.items()
        }
        with self._computation.upon(spark, frames, self._ledger.now or 0.0) as made:
            yield kind_of(self._spec.kind).shape(self._spec, good_rows(made))

    def _lost(self, name: str) -> str:
        table, position = self._inputs[name], self._ledger.inputs.get(name)
        landed = read_ledger(table.metadata)
        if position is None:
            return f"{name} was never read"
        if landed and landed.total_expired and self._spec.kind != "full":
            return f"rows of {name} have expired that were read before"
        if str(table.metadata.table_uuid) != position.uuid:
            return f"{name} is another table by now"
        if not _kept(table, position) and not _unmoved(table, position):
            return f"the snapshot of {name} that was read has expired"
        return ""

    def _position(self, name: str) -> Position:
        table, position = self._inputs[name], self._ledger.inputs[name]
        return position if _kept(table, position) else at_head(table)


def _kept(table: Table, position: Position) -> bool:
    return table.metadata.snapshot_by_id(position.snapshot) is not None


def _unmoved(table: Table, position: Position) -> bool:
    return standing(position, table) == "held" and is_same(table, position)
