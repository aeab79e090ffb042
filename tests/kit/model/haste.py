"""What PyIceberg works out for each file anew, worked out once: more than half of the CPU of a round."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from importlib import metadata
from typing import Any

import pyiceberg.avro.file as avro
import pytest
from pyiceberg.avro.resolver import construct_reader, construct_writer, resolve_reader, resolve_writer
from pyiceberg.manifest import ManifestWriter
from pyiceberg.table.metadata import TableMetadataV2
from pyiceberg.utils.schema_conversion import AvroSchemaConversion

__all__ = ["make_haste"]


def make_haste(patch: pytest.MonkeyPatch) -> None:
    """Has schemas of Avro files resolved once, and metadata, which nobody changes, not copied."""
    patch.setattr(avro, "construct_reader", _once(construct_reader, 1))
    patch.setattr(avro, "construct_writer", _once(construct_writer, 1))
    patch.setattr(avro, "resolve_reader", _once(resolve_reader, 2))
    patch.setattr(avro, "resolve_writer", _once(resolve_writer, 2))
    patch.setattr(avro.AvroFileHeader, "get_schema", lambda header: _schema(header.meta["avro.schema"]))
    patch.setattr(AvroSchemaConversion, "iceberg_to_avro", _as_avro())
    patch.setattr(ManifestWriter, "_with_partition", _with_partition())
    patch.setattr(TableMetadataV2, "__deepcopy__", lambda of, _=None: of.model_copy())
    patch.setattr(metadata, "distribution", cache(metadata.distribution))
    patch.setattr(metadata.Distribution, "version", property(cache(metadata.Distribution.version.fget)))


def _once(work: Callable[..., Any], schemas: int) -> Callable[..., Any]:
    """Work that is done once for the same schemas, its first arguments or those that are called so."""
    known: dict[Any, Any] = {}

    def done(*args: Any, **named: Any) -> Any:
        same = (*args[:schemas], *(value for each, value in named.items() if each.endswith("_schema")))
        rest = (*args[schemas:], *(value for each, value in named.items() if not each.endswith("_schema")))
        key = tuple(map(id, same)), str(rest)
        if key not in known:
            known[key] = same, work(*args, **named)  # the schemas stay: else another one may have the id
        return known[key][-1]

    return done


@cache
def _schema(text: str) -> Any:
    return AvroSchemaConversion().avro_to_iceberg(json.loads(text))


def _as_avro() -> Callable[..., Any]:
    done = _once(AvroSchemaConversion().iceberg_to_avro, 1)
    return lambda _, schema, schema_name=None: done(schema, schema_name=schema_name)


def _with_partition() -> Callable[..., Any]:
    """The schema of a manifest, by the type of its partitions."""
    real, known = ManifestWriter._with_partition, dict[Any, Any]()

    def found(self: ManifestWriter, version: Any) -> Any:
        key = version, str(self._spec.partition_type(self._schema))
        if key not in known:
            known[key] = real(self, version)
        return known[key]

    return found
