"""What Spark does for every work: appends to a branch, and what it says of records that it read."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyiceberg.exceptions import CommitFailedException
from pyspark.errors import PySparkException

from frazil.landing.plan import Plan
from frazil.landing.write import Written
from frazil.tables.pyiceberg import transaction
from frazil.tables.stage import StagedFiles
from kit.model.topic import Record, tally_of

if TYPE_CHECKING:
    from pyiceberg.table import Table

    from kit.model.world import World

__all__ = ["Rows", "append_to", "found_at", "is_within", "plan_text", "written"]

_SPAN = re.compile(r"= (\d+) AND \S+ >= (\d+) AND \S+ < (\d+)")


class Rows(list[list[Any]]):
    """Rows, of which some are left out."""

    def selectExpr(self, _: str, goes: str) -> Rows:
        """What a replay asks for: all rows but those of some spans."""
        assert goes.startswith("coalesce(")
        return Rows(row for row in self if not is_within(row, goes))


def is_within(row: Sequence[Any], sql: str) -> bool:
    """Whether a row is of the spans that an SQL expression names."""
    _, partition, offset = row
    spans = [tuple(map(int, each)) for each in _SPAN.findall(sql)]
    return any(partition == p and start <= offset < to for p, start, to in spans)


def append_to(
    world: World, name: Any, branch: str, rows: Sequence[list[Any]], says: Mapping[str, str]
) -> None:
    """What Iceberg's Java does: an append that is tried again upon a newer head, and not if unanswered."""
    table = world.catalog.load_table(name.identifier)
    file = world.write_rows(table, rows)
    world.stage.step()  # files take their time
    for _ in range(5):
        if branch not in table.metadata.refs:
            raise PySparkException(f"Cannot use branch (does not exist): {branch}")
        tx = transaction(table)
        try:
            with tx.update_snapshot(branch=branch, snapshot_properties=dict(says)).fast_append() as append:
                append.append_data_file(file)
            world.catalog.commit_table(table, tx._requirements, tx._updates)
        except CommitFailedException:
            table = world.catalog.load_table(name.identifier)
        except Exception as e:
            name_of = (
                "NotFoundException" if isinstance(e, FileNotFoundError) else "CommitStateUnknownException"
            )
            raise PySparkException(f"{name_of}: {e}") from e
        else:
            return
    raise PySparkException("CommitFailedException: five times")


def plan_text(plan: Plan) -> str:
    """As `write_branch` says it."""
    return json.dumps(dict(plan.spans))


def written(branch: str, found: list[Record], files: StagedFiles | None = None) -> Written:
    bad = tuple(r.at[1:] for r in found if r.bad)
    mark = tally_of([r.at[1:] for r in found]).mark
    return Written(branch, len(found), len(bad), 0, 10 * len(found), (1,), None, bad, mark, files)


def found_at(world: World, table: Table, snapshot_id: int | None) -> list[tuple[str, list[Any]]]:
    """The rows of a snapshot as Spark finds them, each with its file."""
    world.stage.step()
    try:
        return world.store.live(table, snapshot_id)
    except FileNotFoundError as e:
        raise PySparkException(f"NotFoundException: {e}") from e
