"""MERGE, by duckdb itself.

fakesnow makes a table of candidates first, which fails in a transaction and without a current database.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import duckdb
from fakesnow.converter import from_binding
from snowflake.connector.errors import ProgrammingError
from sqlglot import exp, parse_one

from frazil.local.snowflake.errors import Refused
from frazil.local.snowflake.results import Result

__all__ = ["merged"]

_COUNTED = {"INSERT": "inserted", "UPDATE": "updated", "DELETE": "deleted"}


def merged(connection: Any, body: Mapping[str, Any]) -> Result:
    """Carries out a MERGE.

    Args:
        connection: fakesnow's, of the session.
        body: The request: the statement, and the values bound to its placeholders.

    Raises:
        Refused: duckdb does not take it.
        SqlglotError: It can't be read.
    """
    bindings = body.get("bindings") or {}
    values = [from_binding(bindings[str(place)]) for place in range(1, len(bindings) + 1)]
    cursor = connection.cursor()
    statement = parse_one(body["sqlText"], read="snowflake")
    try:
        cursor.check_db_and_schema(statement)
        cursor._execute(_for_duckdb(cursor._transform(statement, values or None)), values or None)
    except ProgrammingError as e:
        raise Refused(e.errno or 1, e.sqlstate or "42000", str(e.msg)) from None
    except duckdb.Error as e:
        raise Refused(1, "XX000", str(e)) from None
    done = cursor._arrow_table.column("merge_action").to_pylist()
    clauses = {_action(when.args["then"]) for when in statement.find_all(exp.When)}
    counts = {f"number of rows {word}": done.count(a) for a, word in _COUNTED.items() if a in clauses}
    return Result(tuple(counts), (tuple(map(str, counts.values())),), counts=True)


def _for_duckdb(statement: Any) -> Any:
    """It answers with what it did to each row, and takes no table's name in front of what it sets."""
    for update in statement.find_all(exp.Update):
        for assigned in update.expressions:
            assigned.this.set("table", None)
    statement.set("returning", exp.Returning(expressions=[exp.column("merge_action")]))
    return statement


def _action(then: Any) -> str:
    return str(then.key if isinstance(then, exp.Insert | exp.Update) else then.name).upper()
