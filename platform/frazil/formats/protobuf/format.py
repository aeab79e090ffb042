"""Protobuf among the formats: its columns, its decoder, and what gives its records their shape.

Only the raw bytes cross to Python, all other columns stay in the JVM.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from frazil.errors import SchemaRefusedError
from frazil.formats.logical import Struct, misfit
from frazil.formats.protobuf.batches import ProtobufRecipe, batches_of
from frazil.formats.protobuf.descriptors import compiled, file_of
from frazil.formats.protobuf.schema import columns_of, message_to_logical, record_message
from frazil.formats.protocol import Half, HalfSchemas, Reason, WriterSchema
from frazil.formats.spark import arrow_function, spark_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["Protobuf", "ProtobufDecoder"]

Parts = Iterator[tuple[str, Any]]

_FILE = frozenset({"name", "options"})
"""What a file says of itself: its name, and options for generators of code."""


class Protobuf:
    """See `SchemaFormat`."""

    title = "Protobuf"
    takes_record_type = True

    def columns(self, schemas: HalfSchemas) -> Struct:
        """See `Format.columns`."""
        return columns_of(schemas.writers, schemas.subject, schemas.record_type)

    def decoder(self, schemas: HalfSchemas) -> ProtobufDecoder:
        """See `Format.decoder`."""
        return ProtobufDecoder(schemas)

    def check(self, text: str) -> None:
        """See `SchemaFormat.check`."""
        try:
            compiled(WriterSchema(0, 0, text, "PROTOBUF"), "none")
        except SchemaRefusedError as e:
            raise ValueError(e.where.partition(": ")[2]) from None

    def shape(self, schema: WriterSchema) -> Parts:
        """See `SchemaFormat.shape`: of the compiled file, so comments and layout make no difference."""
        from google.protobuf.descriptor_pb2 import FileDescriptorProto
        from google.protobuf.json_format import MessageToDict

        file = FileDescriptorProto()
        file_of(compiled(schema, "of the pipeline")).CopyToProto(file)
        parts = MessageToDict(file, preserving_proto_field_name=True)
        return _descriptor({word: part for word, part in parts.items() if word not in _FILE}, "")


def _descriptor(node: Any, path: str) -> Parts:
    match node:
        case dict():
            for word, part in node.items():
                yield from _descriptor(part, f"{path}.{word}".lstrip("."))
        case [{}, *_]:
            for place, part in enumerate(node):
                at = f"{path}.{part.get('name', place)}"
                yield f"{at} (position)", place
                yield from _descriptor(part, at)
        case _:
            yield path, node


class ProtobufDecoder:
    """Decodes Protobuf records of one message type.

    That type is the first one of the newest schema, or `record_type`. Another one is a bad record,
    unless it becomes the same columns. Spark's workers must be able to import `frazil`.
    """

    def __init__(self, schemas: HalfSchemas) -> None:
        writers, subject = schemas.writers, schemas.subject
        self._columns = columns_of(writers, subject, schemas.record_type)
        record = record_message(writers[-1], subject, schemas.record_type).full_name
        reasons = {w.schema_id: _misfit(w, subject, record, self._columns) for w in writers}
        self._recipe = ProtobufRecipe(
            descriptors=tuple(
                (w.schema_id, compiled(w, subject)) for w in reversed(writers) if not reasons[w.schema_id]
            ),
            record=record,
            columns=self._columns,
            framed=schemas.framed,
            unreadable=tuple((schema_id, why) for schema_id, why in reasons.items() if why),
        )

    @property
    def writers(self) -> tuple[int, ...]:
        """Schema ids that can be read, newest first."""
        return tuple(schema_id for schema_id, _ in self._recipe.descriptors)

    @property
    def columns(self) -> Struct:
        """The newest schema as columns."""
        return self._columns

    def decode(self, frame: DataFrame, half: Half) -> DataFrame:
        """See `Decoder.decode`."""
        from pyspark.sql import functions as F

        recipe = self._recipe

        def rows(batches: Any) -> Any:
            return map(batches_of(recipe).decode, batches)

        # Not deterministic, so that Spark can neither run it twice nor push a filter below it.
        kind, whole = f"struct<d:{spark_type(self._columns)},ok:boolean,w:int>", f"{half.data}_whole"
        decoded = arrow_function(rows, kind, batches=True).asNondeterministic()
        return (
            frame.withColumn(whole, decoded(F.col(half.raw)))
            .withColumn(half.data, F.col(f"{whole}.d"))
            .withColumn(half.ok, F.expr(f"coalesce({whole}.ok, false)"))
            .withColumn(half.writer, F.col(f"{whole}.w"))
            .drop(whole)
        )

    def explain(self, raw: bytes) -> Reason:
        """See `Decoder.explain`."""
        return batches_of(self._recipe).explain(raw)


def _misfit(writer: WriterSchema, subject: str, record: str, columns: Struct) -> str:
    """Why records of a schema can't become the columns; empty where they can."""
    try:
        why = misfit(message_to_logical(record_message(writer, subject, record), subject), columns)
    except SchemaRefusedError as e:
        why = e.where
    name = f"schema id {writer.schema_id} (version {writer.version})"
    return f"{name} can't be read by the newest version of subject {subject}: {why}" if why else ""
