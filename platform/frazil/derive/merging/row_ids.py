"""Which row of a table of version 3 a merged one is: the row of a key keeps its id, through all changes.

A row that comes has no id. A row that changed has no number of its last change: its commit says that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from frazil.derive.output import alike_sql, types_in
from frazil.quoting import comparable, quoted
from frazil.tables.format_v3.fields import LAST_UPDATED_COLUMN, NAMES, ROW_ID_COLUMN

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_OLD = "$frazil_old_"


def _have_ids(rows: DataFrame) -> bool:
    return ROW_ID_COLUMN in rows.columns


def id_of_key(rows: DataFrame) -> dict[str, str]:
    """Aggregates over the rows of a key, of which one has an id at most: that id; its number, if it is alone.

    None where no row has the columns of ids.
    """
    if not _have_ids(rows):
        return {}
    number = f"IF(count(1) = 1, max({LAST_UPDATED_COLUMN}), NULL)"
    return {ROW_ID_COLUMN: f"max({ROW_ID_COLUMN})", LAST_UPDATED_COLUMN: number}


def with_id_of_key(rows: DataFrame, key: Sequence[str]) -> DataFrame:
    """The same rows, all of a key with the id that one of them has; each keeps its own number."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    if not _have_ids(rows):
        return rows
    of_key = Window.partitionBy(*map(quoted, key))
    return rows.withColumn(ROW_ID_COLUMN, F.max(ROW_ID_COLUMN).over(of_key))


def with_old_ids(rows: DataFrame, old: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Rows with the ids that those before have of the same keys; with their numbers, if all values are equal.

    Both have the same columns, ids among them; where they have none, they stay as they are.
    """
    from pyspark.sql import functions as F

    if not _have_ids(old):
        return rows
    types = {name: kind for name, kind in types_in(rows).items() if name not in NAMES.values()}
    one = old.dropDuplicates([*keys]) if keys else old  # as it is, unless others wrote to the table
    columns = [*types, *NAMES.values()]
    known = one.selectExpr(*(f"{quoted(name)} AS {quoted(_OLD + name)}" for name in columns))
    fits = alike_sql({_OLD + key: quoted(key) for key in keys}) or "true"
    alike = " AND ".join(
        f"{comparable(quoted(name), kind)} <=> {comparable(quoted(_OLD + name), kind)}"
        for name, kind in types.items()
    )
    return rows.join(known, F.expr(fits), "left").selectExpr(
        *map(quoted, types),
        f"{quoted(_OLD + ROW_ID_COLUMN)} AS {ROW_ID_COLUMN}",
        f"IF({alike}, {quoted(_OLD + LAST_UPDATED_COLUMN)}, NULL) AS {LAST_UPDATED_COLUMN}",
    )
