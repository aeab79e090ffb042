"""What a rebuild of a catalog found, and did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from frazil.derive.positions.ledger import DerivedLedger
from frazil.errors import FrazilError, PositionLostError
from frazil.landing.position.ledger import read_ledger
from frazil.spec.names import TableName
from frazil.tables.metadata.snapshots import rows_in_summary, summary_of
from frazil.upkeep.recovery.states import State

if TYPE_CHECKING:
    from pyiceberg.table.metadata import TableMetadata

Outcome = Literal["rebuilt", "found", "there", "failed"]
"""`found`: a dry run would rebuild it; `there`: the catalog has it already, and it was left alone."""


@dataclass(frozen=True)
class Rebuilt:
    """One table.

    Attributes:
        table: Its name.
        location: Where it lies.
        outcome: What became of it.
        metadata: The metadata file that the catalog names now.
        committed: When that state was committed.
        snapshot_id: Its head.
        rows: As the head's summary counts them.
        refs: Its branches and tags but `main`.
        holds: How far it was landed or derived, by Frazil's own notes; empty where there are none.
        unproven: What could not be proved of it, and what is not there any more.
        error: Why it failed.
    """

    table: str
    location: str
    outcome: Outcome
    metadata: str = ""
    committed: datetime | None = None
    snapshot_id: int | None = None
    rows: int = 0
    refs: tuple[str, ...] = ()
    holds: str = ""
    unproven: tuple[str, ...] = ()
    error: FrazilError | None = None

    @property
    def document(self) -> dict[str, object]:
        """The same for scripts."""
        return {**vars(self), "error": self.error.document if self.error else None}


@dataclass(frozen=True)
class RebuildReport:
    """All tables that were found below a prefix, in the order of their names."""

    prefix: str
    tables: tuple[Rebuilt, ...]
    seconds: float
    dry_run: bool = False
    counts: Mapping[Outcome, int] = field(default_factory=dict)


def report_of(name: TableName, state: State, outcome: Outcome, unproven: tuple[str, ...]) -> Rebuilt:
    """What is said of a table that was rebuilt, or would be."""
    metadata = state.metadata
    head = metadata.current_snapshot_id
    current = metadata.snapshot_by_id(head) if head is not None else None
    holds, doubt = _progress_of(metadata)
    return Rebuilt(
        str(name),
        metadata.location,
        outcome,
        state.path,
        state.at,
        head,
        rows_in_summary(summary_of(current)) if current else 0,
        tuple(sorted(ref for ref in metadata.refs if ref != "main")),
        holds,
        (*unproven, doubt) if doubt else unproven,
    )


def _progress_of(metadata: TableMetadata) -> tuple[str, str]:
    """How far a table was landed or derived; and why that is not known, where it is lost."""
    try:
        landed, derived = read_ledger(metadata), DerivedLedger.newest(metadata)
    except (PositionLostError, FrazilError) as e:
        return "", e.what
    if landed:
        ends = ", ".join(f"{p}: {at}" for p, at in sorted(landed.position.items()))
        return f"topic {landed.topic} up to {ends}", ""
    return (f"made of {', '.join(sorted(derived.inputs))}" if derived else ""), ""
