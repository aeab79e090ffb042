"""The folders of partitions: names that a store takes, whatever the values are.

As PyIceberg and Java name them, but for odd names of fields, and for two kinds of values: moments that
Python's own dates can't hold, and texts of which a key of S3 has no room (1,024 bytes, and a text takes three
for each byte that is no plain letter). A folder's name says nothing to Iceberg, which has the value in the
manifest.
"""

from __future__ import annotations

import re
from hashlib import sha256
from itertools import accumulate, takewhile
from typing import TYPE_CHECKING, Any
from urllib.parse import quote_plus

from frazil.exact import iso_day, iso_moment

if TYPE_CHECKING:
    from pyiceberg.partitioning import PartitionSpec
    from pyiceberg.schema import Schema
    from pyiceberg.transforms import Transform
    from pyiceberg.typedef import Record
    from pyiceberg.types import IcebergType

_PART = 200
"""Bytes of one field's folder: file systems end at 255."""

_WHOLE = 500
"""Bytes of the folders of all fields: the table's location and the file's name come to a key besides."""

_DIGEST = 16

_EMPTY = "(empty)"
"""How a text without letters is called. A text of these letters shares its folder, and no more."""


def folder_of(spec: PartitionSpec, schema: Schema, values: Record) -> str:
    """The folder of a partition below that of a table's data.

    Args:
        values: As manifests have them: dates and moments are numbers.
    """
    kinds = spec.partition_type(schema).fields
    parts = [
        _part(field.name, _text(field.transform, kind.field_type, values[place]))
        for place, (field, kind) in enumerate(zip(spec.fields, kinds, strict=True))
    ]
    whole = "/".join(parts)
    return whole if len(whole) <= _WHOLE else f"{parts[0]}/{_digest(whole)}"


def _part(name: str, value: str) -> str:
    signs = [*_plain(name), "=", *map(_quoted, value)]
    whole = "".join(signs)
    if len(whole) <= _PART:
        return whole
    # No sign is cut in its middle, and two values that begin alike stay apart.
    ends = accumulate(map(len, signs))
    kept = takewhile(lambda pair: pair[1] <= _PART - _DIGEST - 2, zip(signs, ends, strict=True))
    return f"{''.join(sign for sign, _ in kept)}--{_digest(whole)}"


def _plain(name: str) -> str:
    """SeaweedFS denies a folder of another name: `iceberg_layout.go`."""
    plain = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return f"_{plain}" if plain[:1].isdigit() else plain


def _quoted(text: str) -> str:
    return quote_plus(text, safe="")


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:_DIGEST]


def _text(transform: Transform[Any, Any], kind: IcebergType, value: Any) -> str:
    if value is None:
        return "null"
    match str(transform):
        case "year":
            return _year(value)
        case "month":
            return f"{_year(value // 12)}-{value % 12 + 1:02}"
        case "day":
            return iso_day(value)
        case "hour":
            return f"{iso_day(value // 24)}-{value % 24:02}"
        case "identity" if str(kind) in ("date", "timestamp", "timestamptz"):
            return _moment(str(kind), value)
    # SeaweedFS denies a folder whose name ends with the sign of equality.
    return transform.to_human_string(kind, value) or _EMPTY


def _year(years: int) -> str:
    year = 1970 + years
    return f"{year:04}" if 0 <= year <= 9999 else f"{year:+05}"


def _moment(kind: str, value: int) -> str:
    return iso_day(value) if kind == "date" else iso_moment(value, zoned=kind == "timestamptz")
