"""A frame of Spark is decoded as a batch is: the same verdicts, and every value as it was."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pyarrow as pa

from frazil.connections import Connections
from frazil.formats.kinds import SCHEMA_FORMATS
from frazil.formats.plain import Plain
from frazil.formats.protocol import KEY, VALUE, HalfSchemas, WriterSchema
from frazil.formats.record import BAD, OK, RecordColumns, RecordDecoder
from frazil.landing.decoding import with_decoded
from frazil.landing.source import record_schema
from kit.formats.avro_columns import payload
from kit.formats.avro_versions import array, decimal, fixed, record, unit

FAR = [-(2**63), 2**63 - 1, -62_135_596_800_000_001, 253_402_300_800_000_000]
"""Moments that Python's own types can't hold."""

WHOLE = record(
    "Whole", day=unit("int", "date"), at=unit("long", "timestamp-micros"),
    local=unit("long", "local-timestamp-micros"), price=decimal(38, 9), short=decimal(5, 2), raw=fixed(3),
    ratio="double", small="float", texts=array(["null", "string"]), known={"type": "map", "values": "long"},
    keyed=array(record("Entry", key="bytes", value="int"), logicalType="map"),
    either=["null", "int", record("In", x="double")],
)  # fmt: skip
NAMES = ("it's", "a.b", "c,d:e", "<f>", "/*h*/", "Ž", "${env:PATH}")


def decoder(kind: str, schema: Any) -> RecordDecoder:
    writer = WriterSchema(1, 1, json.dumps(schema), kind)
    value = HalfSchemas(VALUE, SCHEMA_FORMATS[kind], "s-value", (writer,))
    key = HalfSchemas(KEY, Plain("string"), "s-key")
    return RecordDecoder(key.decoder(), value.decoder(), RecordColumns(key.columns, value.columns))


def alike(connections: Connections, by: RecordDecoder, values: list[bytes | None]) -> list[bool]:
    """Which records are rows, after all was compared."""
    rows = [
        {"raw_key": None if n % 3 else b"k", "raw_value": value, "partition": 0, "offset": n}
        for n, value in enumerate(values)
    ]
    records = pa.Table.from_pylist(rows, schema=record_schema())
    (batch,) = records.to_batches()
    headers = (pa.nulls(len(batch), pa.list_(kind)) for kind in (pa.string(), pa.binary()))
    verdicts = by.arrow().decode(batch["raw_key"], batch["raw_value"], *headers)

    frame_rows = with_decoded(connections.spark.createDataFrame(records), by).toArrow().sort_by("offset")

    assert frame_rows[OK].to_pylist() == verdicts.ok.tolist()
    assert frame_rows[BAD].to_pylist() == verdicts.bad.tolist()
    for half, decoded in ((KEY, verdicts.key), (VALUE, verdicts.value)):
        assert frame_rows[half.ok].to_pylist() == decoded.ok.to_pylist()
        assert frame_rows[half.writer].to_pylist() == decoded.writer.to_pylist()
        data = frame_rows[half.data].combine_chunks()
        assert data.is_valid().to_pylist() == decoded.ok.to_pylist()
        assert exact(data.filter(decoded.ok)) == exact(decoded.data.filter(decoded.ok))
    return verdicts.ok.tolist()


def exact(array: pa.Array) -> list[Any]:
    """Values as they are told apart: each moment as its number, each floating number as its digits."""
    if pa.types.is_struct(array.type):
        return [array.is_valid().to_pylist(), *map(exact, array.flatten())]
    if pa.types.is_temporal(array.type):
        return array.view(pa.int32() if pa.types.is_date32(array.type) else pa.int64()).to_pylist()
    return [repr(value) for value in array.to_pylist()]


def test_avro_of_every_kind_of_value_crosses_as_it_is(connections: Connections) -> None:
    value = {
        "day": 0, "at": 0, "local": 0, "price": Decimal("1e-9"), "short": Decimal("-1.25"),
        "raw": b"\0\xff\1", "ratio": -0.0, "small": float("nan"), "texts": ["a", None, ""],
        "known": {"k": 2**62},
        "keyed": [{"key": b"\0", "value": 1}, {"key": b"", "value": 2}], "either": ("In", {"x": 0.5}),
    }  # fmt: skip
    bare = json.loads(json.dumps(WHOLE))
    for field in bare["fields"][:3]:
        field["type"] = field["type"]["type"]
    far = [payload(bare, {**value, "at": moment, "local": moment, "day": -(2**31)}) for moment in FAR]
    good = payload(bare, value)

    rows = alike(connections, decoder("AVRO", WHOLE), [good, good[:-1], None, *far, good])

    assert rows == [True, False, False, *[True] * len(far), True]


def test_names_within_columns_may_hold_any_sign(connections: Connections) -> None:
    text = {"type": "string"}
    inner = {"type": "object", "properties": dict.fromkeys(NAMES, text)}
    by = decoder(
        "JSON", {"type": "object", "properties": {"p": inner, "q": {"type": "array", "items": inner}}}
    )
    value = {"p": dict.fromkeys(NAMES, "1"), "q": [dict.fromkeys(NAMES[:2], "2")]}

    rows = alike(connections, by, [b"\0\0\0\0\1" + json.dumps(each).encode() for each in (value, {"p": 5})])

    assert rows == [True, False]
