"""Carries out statements about Iceberg tables, and the system functions about them."""

from __future__ import annotations

from dataclasses import replace

from frazil.local.snowflake.columns import described_columns
from frazil.local.snowflake.config import Config
from frazil.local.snowflake.errors import missing
from frazil.local.snowflake.iceberg import IcebergTables
from frazil.local.snowflake.listings import listed, table_information
from frazil.local.snowflake.objects import Objects
from frazil.local.snowflake.parsing import parse_name
from frazil.local.snowflake.results import Result, message
from frazil.local.snowflake.sessions import Session
from frazil.local.snowflake.statements import (
    Call,
    Create,
    Describe,
    Drop,
    DropDatabase,
    Refresh,
    Show,
    Statement,
)
from frazil.local.snowflake.volumes import verified_volume

__all__ = ["TableStatements"]

_DONE = message("Statement executed successfully.")


class TableStatements:
    """Statements about Iceberg tables.

    Args:
        config: Where S3 is.
        objects: What the account holds.
        tables: Its Iceberg tables.
    """

    def __init__(self, config: Config, objects: Objects, tables: IcebergTables) -> None:
        self._config = config
        self._objects = objects
        self._tables = tables

    def execute(self, statement: Statement, session: Session) -> Result | None:
        """The statement's result, or None if fakesnow must do it after all.

        Raises:
            Refused: Snowflake would refuse it, too.
        """
        match statement:
            case Create():
                return self._create(statement, session)
            case Drop():
                return self._drop(statement, session)
            case DropDatabase():
                return self._drop_database(statement)
            case Refresh():
                return self._refresh(statement, session)
            case Describe():
                return self._describe(statement, session)
            case Show():
                return listed(statement, self._tables.all())
            case Call():
                return self._call(statement, session)
        return None

    def _create(self, statement: Create, session: Session) -> Result:
        full = session.full(statement.name)
        if self._tables.create(replace(statement, name=full)):
            return message(f"Table {full[-1]} successfully created.")
        return message(f"{full[-1]} already exists, statement succeeded.")

    def _drop(self, statement: Drop, session: Session) -> Result | None:
        full = session.full(statement.name)
        if statement.plain and self._tables.find(full) is None:
            return None
        if statement.if_exists and self._tables.find(full) is None:
            return message("Drop statement executed successfully.")
        self._tables.drop(full)
        return message(f"{full[-1]} successfully dropped.")

    def _describe(self, statement: Describe, session: Session) -> Result | None:
        if statement.plain and self._tables.find(session.full(statement.name)) is None:
            return None
        return described_columns(self._tables.columns(session.full(statement.name)))

    def _drop_database(self, statement: DropDatabase) -> Result:
        if self._tables.drop_database(statement.name):
            return message(f"{statement.name} successfully dropped.")
        if statement.if_exists:
            return message("Drop statement executed successfully.")
        raise missing("Database", statement.name)

    def _refresh(self, statement: Refresh, session: Session) -> Result:
        full = session.full(statement.name)
        if statement.if_exists and self._tables.find(full) is None:
            return _DONE
        self._tables.refresh(full)
        return _DONE

    def _call(self, statement: Call, session: Session) -> Result:
        if statement.function == "SYSTEM$VERIFY_EXTERNAL_VOLUME":
            volume = self._objects.get("EXTERNAL VOLUME", parse_name(statement.argument))
            answer = verified_volume(self._config, volume)
        else:
            table = self._tables.get(session.full(parse_name(statement.argument)))
            answer = table_information(table)
        return Result((statement.column,), ((answer,),))
