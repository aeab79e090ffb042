"""What one derivation did, in numbers."""

from __future__ import annotations

from dataclasses import dataclass

from frazil.derived_spec import DerivedKind

__all__ = ["DeriveReport"]


@dataclass(frozen=True, slots=True)
class DeriveReport:
    """What one call of `derive` did.

    Args:
        table: Its identifier.
        kind: How its rows follow from those of its inputs.
        snapshot_id: The head of `main` now.
        done: Whether a snapshot was made.
        whole: Whether all inputs were read, and not only what is new in them.
        rows: Rows that were written.
        removed: Rows that others are in the place of now.
        total_rows: Rows of the table.
        bad: Rows that the query calls bad, kept as dead letters.
        late: Rows of windows that were closed.
        input_rows: Rows that were read, by the inputs' own metadata.
        input_bytes: Bytes of the data files that hold them.
        state_bytes: Bytes of the output's own files that were read to merge with.
        files: Data files that were written.
        watermark: Microseconds since the epoch.
        inputs: The snapshot of each input that the table now holds.
        rolled_back_to: The snapshot to which the table went back first, because an input had.
        conflicts: How often publishing was tried again because others had committed in between.
        seconds: How long it took.
        text: The same in a sentence.
    """

    table: str
    kind: DerivedKind
    snapshot_id: int | None = None
    done: bool = False
    whole: bool = False
    rows: int = 0
    removed: int = 0
    total_rows: int = 0
    bad: int = 0
    late: int = 0
    input_rows: int = 0
    input_bytes: int = 0
    state_bytes: int = 0
    files: int = 0
    watermark: int | None = None
    inputs: dict[str, int] | None = None
    rolled_back_to: int | None = None
    conflicts: int = 0
    seconds: float = 0.0
    text: str = ""
