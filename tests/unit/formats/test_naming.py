"""Schemas that a header names, or the first bytes of an Avro object, beside those that the prefix does."""

from __future__ import annotations

import io
import json
import struct
import uuid
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import avro.schema
import pyarrow as pa
import pytest
from confluent_kafka.schema_registry import dual_schema_id_deserializer
from confluent_kafka.schema_registry.common.serde import SchemaId
from confluent_kafka.serialization import MessageField, SerializationContext, SerializationError
from hypothesis import given
from hypothesis import strategies as st

from frazil.formats.kinds import SCHEMA_FORMATS
from frazil.formats.protocol import VALUE, HalfSchemas, WriterSchema
from frazil.formats.wires.known import naming_of
from frazil.formats.wires.naming import NOTHING, Naming
from kit.drawn.examples import examples

HEADER = "__value_schema_id"
GUIDS = {7: uuid.uuid5(uuid.NAMESPACE_URL, "seven"), 9: uuid.uuid5(uuid.NAMESPACE_URL, "nine")}
OTHER = uuid.uuid5(uuid.NAMESPACE_URL, "another")
TEXT = json.dumps({"type": "record", "name": "a.M", "fields": [{"name": "n", "type": "int", "doc": "a doc"}]})

MARK = b"\xc3\x01" + avro.schema.parse(TEXT).fingerprint()
"""Begins an Avro object of that schema."""

Headers = list[tuple[str, bytes | None]]


def writers(kind: str, text: str = TEXT) -> tuple[WriterSchema, ...]:
    return tuple(WriterSchema(i, n, text, kind, guid=str(guid)) for n, (i, guid) in enumerate(GUIDS.items()))


def named(kind: str = "JSON", *, framed: bool = True) -> Naming:
    return naming_of(HalfSchemas(VALUE, SCHEMA_FORMATS[kind], "s", writers(kind), framed=framed))


def by_columns(naming: Naming, raw: Sequence[bytes | None], headers: Sequence[Headers]) -> list[Any]:
    names = pa.array([[name for name, _ in each] for each in headers], pa.list_(pa.string()))
    values = pa.array([[value for _, value in each] for each in headers], pa.list_(pa.binary()))
    return naming.prefixed(pa.array(raw, pa.binary()), names, values).to_pylist()


def by_confluent(kind: str, raw: bytes, headers: Headers) -> bytes | None:
    """The prefix and the payload by Confluent's own client; None where it takes nothing.

    It takes the first header of a name and Java's the last one, so these texts have one at most.
    """
    schema_id_read = SchemaId(kind)
    context = SerializationContext("t", MessageField.VALUE, headers)
    try:
        payload = dual_schema_id_deserializer(raw, context, schema_id_read).read()  # type: ignore[arg-type]
    except (SerializationError, EOFError, struct.error):
        return None
    known = {guid: i for i, guid in GUIDS.items()}
    schema_id = schema_id_read.id if schema_id_read.guid is None else known.get(schema_id_read.guid)
    if schema_id is None:
        return None
    indexes = schema_id_read.message_indexes if kind == "PROTOBUF" else None
    return SchemaId(kind, schema_id, message_indexes=indexes).id_to_bytes() + payload


GUID_BYTES = st.sampled_from([*GUIDS.values(), OTHER]).map(lambda guid: b"\1" + guid.bytes)
INDEXES = st.sampled_from([b"", b"\0", b"\x02\x02", b"\x04\x02\0"])
VALUES = st.one_of(
    st.none(), st.binary(max_size=20), st.builds(lambda name, more: name + more, GUID_BYTES, INDEXES),
    st.sampled_from([b"\0\0\0\0\x07", b"\0\0\0\0\x07\0", b"\0\0\0\0", MARK]),
)  # fmt: skip
BESIDE = st.lists(st.tuples(st.sampled_from(["other", "__key_schema_id"]), VALUES), max_size=2)
HEADERS = st.one_of(BESIDE, st.builds(lambda more, value: [*more, (HEADER, value)], BESIDE, VALUES))
RAW = st.one_of(
    st.binary(max_size=8), st.just(MARK), st.binary(max_size=4).map(lambda more: b"\0\0\0\0\x09\0" + more)
)


@examples(200)
@given(
    records=st.lists(st.tuples(RAW, HEADERS), max_size=6), kind=st.sampled_from(["AVRO", "JSON", "PROTOBUF"])
)
def test_a_header_names_the_schema_that_confluents_client_finds(
    records: list[tuple[bytes, Headers]], kind: str
) -> None:
    raw, headers = [r for r, _ in records], [h for _, h in records]
    naming = named(kind)

    prefixed = by_columns(naming, raw, headers)

    for one, of, got in zip(raw, headers, prefixed, strict=True):
        assert naming.prefixed_one(one, of) == got
        if not any(name == HEADER and value is not None for name, value in of):
            assert got == (b"\0\0\0\0\x09" if kind == "AVRO" and one == MARK else one)
            continue
        wanted = by_confluent(kind, one, of)
        assert got == (wanted or b"")
        assert (naming.reason(one, of) is None) == (wanted is not None)


def test_a_record_without_a_value_stays_one_whatever_its_headers_say() -> None:
    headers: Headers = [(HEADER, b"\1" + GUIDS[7].bytes)]

    assert by_columns(named(), [None, b"{}"], [headers, headers]) == [None, b"\0\0\0\0\x07{}"]


def test_of_two_headers_the_last_one_counts_as_in_java() -> None:
    headers: Headers = [(HEADER, b"\1" + GUIDS[7].bytes), (HEADER, b"\1" + GUIDS[9].bytes)]

    assert by_columns(named(), [b"{}"], [headers]) == [b"\0\0\0\0\x09{}"]


def test_an_avro_object_of_its_own_is_told_by_the_fingerprint_of_its_schema() -> None:
    raw = [MARK + b"\x02", b"\xc3\x01" + bytes(8) + b"\x02", b"\0\0\0\0\x07\x02"]
    naming = named("AVRO")

    assert by_columns(naming, raw, [[], [], []]) == [b"\0\0\0\0\x09\x02", b"", raw[2]]
    assert [naming.reason(each, []) for each in raw] == [
        None, ("schema_id", f"fingerprint {bytes(8).hex()} is of no version of subject s"), None,
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["JSON", "PROTOBUF"])
def test_another_format_begins_no_object_of_avros(kind: str) -> None:
    assert by_columns(named(kind), [b"\xc3\x01" + bytes(9)], [[]]) == [b"\xc3\x01" + bytes(9)]


def test_without_framing_nothing_but_the_newest_schema_is_meant() -> None:
    assert named(framed=False) == NOTHING
    headers: Headers = [(HEADER, b"\1" + GUIDS[7].bytes)]
    assert by_columns(NOTHING, [b"{}"], [headers]) == [b"{}"]


def test_a_registry_without_guids_is_named_as_the_reason() -> None:
    naming = Naming("value", "s")
    code, why = naming.reason(b"{}", [(HEADER, b"\1" + OTHER.bytes)]) or ("", "")

    assert code == "schema_header"
    assert str(OTHER) in why
    assert "this registry tells no GUIDs" in why


def test_a_schema_that_refers_to_others_has_no_fingerprint() -> None:
    writer = WriterSchema(1, 1, TEXT, "AVRO", references=(("x", "x-value", 1),))

    assert SCHEMA_FORMATS["AVRO"].fingerprint(writer) == b""
    assert SCHEMA_FORMATS["AVRO"].fingerprint(WriterSchema(1, 1, '{"type": "enum"}', "AVRO")) == b""


def test_headers_of_records_far_into_a_batch_are_their_own() -> None:
    """Slices of lists keep all values of the whole."""
    names = pa.array([["a"], [HEADER], ["b", HEADER]], pa.list_(pa.string())).slice(1)
    values = pa.array(
        [[b"x"], [b"\1" + GUIDS[7].bytes], [b"y", b"\1" + GUIDS[9].bytes]], pa.list_(pa.binary())
    )

    prefixed = named().prefixed(pa.array([b"{}", b"[]"], pa.binary()), names, values.slice(1))

    assert prefixed.to_pylist() == [b"\0\0\0\0\x07{}", b"\0\0\0\0\x09[]"]


def test_the_index_of_a_message_is_read_from_the_header() -> None:
    stream = io.BytesIO(b"\1" + GUIDS[7].bytes + b"\x02\x02")

    (prefixed,) = by_columns(named("PROTOBUF"), [b"\x08\x01"], [[(HEADER, stream.getvalue())]])

    assert prefixed == b"\0\0\0\0\x07\x02\x02\x08\x01"


APICURIO = "apicurio.value.contentId"


def content_id(number: int) -> bytes:
    return number.to_bytes(8, "big")


def test_apicurios_header_has_the_id_of_the_schemas_content() -> None:
    headers: Sequence[Headers] = [
        [(APICURIO, content_id(7))],
        [(APICURIO, content_id(2**32 + 7))],
        [(APICURIO, b"7")],
        [(APICURIO, content_id(9)), (HEADER, b"\1" + GUIDS[7].bytes)],
        [("apicurio.value.globalId", content_id(7))],
    ]

    prefixed = by_columns(named(), [b"{}"] * 5, headers)

    assert prefixed == [b"\0\0\0\0\x07{}", b"", b"", b"\0\0\0\0\x07{}", b""]
    assert [named().prefixed_one(b"{}", each) for each in headers] == prefixed
    assert [named().reason(b"{}", each) is None for each in headers] == [True, False, False, True, False]
    _, why = named().reason(b"{}", headers[4]) or ("", "")
    assert "apicurio.registry.use-id" in why


def with_other_ids(kind: str = "JSON") -> Naming:
    """Two versions of which each has the number of the other one as its global id."""
    ids = {7: (9, 12), 9: (7,)}
    versions = tuple(
        replace(w, global_ids=ids[w.schema_id], long_ids=ids[w.schema_id]) for w in writers(kind)
    )
    return naming_of(HalfSchemas(VALUE, SCHEMA_FORMATS[kind], "s", versions))


def test_a_global_id_of_apicurios_is_not_taken_for_that_of_a_content() -> None:
    of_global = "apicurio.value.globalId"
    headers: Sequence[Headers] = [[(of_global, content_id(n))] for n in (9, 12, 7, 8, 2**32 + 7)]
    headers = [*headers, [(of_global, b"7")], [(APICURIO, content_id(7)), (of_global, content_id(7))]]

    prefixed = by_columns(with_other_ids(), [b"{}"] * 7, headers)

    seven, nine = b"\0\0\0\0\x07{}", b"\0\0\0\0\x09{}"
    assert prefixed == [seven, seven, nine, b"", b"", b"", seven]
    assert [with_other_ids().prefixed_one(b"{}", each) for each in headers] == prefixed
    assert [with_other_ids().reason(b"{}", each) is None for each in headers] == [bool(p) for p in prefixed]
    _, why = with_other_ids().reason(b"{}", headers[3]) or ("", "")
    assert why == "header apicurio.value.globalId is 8, which is not of subject s"


def test_an_id_of_eight_bytes_stands_before_a_payload_only_where_it_is_said_to() -> None:
    raw = [b"\0" + content_id(n) + b"{}" for n in (9, 12, 7, 8, 2**32 + 7)]
    raw = [*raw, b"\0\0\0\0\x07{}", b"\0\0\0\0\0"]

    prefixed = by_columns(with_other_ids(), raw, [[]] * 7)

    assert prefixed == [
        b"\0\0\0\0\x07{}", b"\0\0\0\0\x07{}", b"\0\0\0\0\x09{}", b"", raw[4], raw[5], b"",
    ]  # fmt: skip
    assert [with_other_ids().prefixed_one(each, []) for each in raw] == prefixed
    assert with_other_ids().reason(raw[3], []) == (
        "schema_id",
        "id 8 of eight bytes is of no version of subject s",
    )
    assert by_columns(named(), raw, [[]] * 7) == raw
    assert by_columns(with_other_ids("PROTOBUF"), raw, [[]] * 7) == raw


def test_records_of_other_tables_get_a_prefix_by_whatever_they_are_named() -> None:
    other = replace(writers("AVRO")[1], schema_id=11, guid=str(OTHER), global_ids=(30,))
    headers: Sequence[Headers] = [
        [(HEADER, b"\1" + OTHER.bytes)], [(HEADER, b"\0\0\0\0\x0b")], [(APICURIO, content_id(11))],
        [("apicurio.value.globalId", content_id(30))], [], [(HEADER, b"\1" + GUIDS[7].bytes + b"\0")],
    ]  # fmt: skip
    raw = [*[b"{}"] * 4, MARK + b"{}", b"{}"]

    for kind, own in (("JSON", b"\0\0\0\0\x07{}"), ("PROTOBUF", b"\0\0\0\0\x07\0{}")):
        naming = naming_of(HalfSchemas(VALUE, SCHEMA_FORMATS[kind], "s", writers(kind)), [other])
        assert by_columns(naming, raw, headers) == [b"\0\0\0\0\x0b{}"] * 5 + [own]


def test_apicurios_own_protobuf_is_not_taken_for_confluents() -> None:
    headers: Headers = [(APICURIO, content_id(7))]

    assert by_columns(named("PROTOBUF"), [b"\x08\x01"], [headers]) == [b""]
    code, why = named("PROTOBUF").reason(b"\x08\x01", headers) or ("", "")
    assert (code, "Apicurio's own Protobuf" in why) == ("schema_header", True)


def test_a_batch_in_which_each_record_is_named_otherwise_is_told_apart() -> None:
    raw = [b"\0\0\0\0\x09\x02", MARK + b"\x04", b"\x06", b"\x08", MARK + b"\x0a"]
    headers: Sequence[Headers] = [
        [], [("other", b"x")], [(HEADER, b"\1" + GUIDS[7].bytes)], [(APICURIO, content_id(9))],
        [(APICURIO, content_id(7))],
    ]  # fmt: skip

    assert by_columns(named("AVRO"), raw, headers) == [
        b"\0\0\0\0\x09\x02", b"\0\0\0\0\x09\x04", b"\0\0\0\0\x07\x06", b"\0\0\0\0\x09\x08",
        b"\0\0\0\0\x07" + MARK + b"\x0a",
    ]  # fmt: skip
