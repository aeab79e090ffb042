"""Debezium's envelope: which part of a decoded value is the row, and what the change does to it.

An envelope is `{before, after, source, op, ts_ms, transaction}`; Connect's JSON with embedded schemas has it
under `payload`, beside a `schema` that is not read. Here it is unwrapped: what merges rows knows of keys,
rows and deletes alone. Source: Debezium's documentation, "Data change events" of each connector.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from frazil.errors import SchemaRefusedError
from frazil.formats.bare import Bare, Unknown
from frazil.formats.columns.columns import CHANGE
from frazil.formats.debezium.envelope_batch import DELETE, TRUNCATE, ArrowEnvelope
from frazil.formats.logical import Field, Primitive, Struct, find
from frazil.formats.protocol import VALUE, Reason
from frazil.spec.topic import TableSpec

_PAYLOAD = "payload"
ROWS_AT = ("before.", "after.", f"{_PAYLOAD}.before.", f"{_PAYLOAD}.after.")
"""Where rows may stand in a value; the other one must be readable, too."""

_TIME, _LSN = "source.ts_ms", "source.lsn"
_WHOLE = (Primitive("int"), Primitive("long"))


@dataclass(frozen=True, slots=True)
class Envelope:
    """What changes are made of, and what they do, as SQL over records that were decoded."""

    key: Struct  # the columns of the key
    row: Struct  # the columns of the row
    arrow: ArrowEnvelope  # what unwraps them

    @property
    def deletes(self) -> str:
        """Whether a good record ends the row of its key, as SQL that is never null."""
        return f"({VALUE.raw} IS NULL OR {CHANGE}.op <=> '{DELETE}')"

    @property
    def truncates(self) -> str:
        """Whether a good record ends all rows, as SQL that is never null. It has no key."""
        return f"({CHANGE}.op <=> '{TRUNCATE}')"

    def values(self, key: Bare, value: Bare) -> tuple[Bare, Bare]:
        """The key and the row within the values of a record; of a row that ended nothing is known."""
        row = _within(value, (*self.arrow.at, "after"))
        ended = dict.fromkeys((f.name for f in self.row), Unknown("the value before the row ended"))
        return _within(key, self.arrow.key_at) or {}, ended if row is None else row

    @staticmethod
    def reason(fault: str) -> Reason:
        """Why a record is bad whose envelope is not; in words."""
        code, _, about = fault.partition(" ")
        return code, _REASONS[code].format(about)


_REASONS = {
    "operation": "op is {}, which is none of c, u, r, d and t",
    "no_row": "after is null, and op says that there is a row",
    "unavailable_value": "{} holds Debezium's mark for a value that it lacks; set REPLICA IDENTITY FULL",
    "infinity": "{} holds PostgreSQL's infinity, and is no moment",
}


def envelope(spec: TableSpec, key: Struct, value: Struct) -> Envelope:
    """The envelope that values of these columns are.

    Raises:
        SchemaRefusedError: They are no changes of rows.
    """
    key, key_path = _payload(key)
    value, path = _payload(value)
    row, op = value.get("after"), value.get("op")
    if row and row.type == Primitive("string") and (value.get("updateDescription") or _of_documents(value)):
        raise _documents(spec)
    if row is None or not isinstance(row.type, Struct):
        raise _refusal(spec, row, "after", "a record, which the row is", value)
    if op is None or op.type != Primitive("string"):
        raise _refusal(spec, op, "op", "a text, which says what was done", value)
    _refuse_unordered(spec, find(value, _LSN))
    has_time, has_lsn = _is_number(value, _TIME), _is_number(value, _LSN)
    by_columns = ArrowEnvelope(row.type, key_path, path, has_time, has_lsn)
    return Envelope(key, row.type, by_columns)


def _within(values: Bare, path: Sequence[str]) -> Any:
    value: Any = values
    for name in path:
        value = None if value is None else value.get(name)
    return value


def _of_documents(value: Struct) -> bool:
    return find(value, "source.collection") is not None


def _documents(spec: TableSpec) -> SchemaRefusedError:
    return SchemaRefusedError(
        f"The values of topic {spec.topic} are changes of MongoDB: the row is a text of JSON, and no record.",
        where=f"topic {spec.topic}, mode: cdc; field after is string",
        meaning="Nothing was landed.",
        todo="Let Debezium's ExtractNewDocumentState unwrap them in the connector, and write mode: upsert; "
        "or write mode: append, which keeps each change with its text.",
    )


def _refuse_unordered(spec: TableSpec, lsn: Field | None) -> None:
    if spec.by_lsn and (lsn is None or lsn.type not in _WHOLE):
        why = f"source.lsn is {lsn.type}, and no whole number" if lsn else "there is no field source.lsn"
        raise SchemaRefusedError(
            f"The changes of topic {spec.topic} can't be put in order as the spec says: {why}.",
            where=f"topic {spec.topic}, order_by: source.lsn",
            meaning="Nothing was landed.",
            todo="Write order_by: offset, which suits every database.",
        )


def _payload(columns: Struct) -> tuple[Struct, tuple[str, ...]]:
    """The columns beneath `payload`, and their path; the columns themselves where there is none."""
    inner = columns.get(_PAYLOAD)
    alone = all(f.name in ("schema", _PAYLOAD) for f in columns)
    if alone and inner and isinstance(inner.type, Struct):
        return inner.type, (_PAYLOAD,)
    return columns, ()


def _is_number(value: Struct, path: str) -> bool:
    member = find(value, path)
    return member is not None and member.type in _WHOLE


def _refusal(
    spec: TableSpec, member: Field | None, name: str, what: str, value: Struct
) -> SchemaRefusedError:
    why = f"field {name} is {member.type}" if member else f"there is no field {name}"
    return SchemaRefusedError(
        f"The values of topic {spec.topic} are no changes of rows: {why}. It must be {what}.",
        where=f"topic {spec.topic}, mode: cdc; fields {', '.join(f.name for f in value)}",
        meaning="Nothing was landed.",
        todo="Take the unwrapping transform out of Debezium's connector, or write mode: upsert, which takes "
        "rows as they are.",
    )
