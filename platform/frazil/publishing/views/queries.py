"""The views beside a table, as queries: its own columns, and the newest record of each key."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from frazil.errors import SpecError
from frazil.formats.columns.columns import living, metadata_names, names_by_word
from frazil.spec.table import AnyTable
from frazil.spec.topic import TableSpec

CLEAN, CURRENT = "_clean", "_current"
"""How the names of these views end, behind the table's."""


def clean_columns(spec: AnyTable, columns: Sequence[str]) -> list[str]:
    """Those of a table that are not metadata of Frazil's own, as the engine spells them."""
    hidden = {name.upper() for name in metadata_names(spec)}
    return [column for column in columns if column.upper() not in hidden]


def clean_sql(
    spec: AnyTable,
    relation: str,
    columns: Sequence[str],
    quote: Callable[[str], str],
    more: Mapping[str, str] | None = None,
) -> str:
    """A SELECT of a table's own columns, and of the rows that hold now.

    Args:
        spec: It says which columns are metadata, and which one marks rows that are gone.
        relation: The table, as the engine takes it.
        columns: Those of the table, as the engine spells them.
        quote: How it takes a name.
        more: Columns behind these, each with its SQL by its name.
    """
    tells, condition = living(spec)
    marker = next((quote(column) for column in columns if column.upper() == tells.upper()), "")
    live = f" WHERE {condition.format(marker)}" if marker else ""
    behind = [f"{sql} AS {quote(name)}" for name, sql in (more or {}).items()]
    listed = ", ".join((*map(quote, clean_columns(spec, columns)), *behind))
    return f"SELECT {listed} FROM {relation}{live}"


def current_sql(spec: TableSpec, relation: str, columns: Sequence[str], quote: Callable[[str], str]) -> str:
    """A SELECT that Spark, Snowflake, Trino and DuckDB take.

    It says what `mode: upsert` would (docs/upsert.md, What wins), at the cost of every read: all rows are
    sorted.

    Args:
        spec: Its `current_by` tells rows apart.
        relation: The table, as the engine takes it.
        columns: Those of the table, as the engine spells them.
        quote: How it takes a name.

    Raises:
        SpecError: The table has no such column.
    """
    spelled = {column.upper(): quote(column) for column in columns}
    if missing := [name for name in spec.current_by if name.upper() not in spelled]:
        raise SpecError(
            f"current_by: the table of topic {spec.topic} has no column {', '.join(missing)}.",
            where=relation,
            meaning="The table is right; its view of the newest records was not made.",
            todo=f"Name columns of the table: {', '.join(columns)}.",
        )
    names = names_by_word(spec)
    place = (spelled[names[word].upper()] for word in ("partition", "offset", "timestamp"))
    partition, offset, timestamp = place
    key = ", ".join(spelled[name.upper()] for name in spec.current_by)
    own = {name.upper() for name in (*metadata_names(spec), *spec.current_by)}
    values = [f"{sql} IS NULL" for name, sql in spelled.items() if name not in own]
    gone = f" AND NOT ({' AND '.join(values)})" if spec.on_null_value == "keep" and values else ""
    of_partition = (
        f"SELECT *, ROW_NUMBER() OVER (PARTITION BY {key}, {partition} ORDER BY {offset} DESC) "
        f"AS {quote(_IN_PARTITION)} FROM {relation}"
    )
    ranked = (
        f"SELECT *, ROW_NUMBER() OVER (PARTITION BY {key} ORDER BY {timestamp} DESC, {partition} DESC) "
        f"AS {quote(_OF_ALL)} FROM ({of_partition}) AS one WHERE {quote(_IN_PARTITION)} = 1"
    )
    listed = ", ".join(spelled.values())
    return f"SELECT {listed} FROM ({ranked}) AS two WHERE {quote(_OF_ALL)} = 1{gone}"


_IN_PARTITION, _OF_ALL = "FRAZIL_IN_PARTITION", "FRAZIL_OF_ALL"
