"""Glue's wire: whatever a payload claims, it is read as its serializers wrote it, or bad with the reason."""

from __future__ import annotations

import uuid
import zlib

import pyarrow as pa
import pytest

from frazil.exact import rows_of
from frazil.formats.bare import differences
from frazil.formats.halves import schemas_of
from frazil.formats.protocol import VALUE, WriterSchema
from frazil.formats.registry.glue import number_of
from frazil.formats.wires.glue import GlueWire
from frazil.formats.wires.known import glue_messages, naming_of
from frazil.spec.topic import TableSpec
from kit.wires.aws.recorded import records, schema, values

VERSION = uuid.UUID("b7b4a7f0-9c96-4e4a-a687-fb5de9ef0c63")
OTHER = uuid.UUID("00000000-9c96-4e4a-a687-fb5de9ef0c63")
WIRE = GlueWire("orders", {VERSION.bytes: 7}, {})
MESSAGES = GlueWire("orders", {VERSION.bytes: 7}, {7: (b"\2\0", b"\4\0\2")})


def written(payload: bytes, compression: int = 0, version: uuid.UUID = VERSION) -> bytes:
    body = zlib.compress(payload) if compression == 5 else payload
    return b"\3" + bytes([compression]) + version.bytes + body


@pytest.mark.parametrize("compression", [0, 5])
def test_a_payload_stands_behind_confluents_prefix_whether_it_is_compressed_or_not(compression: int) -> None:
    raw = written(b"payload", compression)

    assert WIRE.prefixed_one(raw) == b"\0\0\0\0\7payload"
    assert WIRE.reason(raw) is None


def test_a_batch_is_read_record_by_record_and_what_is_of_another_wire_stays() -> None:
    raw = pa.array([written(b"a"), None, b"\0\0\0\0\7b", written(b"c", 5), written(b"d", version=OTHER)])

    assert WIRE.prefixed(raw).to_pylist() == [b"\0\0\0\0\7a", None, b"\0\0\0\0\7b", b"\0\0\0\0\7c", b""]


@pytest.mark.parametrize(
    ("raw", "code", "words"),
    [
        (written(b"")[:17], "too_short", "17 bytes"),
        (written(b"x", version=OTHER), "schema_id", f"schema version {OTHER} is not of schema orders"),
        (written(b"x", 1), "compression", "1 is no compression"),
        (written(b"x", 5)[:-1], "compression", "damaged"),
        (written(b"x", 5) + b"x", "compression", "damaged"),
        (b"\3\5" + VERSION.bytes + b"no zlib", "compression", "damaged"),
        (written(bytes(2**24), 5), "compression", "more than"),
    ],
)
def test_what_is_no_such_payload_is_bad_and_decodes_to_nothing(raw: bytes, code: str, words: str) -> None:
    reason = WIRE.reason(raw)

    assert reason is not None
    assert reason[0] == code
    assert words in reason[1]
    assert WIRE.prefixed_one(raw) == b""


def test_an_empty_payload_is_one() -> None:
    assert WIRE.prefixed_one(written(b"")) == b"\0\0\0\0\7"
    assert WIRE.prefixed_one(written(b"", 5)) == b"\0\0\0\0\7"


def test_a_messages_index_becomes_confluents() -> None:
    assert MESSAGES.prefixed_one(written(b"\1rest")) == b"\0\0\0\0\7\4\0\2rest"
    for payload in (b"\2rest", b"", b"\xff\xff\xff\xff\xff\1"):
        reason = MESSAGES.reason(written(payload))
        assert reason is not None
        assert reason[0] == "message_indexes"


def test_messages_are_counted_as_aws_counts_them() -> None:
    """The example in the documentation of its `MessageIndexFinder`: B = 0, B.A = 1, B.A.D = 2, B.C = 3."""
    text = 'syntax = "proto3"; message B { message C {} message A { message D {} } }'

    indexes = glue_messages(WriterSchema(1, 1, text, "PROTOBUF"), "s")

    assert indexes == (b"\2\0", b"\4\0\2", b"\6\0\2\0", b"\4\0\0")


@pytest.mark.parametrize("compression", ["NONE", "ZLIB"])
@pytest.mark.parametrize("kind", ["AVRO", "JSON", "PROTOBUF"])
def test_what_aws_serializers_in_java_wrote_is_what_their_producer_had(kind: str, compression: str) -> None:
    version, text = schema(kind)
    writer = WriterSchema(number_of(version), 1, text, kind, glue_id=version)
    of_type = {"record_type": "shop.Order"} if kind == "PROTOBUF" else {}
    schemas = schemas_of(TableSpec(topic="orders", **of_type), VALUE, [writer])
    raw, naming, decoder = records(kind, compression), naming_of(schemas), schemas.decoder()
    nothing = pa.array([[]] * len(raw), pa.list_(pa.string()))

    decoded = decoder.arrow().decode(naming.prefixed(pa.array(raw), nothing, nothing))

    rows = rows_of(pa.RecordBatch.from_struct_array(decoded.data))
    assert decoded.ok.to_pylist() == [True] * len(raw)
    assert [{name: row[name] for name in values()[0]} for row in rows] == values()
    for each, row in zip(raw, rows, strict=True):
        independent = decoder.values(naming.prefixed_one(each, ()))
        assert list(differences(decoder.columns, independent or {}, row)) == []
