"""Memory by wire byte: what takes far more values in columns than it has bytes is bad, and costs little."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from frazil.formats.kinds import SCHEMA_FORMATS
from frazil.formats.plain import PlainColumns
from frazil.formats.protobuf import width
from frazil.formats.protobuf.decoder import batches_of
from frazil.formats.protocol import MOST_PLACES, VALUE, HalfSchemas, WriterSchema
from frazil.formats.record_batch import ArrowRecords

FIELDS = 200
SCHEMA = (
    'syntax = "proto3"; message Many { repeated Wide wide = 1; Inner inner = 2; }'
    "message Inner { repeated Wide deep = 1; map<string, Wide> by_name = 2; }"
    f"message Wide {{ {' '.join(f'int64 f{n} = {n};' for n in range(1, FIELDS + 1))} }}"
)
EMPTY = b"\x0a\0"
FRAME = b"\0\0\0\0\1\0"


def decoder() -> Any:
    schemas = HalfSchemas(VALUE, SCHEMA_FORMATS["PROTOBUF"], "s", (WriterSchema(1, 1, SCHEMA, "PROTOBUF"),))
    return schemas.format.decoder(schemas)


def nested(tag: bytes, inner: bytes) -> bytes:
    size, left = bytearray(), len(inner)
    while left > 127:
        size.append(left & 127 | 128)
        left >>= 7
    return tag + bytes([*size, left]) + inner


@pytest.mark.parametrize("deep", [False, True], ids=["at the top", "within"])
@pytest.mark.parametrize("count", [50_000, pytest.param(500_000, marks=pytest.mark.nightly)])
def test_many_empty_messages_are_a_bad_record_and_take_no_memory(deep: bool, count: int) -> None:
    decoder_made = decoder()
    raw = FRAME + (nested(b"\x12", EMPTY * count) if deep else EMPTY * count)
    batches = batches_of(decoder_made.arrow())
    batches.decode(pa.array([FRAME], pa.binary()))
    before = pa.total_allocated_bytes()

    rows = batches.decode(pa.array([FRAME, raw, FRAME + EMPTY], pa.binary()))

    assert rows.field("ok").to_pylist() == [True, False, True]
    assert pa.total_allocated_bytes() - before < 20 * 2**20
    code, why = decoder_made.explain(raw)
    assert code == "too_wide"
    assert f"{count * FIELDS:,}" in why


def test_records_that_are_just_narrow_enough_are_decoded_some_at_a_time() -> None:
    decoder_made = decoder()
    each = FRAME + EMPTY * (MOST_PLACES // FIELDS)
    records = ArrowRecords(PlainColumns((), False), decoder_made.arrow(), (False, True))
    batch = pa.RecordBatch.from_pydict(
        {"raw_key": pa.nulls(40, pa.binary()), "raw_value": pa.array([FRAME, each] * 20, pa.binary())}
    )

    pieces = list(records.pieces(batch))

    assert pa.Table.from_batches(pieces).equals(pa.Table.from_batches([batch]))
    assert max(len(piece) for piece in pieces) <= 2 * 9
    assert list(records.pieces(batch.slice(0, 4))) == [batch.slice(0, 4)]
    assert list(records.pieces(batch.slice(0, 0))) == [batch.slice(0, 0)]


def test_a_record_of_plain_numbers_is_never_too_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(width, "MOST_PLACES", 1000)
    decoder_made = decoder()
    full = nested(b"\x0a", b"".join(bytes([*varint(n << 3), 1]) for n in range(1, FIELDS + 1)))
    rows = batches_of(decoder_made.arrow()).decode(pa.array([FRAME + full * 100], pa.binary()))

    assert rows.field("ok").to_pylist() == [True]
    assert rows.field("d").to_pylist()[0]["wide"] == [{f"f{n}": 1 for n in range(1, FIELDS + 1)}] * 100


def varint(number: int) -> list[int]:
    return [number] if number < 128 else [number & 127 | 128, number >> 7]
