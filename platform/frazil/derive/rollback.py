"""Rollback of a derived table: what came after a snapshot is made once more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from frazil.connections import Connections
from frazil.derive.ledger import DerivedLedger
from frazil.spec.derived import DerivedSpec
from frazil.spec.names import things
from frazil.tables.catalog import catalog_errors
from frazil.tables.rollback import Rollback, report_of, turn_back

__all__ = ["DerivedRollback", "roll_back_derived"]

_FOLLOWS = "The next derivation makes what came later once more."


@dataclass(frozen=True, kw_only=True)
class DerivedRollback(Rollback):
    """What one rollback did.

    Args:
        inputs: The snapshot of each input behind which the next derivation begins; empty: it reads all.
    """

    inputs: Mapping[str, int]


def roll_back_derived(spec: DerivedSpec, connections: Connections, to: int | datetime) -> DerivedRollback:
    """Takes a table and its position back; see `turn_back`."""
    name = things(spec, connections.settings).table
    with catalog_errors(connections.settings):
        turn = turn_back(connections.catalog, name, to, DerivedLedger)
    read = turn.told.entry.inputs if turn.told.entry else {}
    base = report_of(name, turn, _FOLLOWS, published=bool(spec.publish))
    return DerivedRollback(**vars(base), inputs={each: at.snapshot for each, at in read.items()})
