"""Names and constants as SQL takes them, whatever they are made of.

Columns are named by whoever may register a schema or change a table: no such text stands in SQL unquoted.
"""

from __future__ import annotations


def quoted(*parts: str) -> str:
    """An identifier of one or more parts, for Spark."""
    return _joined(parts, "`")


def double_quoted(*parts: str) -> str:
    """An identifier of one or more parts, for Snowflake and DuckDB."""
    return _joined(parts, '"')


def literal(value: str | int | float | bool) -> str:
    """A constant, for Spark."""
    match value:
        case str():
            escaped = value.replace("\\", "\\\\").replace("'", "\\'")
            return f"'{escaped}'"
        case bool() | int():
            return str(value).lower()
        case float():
            return f"double('{value!r}')"


def comparable(column: str, kind: str) -> str:
    """SQL of a column as Spark can sort it and group by it: a map, which it can't, as JSON."""
    return f"to_json(struct({column}))" if "map<" in kind else column


def _joined(parts: tuple[str, ...], mark: str) -> str:
    return ".".join(mark + part.replace(mark, mark * 2) + mark for part in parts)
