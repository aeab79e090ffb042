"""Typed columns over JSON text, as Snowflake's SQL.

A text is cast only where it has the form of the type. TRY_CAST alone would round 1.5 to the long 2, cut
1.005 to the decimal 1.01, and take 12 for the twelfth second of 1970 (docs.snowflake.com, "TRY_CAST", "Date &
time input and output formats").
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from frazil.errors import SpecError
from frazil.publishing.snowflake.statements import text
from frazil.quoting import double_quoted
from frazil.spec.fields import ANY_JSON, digits_of
from frazil.spec.names import TableName
from frazil.spec.table import AnyTable
from frazil.spec.topic import TableSpec
from frazil.spec.typed import TypedField

if TYPE_CHECKING:
    from pyiceberg.schema import Schema

_DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_MOMENT = f"{_DAY}[T ][0-9:.]+"
_ZONE = "(Z|[+-][0-9]{2}:?[0-9]{2})"
_NUMBER = "-?[0-9]+([.][0-9]+)?([eE][+-]?[0-9]+)?"
_FORMS = {
    "int": ("-?[0-9]+", "NUMBER(10,0)"), "long": ("-?[0-9]+", "NUMBER(19,0)"),
    "float": (_NUMBER, "FLOAT"), "double": (_NUMBER, "FLOAT"), "date": (_DAY, "DATE"),
    "timestamp": (_MOMENT, "TIMESTAMP_NTZ"), "timestamptz": (f"{_MOMENT}{_ZONE}", "TIMESTAMP_LTZ"),
}  # fmt: skip
"""By type: the form of a text that fits, and what Snowflake calls the type."""

_MILLIS = "-[0-9]{1,13}|[0-9]{1,14}"
"""Of the years 1653 to 5138: a number without an end would be an error, and no query could read the view."""

_FROM_MILLIS = {"timestamp": "TO_TIMESTAMP_NTZ", "timestamptz": "TO_TIMESTAMP_LTZ"}


def typed_columns(spec: AnyTable, columns: Sequence[str]) -> dict[str, str]:
    """The SQL of each typed column, by its name in capitals, as plain SQL names it.

    Args:
        spec: It lists them.
        columns: Those of the table, as Snowflake spells them; what is read of another one is left out.
    """
    spelled = {column.upper(): double_quoted(column) for column in columns}
    listed = spec.typed.items() if isinstance(spec, TableSpec) else ()
    return {
        field.name.upper(): _typed(field, spelled[column.upper()])
        for column, fields in listed
        for field in fields
        if column.upper() in spelled
    }


def check_typed(spec: AnyTable, table: TableName, schema: Schema) -> None:
    """Refuses what can't be read of the columns that the table has.

    Raises:
        SpecError: A column is missing, or is no text, or a name is taken.
    """
    types = {field.name.upper(): str(field.field_type) for field in schema.fields}
    for column, fields in spec.typed.items() if isinstance(spec, TableSpec) else ():
        if types.get(column.upper()) != "string":
            texts = ", ".join(field.name for field in schema.fields if str(field.field_type) == "string")
            raise _unreadable(table, f"the table has no column {column} of text", f"Name one of {texts}.")
        if taken := next((field.name for field in fields if field.name.upper() in types), ""):
            why = f"the table has a column {taken} itself"
            raise _unreadable(table, why, "Name the typed one otherwise.")


def _typed(field: TypedField, column: str) -> str:
    value = f"TRY_PARSE_JSON({column}){''.join(f'[{text(step)}]' for step in field.steps)}"
    if field.type == ANY_JSON:
        return f"NULLIF(TO_JSON({value}), 'null')"
    if field.type == "string":
        return f"{value}::VARCHAR"
    if field.type == "boolean":
        return f"CASE {value}::VARCHAR WHEN 'true' THEN TRUE WHEN 'false' THEN FALSE END"
    if field.unit:
        return f"{_FROM_MILLIS[field.type]}({_cast(value, _MILLIS, 'NUMBER(19,0)')}, 3)"
    return _cast(value, *_form(field.type))


def _form(kind: str) -> tuple[str, str]:
    digits, scale = digits_of(kind)
    if not digits:
        return _FORMS[kind]
    behind = f"([.][0-9]{{1,{scale}}}0*)?" if scale else "([.]0+)?"
    return f"-?[0-9]+{behind}", f"NUMBER({digits},{scale})"


def _cast(value: str, form: str, kind: str) -> str:
    return f"TRY_CAST(REGEXP_SUBSTR({value}::VARCHAR, {text(f'^({form})$')}) AS {kind})"


def _unreadable(table: TableName, why: str, todo: str) -> SpecError:
    return SpecError(
        f"typed: {why}.",
        where=str(table),
        meaning="The table is right; Snowflake shows what it showed before.",
        todo=todo,
    )
