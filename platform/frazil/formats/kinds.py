"""The formats that Frazil knows, those without a schema among them; a new one is registered here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil.errors import ConfigureError
from frazil.formats.avro.format import Avro
from frazil.formats.json.format import Json
from frazil.formats.logical import Field, Primitive, Struct
from frazil.formats.protobuf.format import Protobuf
from frazil.formats.protocol import Format, Half, HalfSchemas, Reason, SchemaFormat

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Plain:
    """`bytes`, `string` or `none`: one column, `key` or `value`; no column where the half is left out."""

    def __init__(self, name: str) -> None:
        self._name = name

    def columns(self, schemas: HalfSchemas) -> Struct:
        """See `Format.columns`."""
        if self._name == "none":
            return Struct(())
        word, kind = schemas.half.word, Primitive("string" if self._name == "string" else "binary")
        return Struct((Field(word, kind, optional=True, doc=f"The record's {word}, as it came."),))

    def decoder(self, schemas: HalfSchemas) -> PlainDecoder:
        """See `Format.decoder`."""
        return PlainDecoder(self.columns(schemas), self._name == "string")


class PlainDecoder:
    """Takes bytes as they are, or as UTF-8."""

    writers: tuple[int, ...] = ()

    def __init__(self, columns: Struct, text: bool) -> None:
        self.columns, self._text = columns, text

    def decode(self, frame: DataFrame, half: Half) -> DataFrame:
        """See `Decoder.decode`."""
        from pyspark.sql import functions as F

        column = f"CAST({half.raw} AS string)" if self._text else half.raw
        holds = f"is_valid_utf8({half.raw})" if self._text else f"{half.raw} IS NOT NULL"
        return (
            frame.withColumn(half.data, F.expr(f"named_struct('{half.word}', {column})"))
            .withColumn(half.ok, F.expr(f"coalesce({holds}, false)"))
            .withColumn(half.writer, F.expr("CAST(NULL AS int)"))
        )

    def explain(self, raw: bytes) -> Reason:
        """See `Decoder.explain`."""
        try:
            raw.decode()
        except UnicodeDecodeError as e:
            return "utf8", f"byte {e.start} is not UTF-8"
        return "value", "a value is outside its type"


SCHEMA_FORMATS: dict[str, SchemaFormat] = {"AVRO": Avro(), "JSON": Json(), "PROTOBUF": Protobuf()}
"""Formats with schemas, by the registry's name; the spec writes it in small letters."""

PLAIN_FORMATS: dict[str, Format] = {"bytes": Plain("bytes"), "string": Plain("string"), "none": Plain("none")}
"""Formats without a schema, by the spec's name."""


def schema_format(kind: str, subject: str) -> SchemaFormat:
    """A format by the registry's name; raises ConfigureError where Frazil does not know it."""
    if kind not in SCHEMA_FORMATS:
        *most, last = (f.title for f in SCHEMA_FORMATS.values())
        raise ConfigureError(
            f"Format {kind.lower()} is unknown.",
            where=f"subject {subject}",
            meaning="Nothing was landed.",
            todo=f"Use {', '.join(most)} or {last}.",
        )
    return SCHEMA_FORMATS[kind]
