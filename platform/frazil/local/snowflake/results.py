"""Results of the stand-in's own statements, and how Snowflake's protocol carries them."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any, TypeAlias

from fakesnow.statement_type import MERGE

from frazil.local.snowflake.errors import Refused

__all__ = ["Result", "Row", "failure", "message", "success"]

Row: TypeAlias = "tuple[str | None, ...]"


@dataclass(frozen=True, slots=True)
class Result:
    """Columns of text, as all of the stand-in's own statements answer, MERGE apart.

    Args:
        columns: Their names.
        rows: Their values.
        counts: They are numbers of rows that a MERGE changed.
    """

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    counts: bool = False


def message(text: str) -> Result:
    """The one-cell answer of statements that change something."""
    return Result(("status",), ((text,),))


def success(result: Result, database: str | None, schema: str | None) -> dict[str, Any]:
    """The body of a good answer."""
    return {
        "data": {
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
        },
        "success": True,
    }


def failure(refused: Refused) -> dict[str, Any]:
    """The body of a refusal, which a client shows and does not repeat."""
    code = f"{refused.number:06d}"
    data = {"errorCode": code, "sqlState": refused.state, "queryId": str(uuid.uuid4())}
    return {"data": data, "code": code, "message": refused.text, "success": False}


def _column(name: str, number: bool) -> dict[str, Any]:
    return {
        "name": name,
        "database": "",
        "schema": "",
        "table": "",
        "type": "fixed" if number else "text",
        "nullable": True,
        "length": None if number else 16777216,
        "byteLength": None if number else 16777216,
        "precision": 38 if number else None,
        "scale": 0 if number else None,
        "collation": None,
    }
