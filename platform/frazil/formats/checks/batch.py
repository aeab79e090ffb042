"""Checks of the user's own by columns, in Spark's workers: what they see is what the table gets, masked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from frazil.expressions.tree import Expression

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    Flags = NDArray[np.bool_]

FAILED = "check:"
"""Begins the fault of a record that a check makes a dead letter, and its reason's code; its name follows."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A check as tasks ask it."""

    name: str
    expression: Expression
    on_failure: str


@dataclass(frozen=True, slots=True)
class Judged:
    """What checks of single rows say of the records of a batch.

    Args:
        rows: Those that they were asked of: rows that come, no deletes.
        failing: Those of which a check is false, by its name.
        fault: The check that makes a record a dead letter; null of others.
    """

    rows: Flags
    failing: Mapping[str, Flags]
    fault: pa.StringArray

    def without(self, left_out: Flags) -> Judged:
        """The same without records that are bad for another reason."""
        failing = {name: flags & ~left_out for name, flags in self.failing.items()}
        return replace(self, rows=self.rows & ~left_out, failing=failing)


@dataclass(frozen=True, slots=True)
class ArrowChecks:
    """All checks of a table.

    Args:
        asked: Each.
        now: The time of the landing, in microseconds since 1970.
        shown: The columns by which people know a row.
        metadata: The metadata columns of which they speak: the table's names by word.
    """

    asked: tuple[Asked, ...]
    now: int
    shown: tuple[str, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)

    @property
    def of_rows(self) -> tuple[Asked, ...]:
        """Those that are asked of each row."""
        return tuple(each for each in self.asked if not each.expression.aggregates)

    @property
    def of_landings(self) -> tuple[Asked, ...]:
        """Those that are asked of all rows together."""
        return tuple(each for each in self.asked if each.expression.aggregates)

    def judged(self, columns: Mapping[str, pa.Array], rows: Flags) -> Judged:
        """Asks the checks of single rows.

        Args:
            columns: Those of the rows.
            rows: Of which records of the batch these are.
        """
        import numpy as np
        import pyarrow as pa

        places = np.flatnonzero(rows)
        failing = {
            each.name: _spread(self._false(each, columns, len(places)), places, len(rows))
            for each in self.of_rows
        }
        faults = np.full(len(rows), -1, np.int32)
        letters = [each.name for each in self.of_rows if each.on_failure == "dead_letter"]
        for number, name in reversed([*enumerate(letters)]):
            faults[failing[name]] = number
        known = pa.array([FAILED + name for name in letters], pa.string())
        return Judged(rows, failing, known.take(pa.array(faults, mask=faults < 0)))

    def _false(self, asked: Asked, columns: Mapping[str, pa.Array], count: int) -> Flags:
        """Of which rows it is false; as SQL's CHECK has it, null is no failure."""
        import pyarrow.compute as pc

        from frazil.exact import flags_of
        from frazil.expressions.arrow import Rows

        return flags_of(pc.invert(Rows(columns, count, self.now).flags(asked.expression.root)))


def names_in(checks: tuple[Asked, ...]) -> frozenset[str]:
    """The columns of which, or of parts of which, checks speak."""
    return frozenset(path[0] for each in checks for path in each.expression.columns)


def _spread(flags: Flags, places: NDArray[np.int64], count: int) -> Flags:
    import numpy as np

    whole = np.zeros(count, bool)
    whole[places] = flags
    return whole
