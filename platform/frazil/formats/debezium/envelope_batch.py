"""Debezium's envelope, unwrapped by columns: the row of each change, and what it does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from frazil.exact import flags_of
from frazil.formats.debezium.marks import are_infinite, are_unavailable
from frazil.formats.logical import Struct
from frazil.formats.protocol import DecodedBatch

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    Flags = NDArray[np.bool_]

PUTS, DELETE, TRUNCATE = ("c", "u", "r"), "d", "t"
"""What `op` may be."""

MILLIS = (-62_135_596_800_000, 253_402_300_799_999)
"""The years 1 to 9999."""

_AFTER = "after"


@dataclass(frozen=True, slots=True)
class Change:
    """What the envelopes of a batch say, record by record; null of a value that is none.

    A `fault` makes the value bad; `Envelope.reason` puts it into words.
    """

    op: pa.StringArray
    time: pa.TimestampArray
    lsn: pa.Int64Array
    fault: pa.StringArray

    @property
    def truncates(self) -> Flags:
        """Which records end all rows."""
        return _are(self.op, TRUNCATE)

    @property
    def ends(self) -> Flags:
        """Which records end one row, or all."""
        return _are(self.op, DELETE) | self.truncates


@dataclass(frozen=True, slots=True)
class ArrowEnvelope:
    """Where the parts of a change stand in decoded keys and values.

    Args:
        row: The columns of the row.
        key_at: The path of the key's columns.
        at: The path of the envelope.
        has_time: Whether the source tells the time of a change.
        has_lsn: Whether it tells where the change stands in its log.
    """

    row: Struct
    key_at: tuple[str, ...]
    at: tuple[str, ...]
    has_time: bool
    has_lsn: bool

    def unwrap(self, key: DecodedBatch, value: DecodedBatch) -> tuple[DecodedBatch, DecodedBatch, Change]:
        """The key, the row in the place of the envelope, and what the change is."""
        import pyarrow as pa
        import pyarrow.compute as pc

        ok = value.ok
        op = _only(ok, _field(value.data, (*self.at, "op")).cast(pa.string()))
        row = _field(value.data, (*self.at, _AFTER))
        fault = self._faults(ok, op, row)
        change = Change(op, _only(ok, self._time(value)), _only(ok, self._lsn(value)), fault)
        good = pc.and_(ok, fault.is_null())
        unwrapped = replace(value, data=_parts(row), ok=good)
        return replace(key, data=_parts(_field(key.data, self.key_at))), unwrapped, change

    def _time(self, value: DecodedBatch) -> pa.Array:
        import pyarrow as pa
        import pyarrow.compute as pc

        millis = self._number(value, "ts_ms") if self.has_time else pa.nulls(len(value.ok), pa.int64())
        low, high = MILLIS
        is_moment = pc.and_(pc.greater_equal(millis, low), pc.less_equal(millis, high))
        micros = pc.multiply(pc.if_else(is_moment, millis, None), 1000)
        return micros.cast(pa.timestamp("us", "UTC"))

    def _lsn(self, value: DecodedBatch) -> pa.Array:
        import pyarrow as pa

        return self._number(value, "lsn") if self.has_lsn else pa.nulls(len(value.ok), pa.int64())

    def _number(self, value: DecodedBatch, name: str) -> pa.Array:
        import pyarrow as pa

        return _field(value.data, (*self.at, "source", name)).cast(pa.int64())

    def _faults(self, ok: pa.BooleanArray, op: pa.StringArray, row: pa.StructArray) -> pa.StringArray:
        import numpy as np
        import pyarrow as pa

        fine, puts = flags_of(ok), _are(op, *PUTS)
        faults = np.full(len(op), None, object)
        strange = fine & ~puts & ~_are(op, DELETE, TRUNCATE)
        if strange.any():
            faults[strange] = [f"operation {word}" for word in op.filter(pa.array(strange)).fill_null("null")]
        there = flags_of(row.is_valid())
        faults[puts & ~there] = "no_row"
        rest = puts & there
        for fault, hit in self._marks(row):
            faults[rest & hit] = fault
            rest &= ~hit
        return pa.array(faults, pa.string())

    def _marks(self, row: pa.StructArray) -> Iterator[tuple[str, Flags]]:
        """Faults of columns that hold a mark for a value, and of which rows; the first of a row counts."""
        columns = list(zip(self.row, row.flatten(), strict=True))
        for word, find in (("unavailable_value", are_unavailable), ("infinity", are_infinite)):
            for own, values in columns:
                hit = find(own.type, values)
                if hit is not None and hit.any():
                    yield f"{word} {own.name}", hit


def _field(rows: pa.StructArray, path: tuple[str, ...]) -> pa.Array:
    """A part of structs; null where what it is part of is."""
    import pyarrow.compute as pc

    return pc.struct_field(rows, list(path)) if path else rows


def _parts(rows: pa.StructArray) -> pa.StructArray:
    """Rows that are all there: where one was not, its columns are null."""
    import pyarrow as pa

    fields = [pa.field(own.name, own.type) for own in rows.type]
    return pa.StructArray.from_arrays(rows.flatten(), fields=fields)


def _only(ok: pa.BooleanArray, values: pa.Array) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.if_else(ok, values, pa.scalar(None, values.type))


def _are(op: pa.StringArray, *words: str) -> Flags:
    import pyarrow as pa
    import pyarrow.compute as pc

    return flags_of(pc.is_in(op, pa.array(words, pa.string())))
