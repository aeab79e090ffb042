"""Checks of the user's own over the rows that a derivation writes; `row_tally` asks them, in its tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from frazil.derive.queries.query import Query
from frazil.derive.queries.totals import merge_of
from frazil.errors import ChecksFailedError
from frazil.formats.checks.batch import ArrowChecks, Asked
from frazil.formats.checks.binding import bound_checks
from frazil.formats.types import from_iceberg
from frazil.landing.checking.outcome import CheckOutcome, stopping
from frazil.spec.derived import DerivedSpec
from frazil.spec.names import TableName
from frazil.tables.catalogs.handle import name_of

if TYPE_CHECKING:
    from pyiceberg.table import Table

_PLACE = ("$$partition", "$$offset")
"""Columns that tell which record a row is made of, where a query takes them along."""


def derivation_checks(spec: DerivedSpec, query: Query | None, table: Table, now: float) -> ArrowChecks | None:
    """What must hold of the rows that a derivation writes; None where the spec has no checks.

    Args:
        now: The clock of the run, in seconds since 1970.

    Raises:
        SpecError: A check is none over the table's columns.
    """
    if not spec.checks:
        return None
    fields = from_iceberg(table.schema()).fields
    asked = bound_checks(spec.checks, fields, str(name_of(table)))
    shown = row_names(spec, query, [f.name for f in fields])
    all_asked = tuple(Asked(check.name, bound, check.on_failure) for check, bound in asked)
    return ArrowChecks(all_asked, int(now * 1_000_000), shown)


def row_names(spec: DerivedSpec, query: Query | None, columns: Sequence[str]) -> tuple[str, ...]:
    """The columns by which people know a row: its key, or the place of its record; there may be none."""
    if spec.key:
        return spec.key
    if query is not None and spec.kind in ("totals", "windows"):
        return merge_of(query).keys
    return tuple(name for name in _PLACE if name in columns)


def refuse_false(outcomes: Sequence[CheckOutcome], name: TableName) -> None:
    """Refuses rows of which a check that stops is false.

    Raises:
        ChecksFailedError: It names each such check, with its numbers.
    """
    if failing := stopping(outcomes):
        raise ChecksFailedError(
            f"Rows of {name} fail {', '.join(f'check {each.name}' for each in failing)}.",
            where=" ".join(each.text for each in failing),
            meaning="Nothing of this derivation is visible; the next one starts at the same position.",
            todo="Fix the inputs, or let the query say what such a row becomes (`frazil derive TABLE "
            "--rebuild`); or change what the check expects, or write on_failure: warn (docs/checks.md). Then "
            f"`frazil derive {name}`.",
            outcomes=outcomes,
        )
