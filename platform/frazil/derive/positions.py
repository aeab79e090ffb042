"""Whether a position still means anything to its input, after all that happened to that one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from frazil.derive.ledger import Position
from frazil.errors import MissingError
from frazil.tables.snapshots import ancestors, is_first

if TYPE_CHECKING:
    from pyiceberg.table import Table

__all__ = ["Inputs", "Standing", "all_held", "at_head", "none_went_back", "standing"]

Inputs = Mapping[str, "Table"]
"""The inputs as they are now, by `namespace.table`."""

Standing = Literal["held", "rolled_back", "expired", "recreated"]
"""held: the input only went on; rolled_back: it no longer has rows that were read; expired: nothing tells
any more which; recreated: it is another table of the same name."""


def at_head(table: Table) -> Position:
    """The position of whoever read all of an input.

    Raises:
        MissingError: It has no snapshot yet.
    """
    head = next(ancestors(table.metadata), None)
    if head is None:
        raise MissingError(
            f"Table {'.'.join(table.name())} has no snapshot yet: nothing was ever written to it.",
            meaning="Nothing was derived from it.",
            todo="Land its topic, or derive it, first.",
        )
    return Position(str(table.metadata.table_uuid), head.snapshot_id, head.sequence_number or 0)


def standing(position: Position, table: Table) -> Standing:
    """What became of an input since it was read up to there."""
    if str(table.metadata.table_uuid) != position.uuid:
        return "recreated"
    line = list(ancestors(table.metadata))
    if any(s.snapshot_id == position.snapshot for s in line):
        return "held"
    oldest = line[-1] if line else None
    if oldest is None or is_first(oldest):
        return "rolled_back"
    if oldest.parent_snapshot_id == position.snapshot:  # expired, but all that came later is there
        return "held"
    # Sequence numbers grow along a branch: what is younger than the oldest would stand in the line.
    return "rolled_back" if position.sequence >= (oldest.sequence_number or 0) else "expired"


def all_held(positions: Mapping[str, Position], inputs: Inputs) -> bool:
    """Whether a table at these positions holds nothing that its inputs do not."""
    return positions.keys() == inputs.keys() and all(
        standing(position, inputs[name]) == "held" for name, position in positions.items()
    )


def none_went_back(positions: Mapping[str, Position], inputs: Inputs) -> bool:
    """Whether no input is known to have lost rows that were read; they may have expired."""
    return not any(
        standing(position, inputs[name]) == "rolled_back"
        for name, position in positions.items()
        if name in inputs
    )
