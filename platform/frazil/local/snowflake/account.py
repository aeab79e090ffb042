"""The account: decides who carries out one of our own statements, one at a time."""

from __future__ import annotations

import threading

from frazil.local.snowflake.object_statements import ObjectStatements
from frazil.local.snowflake.results import Result
from frazil.local.snowflake.sessions import Session
from frazil.local.snowflake.statements import Call, DropDatabase, Refresh, Statement
from frazil.local.snowflake.table_statements import TableStatements

__all__ = ["Account"]


class Account:
    """The one account of the stand-in.

    Args:
        objects: Statements about users, roles, warehouses, volumes, integrations.
        tables: Statements about Iceberg tables.
    """

    def __init__(self, objects: ObjectStatements, tables: TableStatements) -> None:
        self._objects = objects
        self._tables = tables
        self._one_at_a_time = threading.Lock()

    def execute(self, statement: Statement, session: Session) -> Result | None:
        """The statement's result, or None if fakesnow must do it after all.

        Raises:
            Refused: Snowflake would refuse it, too.
        """
        of_table = isinstance(statement, Refresh | Call | DropDatabase)
        of_table = of_table or getattr(statement, "kind", None) == "ICEBERG TABLE"
        with self._one_at_a_time:
            return (self._tables if of_table else self._objects).execute(statement, session)
