"""Pause: nobody lands into a table until it is resumed. Upkeep, repairs and readers go on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from frazil.connections import Connections
from frazil.errors import PausedError
from frazil.landing.halts.halt import halt
from frazil.landing.position.ledger import Ledger, read_ledger
from frazil.landing.position.state import known_states, raise_first
from frazil.spec.names import things
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.catalog import catalog_errors
from frazil.tables.catalogs.handle import writable_handle
from frazil.tables.commits.suspension import PAUSE, SUSPENDED


@dataclass(frozen=True, slots=True)
class PauseReport:
    """A table that is paused.

    `reason`: who paused it, when, and why. `changed`: whether it was not paused before. `position`: by
    partition the next offset that is landed once it is resumed.
    """

    table: str
    topic: str
    reason: str
    changed: bool
    position: Mapping[int, int]


def pause(
    spec: TableSpec, connections: Connections, because: str, *, by: str = "", run_id: str = ""
) -> PauseReport:
    """Stops the landing of a table until `resume`; one that is under way is dropped.

    A table that is paused already stays as it is: the report says who paused it first.

    Raises:
        NotYetError: Nothing was landed yet.
        StopError: The topic was released to Tableflow.
    """
    handle = writable_handle(spec, connections)
    reason = _reason(by, because, datetime.now(UTC))

    def say(_: Ledger) -> str:
        return reason

    with catalog_errors(connections.settings):
        try:
            ledger: Ledger | None = halt(handle, PAUSE, reason, say, run_id=run_id)
            changed = True
        except PausedError:
            table, changed = handle.load(), False
            ledger, reason = read_ledger(table.metadata), table.properties.get(SUSPENDED, reason)
    return PauseReport(str(handle), spec.topic, reason, changed, ledger.position if ledger else {})


def paused(specs: Sequence[TableSpec], connections: Connections) -> list[TableSpec]:
    """Those of some tables that are paused.

    Raises:
        PartDownError: The catalog does not answer.
    """
    states, down = known_states(specs, connections)
    raise_first(down.values())
    names = {state.identifier for state in states if state.state == "paused"}
    return [spec for spec in specs if str(things(spec, connections.settings).table) in names]


def _reason(by: str, because: str, at: datetime) -> str:
    return f"paused{f' by {by}' if by else ''} on {at:%F %T} UTC: {because}"
