"""What checks of the user's own say of the rows that a task of a derivation writes.

A task imports PyArrow only: `checking`, which the driver needs, imports a parser of SQL.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from frazil.formats.checks.batch import ArrowChecks, Judged, names_in
from frazil.landing.checking.tally import CheckTally, Flags


@dataclass(frozen=True, slots=True)
class RowWatch:
    """Makes what counts the rows of one task."""

    checks: ArrowChecks

    def __call__(self) -> RowTally:
        """See `Watch`."""
        return RowTally(self.checks)


class RowTally:
    """Counts what checks say of the rows that a task writes."""

    def __init__(self, checks: ArrowChecks) -> None:
        self._checks = checks
        self._tally = CheckTally(checks)

    def add(self, columns: Mapping[str, pa.Array], rows: int) -> None:
        """See `Watcher`."""
        every = np.ones(rows, bool)
        asked = {name: columns[name] for name in names_in(self._checks.of_rows)}
        self._tally.add(_Rows(every, self._checks.judged(asked, every), columns))

    def report(self) -> str:
        """See `Watcher`."""
        return self._tally.report()


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows that are all written; see `Seen`."""

    ok: Flags
    judged: Judged | None
    columns: Mapping[str, pa.Array]

    def columns_of(self, chosen: Flags, names: frozenset[str] | None = None) -> dict[str, pa.Array]:
        """Some columns of some rows."""
        wanted = self.columns if names is None else names
        return {name: self.columns[name].filter(pa.array(chosen)) for name in wanted}
