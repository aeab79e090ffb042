"""The seam between formats and landings: what every decoder must do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from frazil.errors import SchemaRefusedError
from frazil.schemas.logical import Struct
from frazil.schemas.registry import WriterSchema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["OK", "VALUE", "WRITER", "Decoder", "Reason", "decoder_for", "value_struct"]

VALUE, OK, WRITER = "_value", "_ok", "_writer"
"""Columns that a decoder adds: the decoded struct, whether it holds, and which writer (an index)."""

Reason = tuple[str, str]
"""Why a record is bad: a code for machines, words for people."""


class Decoder(Protocol):
    """Decodes the values of one topic, each with the schema that it was written with."""

    @property
    def writers(self) -> tuple[int, ...]:
        """Schema ids, by the index that `WRITER` holds."""

    @property
    def value(self) -> Struct:
        """Type of the `VALUE` column, whoever wrote the record."""

    def decode(self, frame: DataFrame) -> DataFrame:
        """Adds `VALUE`, `OK` and `WRITER` to a frame that has `raw_value`."""

    def explain(self, value: bytes | None) -> Reason:
        """Why `decode` found this value bad. Slow: for bad records only."""


def value_struct(writer: WriterSchema, subject: str) -> Struct:
    """The columns that values of one schema become.

    Raises:
        SchemaRefusedError: No column can hold them.
    """
    from frazil.schemas.avro import avro_to_logical

    _only_avro(writer, subject)
    return avro_to_logical(writer.text, subject)


def decoder_for(writers: Sequence[WriterSchema], subject: str) -> Decoder:
    """The decoder for a subject's schemas, oldest first; the last one is the reader.

    Raises:
        SchemaRefusedError: The newest schema is of a kind that can't be decoded.
    """
    from frazil.landing.avro import AvroDecoder

    _only_avro(writers[-1], subject)
    return AvroDecoder([w for w in writers if w.kind == "AVRO"], subject)


def _only_avro(writer: WriterSchema, subject: str) -> None:
    if writer.kind != "AVRO":
        raise SchemaRefusedError(
            f"Schemas of type {writer.kind} can't be landed yet.",
            where=f"subject {subject}, version {writer.version}",
            meaning="Nothing was landed.",
            todo="Use Avro for this topic.",
        )
