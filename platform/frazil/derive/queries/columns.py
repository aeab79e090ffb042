"""The columns that a query makes: their types, and the columns of its inputs that they come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from frazil.derive.queries.analysis import Column, outputs
from frazil.derive.queries.query import ERROR_COLUMN, Query
from frazil.derive.queries.type_rules import UNKNOWN
from frazil.spec.derived import Parameter

__all__ = ["UNKNOWN", "Column", "lineage", "typed"]


def typed(
    query: Query,
    tables: Mapping[str, Sequence[Column] | None],
    parameters: Mapping[str, Parameter] | None = None,
) -> tuple[Column, ...]:
    """The columns of a query's output; of type `unknown` where only Spark can tell it.

    Where it takes all columns of an unknown table, `*` stands for them.

    Args:
        query: The query.
        tables: The columns of each of its inputs, named as the query names them; None: not known.
        parameters: The values that it names.

    Raises:
        SpecError: It names a column that no input has.
    """
    kinds = {name: _of_value(value) for name, value in (parameters or {}).items()}
    return tuple((c.name, c.kind) for c in outputs(query, tables, kinds))


def _of_value(value: Parameter) -> str:
    match value:
        case bool():
            return "boolean"
        case int():
            return "int" if -(2**31) <= value < 2**31 else "bigint"
        case float():
            return "double"
        case str():
            return "string"


def lineage(
    query: Query, tables: Mapping[str, Sequence[Column] | None]
) -> Mapping[str, tuple[tuple[str, str], ...]]:
    """By column of the table, the (input, column) pairs that its values come from.

    Args:
        query: The query.
        tables: The columns of each of its inputs, named as the query names them; None: not known.

    Raises:
        SpecError: It names a column that no input has.
    """
    found = (column for column in outputs(query, tables, {}) if column.name != ERROR_COLUMN)
    return {column.name: tuple(sorted(column.origins)) for column in found}
