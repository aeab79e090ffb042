"""Northwind's database: made once for each stack, with its tables and their first rows."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from frazil_local.home import Home
from frazil_local.northwind.postgres import open_database
from frazil_local.northwind.rows import Row, first_rows
from frazil_local.ports import Ports

if TYPE_CHECKING:
    from psycopg import Connection

DATABASE = "northwind"
_TABLES = Path(__file__).with_name("schema.sql")


def create_northwind(home: Home, ports: Ports) -> None:
    """Makes the database with its tables and rows, where it is missing."""
    with open_database(home, ports, "postgres") as connection:
        connection.autocommit = True
        if connection.execute("SELECT FROM pg_database WHERE datname = %s", [DATABASE]).fetchone() is None:
            connection.execute(f"CREATE DATABASE {DATABASE}")
    with open_database(home, ports, DATABASE) as connection:
        if connection.execute("SELECT to_regclass('orders')").fetchone() == (None,):
            connection.execute(_TABLES.read_text(encoding="utf-8").encode())
            for table, rows in first_rows().items():
                copy_rows(connection, table, rows)


def copy_rows(connection: Connection[Any], table: str, rows: Iterable[Row]) -> None:
    """Inserts whole rows into a table."""
    from psycopg.sql import SQL, Identifier

    statement = SQL("COPY {} FROM STDIN").format(Identifier(table))
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        for row in rows:
            copy.write_row(row)
