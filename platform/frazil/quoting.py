"""Names and constants as SQL, a spec, a filter and a shell take them, whatever they are made of.

Anyone who can register a schema or change a table names columns: no such text stands in SQL unquoted,
be it run or advised.
"""

from __future__ import annotations

import json
import re
import shlex


def quoted(*parts: str) -> str:
    """An identifier of one or more parts, for Spark."""
    return _joined(parts, "`")


def double_quoted(*parts: str) -> str:
    """An identifier of one or more parts, for Snowflake and DuckDB."""
    return _joined(parts, '"')


_PLAIN = re.compile(
    r"(?!(?:y|n|yes|no|on|off|true|false|null)$)[a-z_]\w*(\.[a-z_]\w*)*", re.ASCII | re.IGNORECASE
)
"""A name that YAML takes for a text without quotes."""

_PART = re.compile(r'"((?:[^"]|"")*)"|([^."]+)')

_FILTERED = re.compile(r"(?!(?:and|or|not|is|in|null|nan|like|between|true|false)$)[a-z_][\w$]*", re.A | re.I)
"""A name that a filter takes without quotes."""


def in_yaml(text: str) -> str:
    """A text as YAML reads it back."""
    return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)


def in_shell(text: str) -> str:
    """A word of a command line."""
    return shlex.quote(text)


def in_filter(column: str) -> str:
    """A column as a filter finds it: see `frazil.tables.filters`."""
    return column if all(map(_FILTERED.fullmatch, column.split("."))) else double_quoted(column)


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


def parts_of(name: str) -> tuple[str, ...]:
    """The parts of a name, as Snowflake's SHOW writes it: quoted where they have to be."""
    return tuple(quoted.replace('""', '"') or plain for quoted, plain in _PART.findall(name))


def _joined(parts: tuple[str, ...], mark: str) -> str:
    return ".".join(mark + part.replace(mark, mark * 2) + mark for part in parts)
