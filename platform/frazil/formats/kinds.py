"""The formats that Frazil knows, those without a schema among them; a new one is registered here."""

from __future__ import annotations

from frazil.errors import ConfigureError
from frazil.formats.avro.format import Avro
from frazil.formats.json.format import Json
from frazil.formats.plain import Plain
from frazil.formats.protobuf.format import Protobuf
from frazil.formats.protocol import Format, SchemaFormat

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
