"""Masking policies of a spec on columns in Snowflake: references to policies that an administrator made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from frazil.publishing.snowflake.connection import named_rows, rows
from frazil.publishing.snowflake.statements import Relation
from frazil.quoting import double_quoted, parts_of
from frazil.spec.table import AnyTable

if TYPE_CHECKING:
    from snowflake.connector import SnowflakeConnection


def policies_of(spec: AnyTable) -> dict[str, Relation]:
    """The policy of each column that the spec has one for."""
    named = {column: policy.upper().split(".") for column, policy in spec.column_policies.items()}
    return {column: Relation(*parts) for column, parts in named.items()}


def describe_table(table: Relation) -> str:
    """Lists columns, each with its masking policy; needs no warehouse."""
    return f"DESCRIBE TABLE {table}"


def set_policy(table: Relation, column: str, policy: Relation) -> str:
    """Masks a column by a policy; FORCE: in the place of another one, so no moment is without."""
    return (
        f"ALTER ICEBERG TABLE {table} MODIFY COLUMN {double_quoted(column)} SET MASKING POLICY {policy} FORCE"
    )


def policies_on(connection: SnowflakeConnection, table: Relation) -> dict[str, tuple[str, ...]]:
    """The parts of the name of each column's policy, by the column as Snowflake spells it; () is none."""
    described = named_rows(connection, describe_table(table))
    return {str(row["name"]): parts_of(str(row.get("policy name") or "")) for row in described}


def other_policies(
    wanted: Mapping[str, Relation], columns: Mapping[str, str], shown: Mapping[str, tuple[str, ...]]
) -> Iterator[tuple[str, Relation, tuple[str, ...]]]:
    """The columns that have no policy, or another one: the spec's name, its policy, and what it has.

    Snowflake may show a policy without the database and schema that it is in.
    """
    for column, policy in wanted.items():
        has = shown.get(columns.get(column, ""), ())
        if column in columns and (not has or policy.parts[-len(has) :] != has):
            yield column, policy, has


def keep_policies(
    connection: SnowflakeConnection,
    table: Relation,
    wanted: Mapping[str, Relation],
    columns: Mapping[str, str],
    shown: Mapping[str, tuple[str, ...]],
) -> None:
    """Sets those that differ; a policy that the spec does not name is left alone."""
    for column, policy, _ in other_policies(wanted, columns, shown):
        rows(connection, set_policy(table, columns[column], policy))
