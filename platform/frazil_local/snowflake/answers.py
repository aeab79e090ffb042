"""Results and refusals of the stand-in's own statements, and how Snowflake's protocol carries them."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any, TypeAlias

from fakesnow.statement_type import MERGE

Row: TypeAlias = "tuple[str | None, ...]"


@dataclass(frozen=True, slots=True)
class Result:
    """Columns of text, or counts: the numbers of rows that a MERGE changed."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    counts: bool = False


class Refused(Exception):
    """A statement that the stand-in answers with an error: Snowflake's number and SQL state."""

    def __init__(self, number: int, state: str, text: str) -> None:
        super().__init__(text)
        self.number, self.state, self.text = number, state, text


def missing(kind: str, name: str) -> Refused:
    """A named object is not there."""
    text = f"SQL compilation error:\n{kind.capitalize()} '{name}' does not exist or not authorized."
    return Refused(2003, "02000", text)


def already_there(kind: str, name: str) -> Refused:
    """An object of that name is there already."""
    text = f"SQL compilation error:\n{kind.capitalize()} '{name}' already exists."
    return Refused(2002, "42710", text)


def syntax_error(text: str) -> Refused:
    """The statement can't be read."""
    return Refused(1003, "42000", f"SQL compilation error:\n{text}")


def invalid(parameter: str, value: str) -> Refused:
    """A property has a value that is not allowed."""
    text = f"SQL compilation error:\ninvalid value [{value}] for parameter '{parameter}'"
    return Refused(1008, "22023", text)


def unsupported(text: str) -> Refused:
    """Snowflake can do it, the stand-in can't."""
    return Refused(2, "0A000", f"Unsupported feature in the stand-in: {text}")


def message(text: str) -> Result:
    """The one-cell answer of statements that change something."""
    return Result(("status",), ((text,),))


DONE = message("Statement executed successfully.")
NOTHING_DROPPED = message("Drop statement executed successfully.")


def success(result: Result, database: str | None, schema: str | None) -> dict[str, Any]:
    """The body of a good answer."""
    data = {
        "parameters": [{"name": "TIMEZONE", "value": "Etc/UTC"}],
        "rowtype": [_column(name, result.counts) for name in result.columns],
        "rowset": [list(row) for row in result.rows],
        "total": len(result.rows),
        "returned": len(result.rows),
        "queryId": str(uuid.uuid4()),
        "queryResultFormat": "json",
        "statementTypeId": MERGE if result.counts else 0,
        "finalDatabaseName": database,
        "finalSchemaName": schema,
    }
    return {"data": data, "success": True}


def failure(refused: Refused) -> dict[str, Any]:
    """The body of a refusal, which a client shows and does not repeat."""
    code = f"{refused.number:06d}"
    data = {"errorCode": code, "sqlState": refused.state, "queryId": str(uuid.uuid4())}
    return {"data": data, "code": code, "message": refused.text, "success": False}


def _column(name: str, number: bool) -> dict[str, Any]:
    length = None if number else 16777216
    return {
        "name": name,
        "database": "",
        "schema": "",
        "table": "",
        "type": "fixed" if number else "text",
        "nullable": True,
        "length": length,
        "byteLength": length,
        "precision": 38 if number else None,
        "scale": 0 if number else None,
        "collation": None,
    }
