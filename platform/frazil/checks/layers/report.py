"""Every layer of tables: how far it is behind now, what is allowed, and how long commits took to reach it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from frazil.checks.layers.ages import Age, age_in, age_of_state
from frazil.checks.layers.history import Delay, Delays, landing_delays
from frazil.connections import Connections, apart
from frazil.derive.positions.state import DerivedState
from frazil.errors import FrazilError, explain
from frazil.landing.position.state import TableState
from frazil.publishing.reading import Seen, read_all
from frazil.publishing.target import Target
from frazil.publishing.targets import targets_of
from frazil.spec.freshness import TABLE, Allowed
from frazil.spec.names import AssetPath, things
from frazil.spec.table import AnyTable
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.catalog import catalog_errors
from frazil.tables.catalogs.handle import handle_of

if TYPE_CHECKING:
    from pyiceberg.table import Table

_AT_ONCE = 8

States = Mapping[str, TableState | DerivedState]
"""By name how tables stand; one is missing where a server kept silent."""


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer of one table."""

    table: str
    layer: str  # `iceberg`, or the word of a target
    age: Age
    allowed: Allowed | None
    delays: Delays


@dataclass(frozen=True, slots=True)
class Layers:
    """Asks for the layers of tables.

    Args:
        states: How the tables stand beside what they are made of.
        shown: By target what was kept of how long commits took to be shown; None: nothing is kept.
        since: Of which time delays are counted.
    """

    connections: Connections
    states: States
    shown: Mapping[AssetPath, Sequence[Delay]] | None
    since: float
    now: float

    def of(self, specs: Sequence[AnyTable]) -> list[Layer]:
        """All layers of all tables, in order."""
        return [layer for part in apart(specs, self.connections) for layer in self._of_part(*part)]

    def _of_part(self, specs: Sequence[AnyTable], connections: Connections) -> Iterator[Layer]:
        targets = [target for spec in specs for target in targets_of(spec, connections.settings)]
        seen = read_all(targets, connections)
        with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="layers") as pool:
            tables = pool.map(lambda spec: _loaded(spec, connections), specs)
            for spec, table in zip(specs, tables, strict=True):
                name = str(things(spec, connections.settings).table)
                yield self._table(spec, name, table)
                for target in targets_of(spec, connections.settings):
                    yield self._target(spec, name, target, self._age(target, seen, table))

    def _age(self, target: Target, seen: Mapping[AssetPath, Seen], table: Table | FrazilError) -> Age:
        if isinstance(table, FrazilError):
            return Age.unknown(table.what)
        return age_in(target, seen, table, self.now)

    def _table(self, spec: AnyTable, name: str, table: Table | FrazilError) -> Layer:
        state = self.states.get(name)
        age = age_of_state(state) if state else Age.unknown("a server does not answer")
        delays = Delays(None)
        if isinstance(spec, TableSpec) and not isinstance(table, FrazilError):
            delays = landing_delays(table.metadata, self.since)
        return Layer(name, TABLE, age, spec.fresh_within.get(TABLE), delays)

    def _target(self, spec: AnyTable, name: str, target: Target, age: Age) -> Layer:
        kept = None if self.shown is None else tuple(self.shown.get(target.path, ()))
        return Layer(name, target.word, age, spec.fresh_within.get(target.word), Delays(kept))


def _loaded(spec: AnyTable, connections: Connections) -> Table | FrazilError:
    try:
        with catalog_errors(connections.settings):
            return handle_of(spec, connections).load()
    except Exception as e:  # noqa: BLE001 - it is why nothing is known of this table
        return explain(e)
