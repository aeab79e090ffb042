"""PyIceberg's readers of manifests, made once for each schema: it makes them anew for each file.

To make one takes ten times the CPU that a small manifest takes to be read. Schemas of manifests don't change,
and readers have no state: https://github.com/apache/iceberg-python/issues/3662
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from frazil.tables.catalogs.pyiceberg import replace_functions

if TYPE_CHECKING:
    from pyiceberg.avro.file import AvroFileHeader
    from pyiceberg.avro.reader import Reader
    from pyiceberg.schema import Schema

_KEPT = 128
"""Most schemas that are kept: a table has one for each partition spec, and two for its lists of manifests."""

_ById = tuple[tuple[int, Any], ...]
"""Classes and enums by ids of fields."""


def keep_readers() -> None:
    """Lets PyIceberg make its reader of a schema once in this process."""
    from pyiceberg.avro import file

    replace_functions(file.AvroFileHeader, {"get_schema": _schema})
    replace_functions(file, {"resolve_reader": _reader})


def _schema(header: AvroFileHeader) -> Schema:
    """The schema that the header of an Avro file tells."""
    text = header.meta.get("avro.schema")
    if text is None:
        raise ValueError("No schema found in Avro file headers")  # as PyIceberg says it
    return _schema_of(text)


@lru_cache(_KEPT)
def _schema_of(text: str) -> Schema:
    from pyiceberg.utils.schema_conversion import AvroSchemaConversion

    return AvroSchemaConversion().avro_to_iceberg(json.loads(text))


@dataclass(frozen=True, slots=True, eq=False)
class _Same:
    """A schema as a key, by what it is: PyIceberg's equality compares all fields, and it has no hash."""

    schema: Schema

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.schema is other.schema

    def __hash__(self) -> int:
        return id(self.schema)


def _reader(file: Schema, read: Schema, types: Mapping[int, Any], enums: Mapping[int, Any]) -> Reader:
    """Reads records of the schema `file` as records of `read`."""
    return _reader_of(_Same(file), _Same(read), (*types.items(),), (*enums.items(),))


@lru_cache(_KEPT)
def _reader_of(file: _Same, read: _Same, types: _ById, enums: _ById) -> Reader:
    from pyiceberg.avro.resolver import resolve_reader

    return resolve_reader(file.schema, read.schema, dict(types), dict(enums))
