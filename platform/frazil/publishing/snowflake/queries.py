"""Sending statements to Snowflake, and what its refusals mean for the reader."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from frazil.errors import ConfigureError, FrazilError, MissingError, RepairError

if TYPE_CHECKING:
    from snowflake.connector import SnowflakeConnection
    from snowflake.connector.errors import ProgrammingError

__all__ = ["Columns", "columns_or_none", "rows", "rows_or_none", "statement_errors", "value"]

Columns = tuple[tuple[str, int], ...]
"""Names and type codes."""

_MISSING = (2003, 2043)  # object does not exist or not authorized
_NOT_ALLOWED = (3001, 3013)
_EQUALITY_DELETES = 91968


def rows(connection: SnowflakeConnection, sql: str) -> list[tuple[Any, ...]]:
    """All rows of a statement's result."""
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return [tuple(row) for row in cursor.fetchall()]


def value(connection: SnowflakeConnection, sql: str) -> Any:
    """The one value that a statement answers."""
    return rows(connection, sql)[0][0]


def rows_or_none(connection: SnowflakeConnection, sql: str) -> list[tuple[Any, ...]] | None:
    """All rows, or None where the object that the statement names is not there."""
    from snowflake.connector.errors import ProgrammingError

    try:
        return rows(connection, sql)
    except ProgrammingError as e:
        if e.errno in _MISSING:
            return None
        raise


def columns_or_none(connection: SnowflakeConnection, sql: str) -> Columns | None:
    """The columns of a query's result, or None where its table or view can't be read."""
    from snowflake.connector.errors import ProgrammingError

    with connection.cursor() as cursor:
        try:
            cursor.execute(sql)
        except ProgrammingError:
            return None
        return tuple((column.name, column.type_code) for column in cursor.description)


@contextmanager
def statement_errors(where: str) -> Iterator[None]:
    """Turns refused statements into errors that say what to do.

    Raises:
        FrazilError: Snowflake refused a statement.
    """
    from snowflake.connector.errors import ProgrammingError

    try:
        yield
    except ProgrammingError as e:
        raise _meaning(e, where) from e


def _meaning(error: ProgrammingError, where: str) -> FrazilError:
    said = f"{where}: {error.msg}"
    meaning = "The Iceberg table is right; Snowflake shows what it showed before."
    if error.errno == _EQUALITY_DELETES:
        return RepairError(
            "Snowflake does not read equality deletes.",
            where=said,
            meaning=meaning,
            todo="Compact the table, and write its deletes as position deletes.",
        )
    if error.errno in _MISSING:
        return MissingError(
            "Snowflake lacks something that the table needs, or hides it from this user.",
            where=said,
            meaning=meaning,
            todo="`frazil sync` makes what is missing; a role must be made by an administrator.",
        )
    if error.errno in _NOT_ALLOWED:
        return ConfigureError(
            "Snowflake does not allow this user to do it.",
            where=said,
            meaning=meaning,
            todo="Volumes and integrations need ACCOUNTADMIN, or CREATE EXTERNAL VOLUME and "
            "CREATE INTEGRATION on the account.",
        )
    return RepairError(
        "Snowflake refused a statement.",
        where=said,
        meaning=meaning,
        todo="Mend what the message names, then `frazil sync`.",
    )
