"""Avro that pyruhvro can't read: one record after the other, into the arrays that it makes of others.

Only a fixed is another array: bytes, whatever its size. Which shapes the others have, `shapes` says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from frazil.exact import values_of
from frazil.formats.avro.decoding.canonical import BadPayloadError
from frazil.formats.avro.decoding.reading import record_read, value_reader
from frazil.formats.avro.decoding.shapes import fields_with_bytes, is_optional, leaves_per_byte

Values = Sequence[Any]
"""As `reading` returns them; None is null."""

Make = Callable[[Values], pa.Array]

_KINDS = {
    "boolean": pa.bool_(), "int": pa.int32(), "long": pa.int64(), "enum": pa.int32(),
    "string": pa.binary(), "bytes": pa.binary(), "fixed": pa.binary(),
}  # fmt: skip
_FLOATS: dict[str, Any] = {"float": np.float32, "double": np.float64}


class RowReader:
    """Reads records of one writer; see `arrow.Reader`."""

    def __init__(self, tree: dict[str, Any]) -> None:
        self._read, self._make = value_reader(tree), _maker(tree)
        self.places_per_byte = leaves_per_byte(tree)

    def read(self, payloads: pa.BinaryArray) -> tuple[np.ndarray, pa.StructArray]:
        """See `arrow.Reader.read`."""
        records = [self._record(payload) for payload in values_of(payloads)]
        places = [place for place, record in enumerate(records) if record is not None]
        return np.array(places, np.int64), self._make([records[place] for place in places])

    def _record(self, payload: bytes) -> Any:
        try:
            return record_read(self._read, payload)
        except BadPayloadError:
            return None


def nothing_of(node: Any, rows: int) -> pa.Array:
    """Values of a type that takes no bytes."""
    read = value_reader(node)
    value = record_read(read, b"")
    return _maker(node)([value] * rows)


def _maker(node: Any) -> Make:
    """What makes arrays of values of a type."""
    if isinstance(node, list):
        return _optional(node) if is_optional(node) else _union(node)
    match node["type"]:
        case "record":
            return _struct([_maker(field["type"]) for field in fields_with_bytes(node)])
        case "array":
            return _lists(_maker(node["items"]))
        case "map":
            return _lists(_struct([_maker({"type": "string"}), _maker(node["values"])]))
        case "null":
            return lambda values: pa.nulls(len(values))
        case kind if kind in _FLOATS:
            return _floats(_FLOATS[kind])
        case kind:
            return lambda values: pa.array(values, _KINDS[kind])


def _optional(branches: list[Any]) -> Make:
    return _maker(next(branch for branch in branches if branch["type"] != "null"))


def _union(branches: list[Any]) -> Make:
    parts = [_maker(b) if b["type"] == "null" else _struct([_maker(b)]) for b in branches]

    def made(values: Values) -> pa.UnionArray:
        # Where the union's own record is null, any branch will do: nobody looks.
        codes = np.array([0 if value is None else value[0] for value in values], np.int8)
        members = [[v[1:] if v and v[0] == n else None for v in values] for n in range(len(parts))]
        return pa.UnionArray.from_sparse(
            pa.array(codes), [make(own) for make, own in zip(parts, members, strict=True)]
        )

    return made


def _struct(parts: Sequence[Make]) -> Make:
    names = [f"f{n}" for n in range(len(parts))]

    def made(values: Values) -> pa.StructArray:
        if not parts:
            return pa.array([None if value is None else {} for value in values], pa.struct([]))
        columns = [make([v and v[n] for v in values]) for n, make in enumerate(parts)]
        missing = pa.array([value is None for value in values], pa.bool_())
        return pa.StructArray.from_arrays(columns, names=names, mask=missing)

    return made


def _lists(item: Make) -> Make:
    def made(values: Values) -> pa.ListArray:
        sizes = [len(value or ()) for value in values]
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
        items = item([each for value in values for each in value or ()])
        missing = pa.array([value is None for value in values], pa.bool_())
        return pa.ListArray.from_arrays(pa.array(offsets), items, mask=missing)

    return made


def _floats(kind: Any) -> Make:
    size = np.dtype(kind).itemsize

    def made(values: Values) -> pa.Array:
        numbers = np.frombuffer(b"".join(value or bytes(size) for value in values), kind)
        return pa.array(numbers, mask=np.array([value is None for value in values], bool))

    return made
