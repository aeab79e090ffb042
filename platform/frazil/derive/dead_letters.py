"""Rows of a derivation that are none of its table: bad ones, late ones, and those ahead of the clock.

They stand in `<table>__dead_letters`, a derived table of its own with its own position, published first:
what a derivation that died in between kept is not kept again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from frazil.derive.plan import Plan, refuse_forgotten
from frazil.derive.positions.inputs import Increment, increment, standing
from frazil.derive.positions.ledger import DerivedLedger
from frazil.derive.publish import Derived
from frazil.derive.queries.query import ERROR_COLUMN
from frazil.derive.write import insert, overtaken
from frazil.formats.logical import Field, Primitive
from frazil.landing.repairs.dead_letters import DeadLetters, survey
from frazil.quoting import quoted
from frazil.spec.table import Write
from frazil.spec.upkeep import Upkeep
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.commits.erasure import forgettings
from frazil.tables.commits.leftovers import drop_dead_branches
from frazil.tables.commits.stage import StagedFiles, publish
from frazil.tables.creation import create_table, load_with_head

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyiceberg.table import Table
    from pyspark.sql import DataFrame

_FIELDS = (
    Field("reason", Primitive("string"), doc="What is wrong with the row."),
    Field("row", Primitive("string"), optional=True, doc="The row as the query gave it, as JSON."),
    Field("derivation", Primitive("string"), doc="frazil.derivation of the derivation that met it."),
    Field("found_at", Primitive("timestamptz"), doc="When that was."),
)
_PARTITION_BY = (("day", "found_at"),)

Letters = Callable[["Mapping[str, Increment]"], AbstractContextManager["DataFrame | None"]]
"""Gives the rows of some increments that are to be kept, as `reason` and `row`; None if there are none."""


@dataclass(frozen=True)
class LetterBox:
    """Where bad rows go, and what they are."""

    handle: TableHandle  # the derived table
    plan: Plan  # of the derivation that met them
    ledger: DerivedLedger  # what the derived table's snapshot will say
    letters: Letters  # gives the rows
    upkeep: Upkeep
    ours: Collection[str] = ()  # names of this derivation: a new one for each time that it was tried


def good_rows(rows: DataFrame) -> DataFrame:
    """The rows that the query does not call bad, without the column that says so."""
    if ERROR_COLUMN not in rows.columns:
        return rows
    return rows.where(f"{quoted(ERROR_COLUMN)} IS NULL").drop(ERROR_COLUMN)


def bad_count(rows: DataFrame) -> dict[str, str]:
    """What counts the rows that the query calls bad: an aggregate, where it has a word for them."""
    return {"bad": f"count({quoted(ERROR_COLUMN)})"} if ERROR_COLUMN in rows.columns else {}


def bad_rows(rows: DataFrame) -> DataFrame | None:
    """The rows that the query calls bad, as `reason` and `row`; None where it has no word for them."""
    if ERROR_COLUMN not in rows.columns:
        return None
    columns = ", ".join(quoted(c) for c in rows.columns if c != ERROR_COLUMN)
    reason = quoted(ERROR_COLUMN)
    return rows.where(f"{reason} IS NOT NULL").selectExpr(
        f"CAST({reason} AS string) AS reason", f"to_json(struct({columns})) AS row"
    )


def keep_letters(box: LetterBox) -> None:
    """Brings the dead-letter table to the position that the derived table is about to have.

    Raises:
        OvertakenError: Another derivation keeps the same rows.
        FrazilError: See `insert`.
    """
    handle = box.handle.dead_letters
    table = load_with_head(handle)
    if table is None:
        table = create_table(handle, _FIELDS, _PARTITION_BY, {})
    drop_dead_branches(table)
    before = DerivedLedger.newest(table.metadata, whatever_it_holds=box.plan.whole)
    if before and not box.plan.rebuild and before.derivation not in (box.plan.letters, *box.ours):
        raise overtaken(box.handle.name)
    new = box.plan.increments if box.plan.whole else _not_kept(box, before)
    if not box.plan.whole and all(n.rows == 0 for n in new.values()):
        return
    _publish(box, table, before, new)


def _publish(
    box: LetterBox,
    table: Table,
    before: DerivedLedger | None,
    new: Mapping[str, Increment],
) -> None:
    files, derivation = StagedFiles(), box.ledger.derivation
    with box.letters(new) as rows:
        if rows is not None:
            files = insert(
                table,
                _stamped(rows, derivation),
                Write(),
                box.upkeep,
                derivation,
            )
    refuse_forgotten(box.handle, box.plan)
    entry = replace(box.ledger, rows=files.rows, removed=0, bad=0, late=0, failing={}, watermark=None)
    base = before.derivation if before else ""
    looks = forgettings(table.metadata)
    work = Derived(files, entry, base, box.plan.whole, box.plan.rebuild, forgettings=looks)
    publish(box.handle.dead_letters, work)


def _stamped(rows: DataFrame, derivation: str) -> DataFrame:
    from pyspark.sql import functions as F

    return rows.withColumns({"derivation": F.lit(derivation), "found_at": F.lit(datetime.now(UTC))})


def _not_kept(box: LetterBox, before: DerivedLedger | None) -> dict[str, Increment]:
    """What is new in the inputs, less what a derivation that died has kept the bad rows of."""
    increments = dict(box.plan.increments)
    if before is None or before.query != box.ledger.query:
        return increments
    for each, position in before.inputs.items():
        table, main = box.plan.inputs[each], box.plan.before
        ahead = main is None or position.sequence > main.inputs[each].sequence
        if ahead and standing(position, table) == "held":
            increments[each] = increment(table, position, follows=box.plan.follows)
    return increments


def survey_letters(handle: TableHandle) -> DeadLetters:
    """How many rows of a derived table were bad, late or ahead of the clock, by reason."""
    return survey(handle, "reason", "found_at")
