"""What a drift is: a table in a target that does not show it as it is, since when, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from frazil.errors import FrazilError

State = Literal[
    "in step", "missing", "behind", "columns", "policies", "grants", "labels", "rows", "held", "foreign",
    "left over", "refused", "down"
]  # fmt: skip
"""Of a table in a target. `held`: a blocking check keeps it back; `columns` to `labels`: only
they differ; `rows`: it shows the current metadata, and other rows; `left over`: the Iceberg table is gone;
`refused`, `down`: the target does not tell."""

REPAIRED: tuple[State, ...] = ("missing", "behind", "columns", "policies", "grants", "labels")
"""What publishing brings in step."""


@dataclass(frozen=True, slots=True)
class Drift:
    """One table in one target, beside the Iceberg table.

    `snapshots` are those of `main` that it does not show, `since` is when the first of them was committed,
    and `seconds` the time since then; None where nobody knows. `rows` are the table's and `rows_shown` those
    that readers see, where they were counted; `refreshed` is when the target says that it read the metadata
    last. `error` is why nothing could be compared, or not repaired.
    """

    table: str
    target: str
    name: str
    state: State
    why: str = ""
    todo: str = ""
    iceberg_metadata: str = ""
    shown_metadata: str = ""
    snapshots: int | None = 0
    seconds: float | None = 0.0
    since: float | None = None
    rows: int | None = None
    rows_shown: int | None = None
    refreshed: float | None = None
    repaired: bool = False
    error: FrazilError | None = None

    @property
    def differs(self) -> bool:
        """Whether readers do not see the table as it is, as far as anybody knows."""
        return self.state != "in step"
