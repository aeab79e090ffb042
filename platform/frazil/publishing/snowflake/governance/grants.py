"""Which rights reading takes, which of them a role holds, and what gives it those that it lacks.

A role holds what was granted to it, or what it owns. What comes to it by another role, `SHOW GRANTS` does not
list (docs.snowflake.com, "SHOW GRANTS").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from frazil.publishing.snowflake.connection import MOST_SHOWN, NOT_SHOWN, named_rows, rows
from frazil.publishing.snowflake.statements import Relation
from frazil.quoting import double_quoted, parts_of

if TYPE_CHECKING:
    from snowflake.connector import SnowflakeConnection


@dataclass(frozen=True, slots=True)
class Right:
    """A privilege on a database, a schema, a table or a view."""

    privilege: str
    kind: str
    name: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.privilege} on {self.kind.lower()} {'.'.join(self.name)}"


RoleRights: TypeAlias = frozenset[Right] | None
"""What a role holds; None where that is not known, or nobody asked."""


def rights_to_read(table: Relation, views: Sequence[Relation]) -> tuple[Right, ...]:
    """What reading a table and its views takes: what they are in, and the rows of each."""
    places = tuple(dict.fromkeys((each.database, each.schema) for each in (table, *views)))
    return (
        *(Right("USAGE", "DATABASE", (database,)) for database in dict.fromkeys(p[0] for p in places)),
        *(Right("USAGE", "SCHEMA", place) for place in places),
        Right("SELECT", "TABLE", table.parts),
        *(Right("SELECT", "VIEW", view.parts) for view in views),
    )


def lacking(rights: Sequence[Right], role_rights: RoleRights) -> tuple[Right, ...]:
    """Those that a role lacks; none where nobody knows what it holds."""
    if role_rights is None:
        return ()
    return tuple(r for r in rights if not {r, replace(r, privilege="OWNERSHIP")} & role_rights)


def show_grants_to(role: str) -> str:
    """Lists what a role holds of the whole account, in one statement."""
    return f"SHOW GRANTS TO ROLE {double_quoted(role)}"


def grant(right: Right, role: str) -> str:
    """Gives a role a right."""
    on = f"{right.kind} {double_quoted(*right.name)}"
    return f"GRANT {right.privilege} ON {on} TO ROLE {double_quoted(role)}"


def rights_of(connection: SnowflakeConnection, role: str | None) -> RoleRights:
    """What a role holds; None where no role is named, the list is cut, or Frazil may not see it."""
    from snowflake.connector.errors import ProgrammingError

    if not role:
        return None
    try:
        shown = named_rows(connection, show_grants_to(role.upper()))
    except ProgrammingError as e:
        if e.errno in NOT_SHOWN:
            return None
        raise
    if len(shown) >= MOST_SHOWN:
        return None
    return frozenset(
        Right(row["privilege"], _kind(row["granted_on"]), parts_of(row["name"])) for row in shown
    )


def keep_reading(connection: SnowflakeConnection, rights: Sequence[Right], role: str | None) -> None:
    """Grants what a role lacks, or all where it is not known what it holds."""
    if not role:
        return
    role_rights = rights_of(connection, role)
    for right in rights if role_rights is None else lacking(rights, role_rights):
        rows(connection, grant(right, role.upper()))


def _kind(word: str) -> str:
    """`SHOW GRANTS` may call an Iceberg table by a word of its own, which is a TABLE to GRANT."""
    return word.removeprefix("ICEBERG_").removeprefix("ICEBERG ")
