"""Tags of Iceberg tables and their columns, and masking policies of columns: kept, and nothing is masked."""

from __future__ import annotations

from typing import Any

from frazil_local.snowflake.answers import Refused, Result
from frazil_local.snowflake.iceberg.tables import IcebergTables, columns_of
from frazil_local.snowflake.language.statements import GetTags, Kind, Name, SetPolicy, SetTags
from frazil_local.snowflake.objects import Objects, Stored
from frazil_local.snowflake.rights.session import Session


def set_tags(statement: SetTags, tables: IcebergTables, objects: Objects, session: Session) -> None:
    """Tags of a table, or of one of its columns; refuses what is not there."""
    table, column = _column(statement.name, statement.column, tables, session)
    given = {_plain("TAG", name, objects, session): value for name, value in statement.tags}
    kept = _tags(table)
    tables.change(table.name, {"TAGS": {**kept, column: {**kept.get(column, {}), **given}}})


def get_tags(statement: GetTags, tables: IcebergTables, objects: Objects, session: Session) -> Result:
    """The value of each; a column has the tags of its table, too."""
    values: list[str | None] = []
    for name, of, spelled in statement.asked:
        table, column = _column(of, spelled, tables, session)
        kept, tag = _tags(table), _plain("TAG", name, objects, session)
        values.append(kept.get(column, {}).get(tag, kept.get("", {}).get(tag)))
    names = tuple(f"SYSTEM$GET_TAG({number})" for number in range(len(values)))
    return Result(names, (tuple(values),))


def set_policy(statement: SetPolicy, tables: IcebergTables, objects: Objects, session: Session) -> None:
    """The masking policy of a column, or none any more."""
    table, column = _column(statement.name, statement.column, tables, session)
    policies: Any = table.properties.get("POLICIES", {})
    policy = _plain("MASKING POLICY", statement.policy, objects, session) if statement.policy else ""
    changed = {**policies, column: policy}
    tables.change(table.name, {"POLICIES": {name: each for name, each in changed.items() if each}})


def _column(name: Name, column: str, tables: IcebergTables, session: Session) -> tuple[Stored, str]:
    """A table, and a column of it as it spells it; refuses where there is none."""
    table = tables.get(session.full(name))
    if not column:
        return table, ""
    if spelled := next((each for each in columns_of(table) if each.upper() == column.upper()), ""):
        return table, spelled
    raise Refused(904, "42000", f"SQL compilation error:\ninvalid identifier '{column}'")


def _plain(kind: Kind, name: Name, objects: Objects, session: Session) -> str:
    """The whole name of a tag or policy; refuses where there is none."""
    return objects.get(kind, session.full(name)).plain_name


def _tags(table: Stored) -> dict[str, dict[str, str]]:
    """By column, and by "" those of the table."""
    kept: Any = table.properties.get("TAGS", {})
    return dict(kept)
