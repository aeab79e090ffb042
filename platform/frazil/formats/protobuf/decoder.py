"""Protobuf by Arrow batches: only the raw bytes cross to Python, all other columns stay in the JVM."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from frazil.errors import SchemaRefusedError
from frazil.formats.logical import Struct, misfit
from frazil.formats.protobuf.batches import ProtobufRecipe, batches_of
from frazil.formats.protobuf.descriptors import compiled
from frazil.formats.protobuf.schema import columns_of, message_to_logical, record_message
from frazil.formats.protocol import Half, Reason, WriterSchema
from frazil.formats.spark import arrow_function, spark_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["ProtobufDecoder"]


class ProtobufDecoder:
    """Decodes Protobuf records of one message type.

    That type is the first one of the newest schema, or `record_type`. Another one is a bad record,
    unless it becomes the same columns. Spark's workers must be able to import `frazil`.

    Args:
        writers: The subject's schemas, oldest first; the last one is the reader.
        subject: Named in errors.
        framed: Whether records have Confluent's header; else all are of the newest schema.
        record_type: Full name of the message, where it is not the first one.
    """

    def __init__(
        self,
        writers: Sequence[WriterSchema],
        subject: str,
        framed: bool = True,
        record_type: str | None = None,
    ) -> None:
        self._columns = columns_of(writers, subject, record_type)
        record = record_message(writers[-1], subject, record_type).full_name
        unfit = {w.schema_id: _misfit(w, subject, record, self._columns) for w in writers}
        legal = [w for w in reversed(writers) if not unfit[w.schema_id]]
        self._recipe = ProtobufRecipe(
            descriptors=tuple((w.schema_id, compiled(w, subject)) for w in legal),
            record=record,
            columns=self._columns,
            framed=framed,
            unreadable=tuple((schema_id, why) for schema_id, why in unfit.items() if why),
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
