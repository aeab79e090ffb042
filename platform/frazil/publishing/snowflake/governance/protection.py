"""What protects a table's rows in Snowflake by its spec: tags, also of columns, and masking policies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from frazil.errors import ConfigureError
from frazil.publishing.labels import labels_of_tags
from frazil.publishing.snowflake.connection import named_rows, rows
from frazil.publishing.snowflake.governance.tags import TagsOn, keep_tags, tags_of
from frazil.publishing.snowflake.statements import Relation
from frazil.quoting import double_quoted, parts_of
from frazil.settings.profile import Settings
from frazil.spec.table import AnyTable

if TYPE_CHECKING:
    from snowflake.connector import SnowflakeConnection


@dataclass(frozen=True)
class Protected:
    """How a table is protected now: the values of its tags, and the policies that differ."""

    labels: dict[str, str] = field(default_factory=dict)
    policies: tuple[str, ...] = ()


class Protection:
    """The tags and policies that a spec wants of a table."""

    def __init__(self, spec: AnyTable, settings: Settings, table: Relation) -> None:
        self._table, self._tags, self._policies = table, tags_of(spec, settings), _policies_of(spec)
        self._named = tuple(
            dict.fromkeys((*(tag.column for tag in self._tags if tag.column), *self._policies))
        )
        self.labels = labels_of_tags({tag.label: tag.value for tag in self._tags})

    def check(self, columns: Iterable[str]) -> None:
        """Refuses a spec that names a column which the Iceberg table does not have.

        Raises:
            ConfigureError: It does.
        """
        known = {name.upper() for name in columns}
        if strange := [name for name in self._named if name.upper() not in known]:
            raise ConfigureError(
                f"The table has no column {', '.join(strange)}, which the spec wants protected.",
                where=f"column_tags, column_policies of {self._table}",
                meaning="The Iceberg table is right; Snowflake shows what it showed before.",
                todo="Write the column as the table has it (`frazil describe`), or take it out of the spec.",
            )

    def keep(self, connection: SnowflakeConnection) -> bool:
        """Sets what differs, on the columns that Snowflake has; returns whether it has all that are named."""
        shown = _policies_on(connection, self._table) if self._named else {}
        columns = self._spelled(shown)
        keep_tags(connection, self._table, self._tags, columns)
        _keep_policies(connection, self._table, self._policies, columns, shown)
        return len(columns) == len(self._named)

    def tags_on(self, columns: Iterable[str]) -> TagsOn:
        """The tags that the table should have, with the columns that Snowflake lists."""
        return TagsOn(self._table, self._tags, self._spelled(columns))

    def read(self, connection: SnowflakeConnection, tags: Mapping[str, str]) -> Protected:
        """How the table is protected now, with the values of its tags."""
        shown = _policies_on(connection, self._table) if self._policies else {}
        others = _other_policies(self._policies, self._spelled(shown), shown)
        return Protected(labels_of_tags(tags), tuple(_sentence(*each) for each in others))

    def _spelled(self, shown: Iterable[str]) -> dict[str, str]:
        """The columns that are named, as Snowflake spells them."""
        by_name = {name.upper(): name for name in shown}
        return {name: by_name[name.upper()] for name in self._named if name.upper() in by_name}


def _sentence(column: str, policy: Relation, has: tuple[str, ...]) -> str:
    shown = ".".join(has) or "none"
    return f"the masking policy of column {column} is {shown} and should be {'.'.join(policy.parts)}"


def _policies_of(spec: AnyTable) -> dict[str, Relation]:
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


def _policies_on(connection: SnowflakeConnection, table: Relation) -> dict[str, tuple[str, ...]]:
    """The parts of the name of each column's policy, by the column as Snowflake spells it; () is none."""
    described = named_rows(connection, describe_table(table))
    return {str(row["name"]): parts_of(str(row.get("policy name") or "")) for row in described}


def _other_policies(
    wanted: Mapping[str, Relation], columns: Mapping[str, str], shown: Mapping[str, tuple[str, ...]]
) -> Iterator[tuple[str, Relation, tuple[str, ...]]]:
    """The columns that have no policy, or another one: the spec's name, its policy, and what it has.

    Snowflake may show a policy without the database and schema that it is in.
    """
    for column, policy in wanted.items():
        has = shown.get(columns.get(column, ""), ())
        if column in columns and (not has or policy.parts[-len(has) :] != has):
            yield column, policy, has


def _keep_policies(
    connection: SnowflakeConnection,
    table: Relation,
    wanted: Mapping[str, Relation],
    columns: Mapping[str, str],
    shown: Mapping[str, tuple[str, ...]],
) -> None:
    """Sets those that differ; a policy that the spec does not name is left alone."""
    for column, policy, _ in _other_policies(wanted, columns, shown):
        rows(connection, set_policy(table, columns[column], policy))
