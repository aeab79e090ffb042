"""The key of an upsert table: the columns that tell its rows apart, and where a record has their values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from frazil.errors import SchemaRefusedError, SpecError
from frazil.formats.columns.columns import RecordColumns
from frazil.formats.logical import Decimal, Field, Fixed, Primitive, Struct
from frazil.formats.protocol import KEY, VALUE, Reason
from frazil.quoting import quoted
from frazil.spec.topic import TableSpec


@dataclass(frozen=True, slots=True)
class RowKey:
    """The columns that tell rows apart; none where every record is a row."""

    columns: Mapping[str, str] = field(default_factory=dict)  # SQL over the decoded halves, by column
    of_value: tuple[str, ...] = ()  # those that stand in the value

    def missing(self, raw_key: bytes | None, raw_value: bytes | None) -> Reason:
        """Why a record has no key, though it was decoded."""
        if raw_key is None and len(self.of_value) < len(self.columns):
            return "null_key", "the record has no key: nothing tells which row it is"
        if raw_value is None and self.of_value:
            columns = ", ".join(self.of_value)
            return "null_key", f"the value is null, and {columns} of the key stands in it: no row can be told"
        return "null_key", f"the key is not whole: {' or '.join(self.columns)} is null"


_OTHER = {
    "upsert": "Name other fields in key_fields",
    "cdc": "Name other columns in message.key.columns of Debezium's connector",
}
"""How a user chooses the key, by the spec's mode."""

NO_KEY = RowKey()
"""The key of a table in which every record is a row."""


def row_key(spec: TableSpec, columns: RecordColumns) -> RowKey:
    """The key of a spec's rows. A field that key and value share is the key's: a null value leaves only that.

    Raises:
        SpecError: There is no such field, or none at all.
        SchemaRefusedError: A field can't tell rows apart.
    """
    if not spec.is_keyed:
        return NO_KEY
    names = tuple(_named_now(spec, n, columns) for n in spec.key_fields) or tuple(f.name for f in columns.key)
    if not names:
        raise _unknown(spec, f"mode: {spec.mode} needs a key, and the topic's keys have no field", columns)
    sources: dict[str, str] = {}
    for name in names:
        half = KEY if columns.key.get(name) else VALUE
        _refuse_unfit(spec, _field(spec, name, columns), columns.value.get(name))
        sources[name] = f"{half.data}.{quoted(name)}"
    return RowKey(sources, tuple(name for name in names if not columns.key.get(name)))


def _named_now(spec: TableSpec, name: str, columns: RecordColumns) -> str:
    """What the newest schemas call a field of the key, before and after they take up an approved rename."""
    renames = [(m.column, m.rename.to) for m in spec.migrations if m.rename]
    for one, other in (*renames, *((to, from_) for from_, to in reversed(renames))):
        if one == name and not _has(columns, name) and _has(columns, other):
            return other
    return name


def _has(columns: RecordColumns, name: str) -> bool:
    return columns.key.get(name) is not None or columns.value.get(name) is not None


def _field(spec: TableSpec, name: str, columns: RecordColumns) -> Field:
    if known := columns.key.get(name) or columns.value.get(name):
        return known
    raise _unknown(spec, f"key_fields: neither key nor value has a field {name}", columns)


def _refuse_unfit(spec: TableSpec, key: Field, twin: Field | None) -> None:
    if not isinstance(key.type, Primitive | Decimal | Fixed) or str(key.type) in ("float", "double"):
        raise _refusal(spec, f"{key.name} is {_word(key)}, and such values can't tell rows apart")
    if twin and twin.type != key.type:
        raise _refusal(spec, f"{key.name} is {_word(key)} in the key, and {_word(twin)} in the value")


def _word(of: Field) -> str:
    return "a struct" if isinstance(of.type, Struct) else str(of.type)


def _refusal(spec: TableSpec, why: str) -> SchemaRefusedError:
    return SchemaRefusedError(
        f"The key of topic {spec.topic} can't be a table's: field {why}.",
        where=f"topic {spec.topic}, mode: {spec.mode}",
        meaning="Nothing was landed.",
        todo=f"{_OTHER[spec.mode]}, or write mode: append.",
    )


def _unknown(spec: TableSpec, why: str, columns: RecordColumns) -> SpecError:
    there = ", ".join(dict.fromkeys(f.name for f in (*columns.key, *columns.value)))
    return SpecError(
        f"{why}.",
        where=f"topic {spec.topic}",
        meaning="Nothing was landed.",
        todo=f"{_OTHER[spec.mode]}; there are {there}.",
    )
