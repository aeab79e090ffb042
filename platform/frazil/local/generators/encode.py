"""Encoders of made-up values, each by a library that the landing does not decode with."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any

from frazil.formats.protocol import WriterSchema
from frazil.formats.registry import WantedSchema
from frazil.kafka.provisioning import TopicState
from frazil.local.generators.chance import BLOCK, Chance, Origin
from frazil.local.generators.producer import Record

__all__ = ["Encode", "Make", "Prepare", "Values", "encoded", "encoder"]

Values = Mapping[str, Any]
"""One key or value, by field."""

Encode = Callable[[Values], bytes]

Make = Callable[[random.Random], tuple[bytes | Values | None, Values]]
"""Makes up one key, if any, and one value."""

Prepare = Callable[[Chance], Make]
"""Draws what all records of a run share."""


def encoder(schema: WantedSchema, schema_id: int) -> Encode:
    """An encoder to Confluent's wire format."""
    prefix = b"\0" + schema_id.to_bytes(4, "big")
    encode = {"AVRO": _avro, "JSON": _json, "PROTOBUF": _protobuf}[schema.kind](schema.text)
    return lambda values: prefix + encode(values)


def encoded(
    name: str, prepare: Prepare, value: WantedSchema, key: WantedSchema | None = None
) -> Callable[[Chance, TopicState, Origin], Iterator[Record]]:
    """Endless records for a `Generator`; of one name and seed they are the same, whatever their format.

    Where keys are bytes, or there are none, they have no schema.
    """

    def records(chance: Chance, state: TopicState, origin: Origin) -> Iterator[Record]:
        make = prepare(chance)
        encode = encoder(value, state.schema_id or 0)
        encode_key = encoder(key, state.key_schema_id or 0) if key else None
        headers = origin.headers()
        for dice, left_out in chance.blocks(name, origin.iteration):
            for made, values in islice((make(dice) for _ in range(BLOCK)), left_out, None):
                yield _key(made, encode_key), encode(values), next(headers), None, None

    return records


def _key(made: bytes | Values | None, encode: Encode | None) -> bytes | None:
    if isinstance(made, Mapping):
        return encode(made) if encode else None
    return made


def _avro(text: str) -> Encode:
    import fastavro

    schema = fastavro.parse_schema(json.loads(text))

    def encode(values: Values) -> bytes:
        stream = io.BytesIO()
        fastavro.schemaless_writer(stream, schema, values)
        return stream.getvalue()

    return encode


def _json(_: str) -> Encode:
    """JSON has one kind of number; amounts of money this small lose nothing as a float."""
    return lambda values: json.dumps(values, separators=(",", ":"), default=float).encode()


def _protobuf(text: str) -> Encode:
    """The file's first message; a zero byte after the schema id says so."""
    from google.protobuf.json_format import ParseDict
    from google.protobuf.message_factory import GetMessageClass

    from frazil.formats.protobuf.descriptors import compiled, file_of, message_at

    file = file_of(compiled(WriterSchema(0, 0, text, "PROTOBUF"), "of the generator"))
    message = GetMessageClass(message_at(file, (0,)))
    return lambda values: b"\0" + bytes(ParseDict(values, message()).SerializeToString())
