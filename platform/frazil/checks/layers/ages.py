"""How far a layer is behind the one before it, now. So one cause makes one layer late, not all behind it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from frazil.connections import Connections
from frazil.derive.positions.state import DerivedState, derived_states
from frazil.errors import FrazilError, RetryError
from frazil.landing.position.state import BLOCKED, TableState, table_states
from frazil.publishing.pointer import is_foreign, is_in_step, metadata_shown
from frazil.publishing.reading import Seen, read_all
from frazil.publishing.target import Shown, Target
from frazil.publishing.targets import targets_of
from frazil.spec.derived import DerivedSpec
from frazil.spec.names import AssetPath
from frazil.spec.table import AnyTable
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.handle import handle_of
from frazil.tables.metadata.snapshots import ancestors, made_at
from frazil.upkeep.expiry.references import pointer_of

if TYPE_CHECKING:
    from pyiceberg.table import Table


@dataclass(frozen=True, slots=True)
class Age:
    """How far one layer is behind.

    Args:
        seconds: 0 where it has all that the layer before it has; None: not known.
        text: What it lacks, or why that is not known.
    """

    seconds: float | None
    text: str

    @classmethod
    def unknown(cls, because: str) -> Age:
        """Nobody can tell."""
        return cls(None, because.rstrip("."))


def table_age(spec: AnyTable, connections: Connections) -> Age:
    """How far the Iceberg table is behind its topic, or its inputs.

    Raises:
        PartDownError: Kafka or the catalog does not answer.
    """
    if isinstance(spec, DerivedSpec):
        return age_of_state(derived_states([spec], connections)[0])
    assert isinstance(spec, TableSpec)
    return age_of_state(table_states([spec], connections)[0])


def age_of_state(state: TableState | DerivedState) -> Age:
    """The same of a table that was looked at already; of one that is stopped other checks tell."""
    if state.freshness is None and not state.lag:
        return Age(0.0, "Nothing waits")
    if state.freshness is None or state.state in ("unknown", "topic missing"):
        return Age.unknown(state.reason or f"the table is {state.state}")
    if isinstance(state, TableState) and state.state in BLOCKED:
        return Age.unknown(f"the table is {state.state}, of which `freshness` tells")
    what = "records" if isinstance(state, TableState) else "rows"
    waits = f"{state.lag:,} {what} wait, for {state.freshness:,.0f} s" if state.lag else "Nothing waits"
    return Age(state.freshness, waits)


def target_age(target: Target, spec: AnyTable, connections: Connections, now: float | None = None) -> Age:
    """How far a target is behind the layer that it follows.

    Raises:
        RetryError: The catalog or the target does not answer.
    """
    targets = targets_of(spec, connections.settings)
    seen = read_all([t for t in targets if t.path in (target.path, target.upstream)], connections)
    if isinstance(error := seen[target.path], RetryError):
        raise error
    table = handle_of(spec, connections).load()
    return age_in(target, seen, table, time.time() if now is None else now)


def age_in(target: Target, seen: Mapping[AssetPath, Seen], table: Table, now: float) -> Age:
    """The same of targets that were read already."""
    own, before = seen[target.path], seen.get(target.upstream)
    if isinstance(own, FrazilError):
        return Age.unknown(own.what)
    if table.current_snapshot() is None:
        return Age(0.0, "The table has no rows yet")
    if own is None:
        first = min(map(made_at, ancestors(table.metadata)))
        return Age(now - first, f"{target.word.capitalize()} has no {target.relations[0]}")
    if is_foreign(table, own):
        return Age.unknown(f"another engine committed to {own.name}")
    if is_in_step(table, own.metadata_location):
        return Age(0.0, f"{own.name} shows the newest rows")
    if isinstance(before, Shown) and before.metadata_location == own.metadata_location:
        return Age(0.0, f"{own.name} shows what {before.name} shows, which is behind")
    return _behind(target, own, table, now)


def _behind(target: Target, own: Shown, table: Table, now: float) -> Age:
    reader = pointer_of(target, own, table)
    if reader is None or metadata_shown(table, own.metadata_location) is None:
        return Age.unknown(f"what {own.name} shows is gone")
    if reader.since is None:
        return Age(0.0, f"{own.name} lacks nothing but upkeep's work")
    late = reader.lag(now)
    return Age(late, f"{own.name} has lacked a commit for {late:,.0f} s")
