"""A landing that is written and audited, as it is published."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from frazil.errors import OvertakenError
from frazil.landing.ledger import Ledger, read_ledger
from frazil.spec.names import TableName
from frazil.tables.branches import LANDING
from frazil.tables.stage import Staged

if TYPE_CHECKING:
    from pyiceberg.table import Table

__all__ = ["Landed"]


@dataclass(frozen=True)
class Landed(Staged):
    """Files of records, and the position that they bring the table to.

    Args:
        ledger: What the snapshot will say, but for its totals.
        base: The position that the plan started from; None where the table had none.
    """

    rivals: ClassVar[str] = LANDING

    ledger: Ledger
    base: Mapping[int, int] | None

    def upon(self, name: TableName, table: Table) -> Ledger:
        """See `Staged.upon`."""
        before = read_ledger(table.metadata)
        position = before.position if before else None
        if position != self.base:
            raise OvertakenError(
                f"Another landing of {name} was quicker; this one was dropped.",
                where=f"position now {position}, planned from {dict(self.base or {})}",
                meaning="Every record is in the table exactly once; nothing of this landing is visible.",
                todo="Nothing. Land again if more records wait.",
            )
        return self.ledger.following(before)
