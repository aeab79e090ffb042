"""What PyIceberg works out for each file anew, worked out once: half of the CPU of a round."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pyiceberg.avro.file as avro
import pytest
from pyiceberg.avro.resolver import construct_writer, resolve_reader
from pyiceberg.table.metadata import TableMetadataV2
from pyiceberg.utils.schema_conversion import AvroSchemaConversion

__all__ = ["make_haste"]


def make_haste(patch: pytest.MonkeyPatch) -> None:
    """Has schemas of Avro files resolved once, and metadata, which nobody changes, not copied."""
    readers: dict[Any, Any] = {}

    def reader(schema: Any, wanted: Any, types: Any, enums: Any) -> Any:
        key = id(schema), id(wanted), *(tuple(found.items()) for found in (types, enums))
        if key not in readers:
            readers[key] = schema, wanted, resolve_reader(schema, wanted, types, enums)
        return readers[key][-1]

    @cache
    def schema(text: str) -> Any:
        return AvroSchemaConversion().avro_to_iceberg(json.loads(text))

    header = construct_writer(avro.META_SCHEMA)

    def writer(file_schema: Any) -> Any:
        return header if file_schema is avro.META_SCHEMA else construct_writer(file_schema)

    patch.setattr(avro, "construct_writer", writer)
    patch.setattr(avro, "resolve_reader", reader)
    patch.setattr(avro.AvroFileHeader, "get_schema", lambda header: schema(header.meta["avro.schema"]))
    patch.setattr(TableMetadataV2, "__deepcopy__", lambda metadata, _=None: metadata.model_copy())
