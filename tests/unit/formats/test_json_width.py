"""Memory by byte of JSON: what takes far more values in columns than it has bytes is bad."""

from __future__ import annotations

import json
from typing import Any

from frazil.formats.kinds import SCHEMA_FORMATS
from frazil.formats.protocol import VALUE, HalfSchemas, WriterSchema

WIDE = {"type": "object", "properties": {f"f{n}": {"type": "integer"} for n in range(200)}}
SCHEMA = {"type": "object", "properties": {"wide": {"type": "array", "items": WIDE}}}


def decoder(schema: dict[str, Any]) -> Any:
    writer = WriterSchema(1, 1, json.dumps(schema), "JSON")
    schemas = HalfSchemas(VALUE, SCHEMA_FORMATS["JSON"], "s", (writer,), framed=False)
    return schemas.format.decoder(schemas)


def test_many_empty_objects_are_a_bad_record_that_says_why() -> None:
    decoder_ = decoder(SCHEMA)

    code, why = decoder_.explain(b'{"wide": [' + b"{}," * 100_000 + b"{}]}")

    assert code == "too_wide"
    assert "20,000,200 values in memory" in why


def test_few_objects_and_many_plain_values_are_not_looked_at() -> None:
    wide = b'{"wide": [' + json.dumps({f"f{n}": n for n in range(200)}).encode() + b"]}"

    assert decoder(SCHEMA).explain(wide)[0] == "value", "nothing is wrong with it"


def test_a_text_whose_size_alone_may_be_the_reason_says_its_size() -> None:
    plain = decoder({"type": "object", "properties": {"text": {"type": "string"}}})

    code, why = plain.explain(b'{"text": "' + b"x" * 17 * 2**20 + b'"}')

    assert (code, why.partition(",")[0]) == ("too_large", "it has 17")


def test_what_stands_beside_a_wide_object_is_not_counted_as_one() -> None:
    members: dict[str, Any] = SCHEMA["properties"]
    small = {"type": "object", "properties": {"a": {"type": "integer"}}}
    decoder_ = decoder(
        {"type": "object", "properties": {**members, "small": {"type": "array", "items": small}}}
    )

    beside = b'{"wide": [{}], "small": [' + b"{}," * 100_000 + b"{}]}"

    assert decoder_.explain(beside)[0] == "value", "nothing is wrong with it"
    assert decoder_.explain(beside.replace(b"wide", b"SMALL").replace(b"small", b"wide"))[0] == "too_wide"
