"""Keys and values are decoded each in its own way, and null ones cost what the owner chose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from frazil.checks.run import run_check
from frazil.errors import ConfigureError, MissingError, SuspendedError
from kit.formats.formats import Source, avro

MakeSource = Callable[..., Source]


def record(name: str, **fields: Any) -> dict[str, Any]:
    listed = [{"name": field, "type": kind} for field, kind in fields.items()]
    return {"type": "record", "name": name, "fields": listed}


VALUE = record("Order", amount="int")
ORDER = {"amount": 7}


def with_values(source: Source, *keys: bytes | None) -> None:
    schema_id = source.register(VALUE)
    source.produce(*((key, avro(VALUE, schema_id, ORDER)) for key in keys))


def user_columns(source: Source) -> list[str]:
    return [name for name in source.table().column_names if not name.startswith("$$")]


def test_the_fields_of_an_avro_key_become_optional_columns_before_the_values(source: MakeSource) -> None:
    orders, key = source(), record("Key", customer="string", shop="long")
    key_id = orders.register(key, "key")
    with_values(orders, avro(key, key_id, {"customer": "a", "shop": 2**40}), None)

    orders.land()

    assert user_columns(orders) == ["customer", "shop", "amount"]
    assert [(r["customer"], r["shop"], r["amount"]) for r in orders.rows()] == [
        ("a", 2**40, 7),
        (None, None, 7),
    ]
    schema = orders.connections.catalog.load_table(orders.name).schema()
    assert [f.required for f in schema.fields[:3]] == [False, False, True]
    assert run_check("schema", orders.spec, orders.connections).passed


def test_of_a_field_in_key_and_value_the_value_wins(source: MakeSource) -> None:
    orders, key = source(), record("Key", amount="string", shop="int")
    key_id = orders.register(key, "key")
    with_values(orders, avro(key, key_id, {"amount": "the key's", "shop": 1}))

    orders.land()

    assert user_columns(orders) == ["shop", "amount"]
    assert [(r["shop"], r["amount"]) for r in orders.rows()] == [(1, 7)]


@pytest.mark.parametrize(
    ("key_format", "columns", "keys"),
    [
        ("auto", ["key", "amount"], [b"\xff\0", None]),
        ("bytes", ["key", "amount"], [b"\xff\0", None]),
        ("string", ["key", "amount"], ["Zürich", None]),
        ("none", ["amount"], None),
    ],
)
def test_a_key_without_a_schema_is_bytes_text_or_left_out(
    source: MakeSource, key_format: str, columns: list[str], keys: list[Any] | None
) -> None:
    orders = source(key_format=key_format)
    with_values(orders, "Zürich".encode() if key_format == "string" else b"\xff\0", None)

    orders.land()

    assert user_columns(orders) == columns
    assert keys is None or [r["key"] for r in orders.rows()] == keys
    assert [r["amount"] for r in orders.rows()] == [7, 7]


def test_a_key_that_can_not_be_decoded_is_a_dead_letter_that_says_so(source: MakeSource) -> None:
    orders, key = source(on_bad_record="dead_letter"), record("Key", customer="string")
    key_id = orders.register(key, "key")
    good = avro(key, key_id, {"customer": "a"})
    with_values(orders, good, good[:-1], b"", good + b"\0", b"\1" + good[1:], None)

    report = orders.land()

    assert (report.records, report.dead_letters) == (2, 4)
    assert [r["customer"] for r in orders.rows()] == ["a", None]
    codes = [letter["reason_code"] for letter in orders.dead_letters()]
    assert codes == ["key_truncated", "key_too_short", "key_trailing_bytes", "key_magic_byte"]
    assert {letter["reason"].partition(":")[0] for letter in orders.dead_letters()} == {"key"}
    assert run_check("row_count_deep", orders.spec, orders.connections).passed


def test_text_that_is_no_utf8_is_a_dead_letter(source: MakeSource) -> None:
    texts = source(value_format="string", key_format="string", on_bad_record="dead_letter")
    texts.produce((b"k", "größer".encode()), (b"k", b"\xc3"), (b"\xff", b"v"), (None, b""))

    texts.land()

    assert [(r["key"], r["value"]) for r in texts.rows()] == [("k", "größer"), (None, "")]
    assert [r["reason_code"] for r in texts.dead_letters()] == ["utf8", "key_utf8"]


def test_a_topic_without_a_schema_lands_as_it_came_when_asked_and_never_by_mistake(
    source: MakeSource,
) -> None:
    raw = source(value_format="bytes")
    raw.produce((b"\0k", b"\0\xff"), (None, b""))

    with pytest.raises(MissingError, match=f"Subject {raw.spec.topic}-value does not exist"):
        raw.land(value_format="auto")
    raw.land()

    assert user_columns(raw) == ["key", "value"]
    assert [(r["key"], r["value"]) for r in raw.rows()] == [(b"\0k", b"\0\xff"), (None, b"")]


def test_bare_payloads_are_read_by_the_newest_schema(source: MakeSource) -> None:
    bare = source(framing="none", on_bad_record="dead_letter")
    bare.register(VALUE)
    values = [avro(VALUE, 1, {"amount": n})[5:] for n in (0, -1, 2**31 - 1)]
    bare.produce(*((None, value) for value in (*values, b"\2\2")))

    bare.land()

    assert [r["amount"] for r in bare.rows()] == [0, -1, 2**31 - 1]
    assert [r["offset"] for r in bare.dead_letters()] == [3]


def test_a_null_value_is_bad_unless_said_otherwise(source: MakeSource) -> None:
    orders = source()
    with_values(orders, b"a")
    orders.produce((b"b", None))

    with pytest.raises(SuspendedError, match=r"offset \d+: the value is null"):
        orders.land()

    assert [r["amount"] for r in orders.rows()] == [7]


def test_a_null_value_that_is_skipped_is_counted(source: MakeSource) -> None:
    orders = source(on_null_value="skip")
    with_values(orders, b"a")
    orders.produce((b"b", None), (None, None))

    report = orders.land()

    assert (report.records, report.skipped, report.dead_letters) == (1, 2, 0)
    assert run_check("row_count_deep", orders.spec, orders.connections).passed


def test_a_null_value_that_is_kept_is_a_row_of_key_and_metadata(source: MakeSource) -> None:
    orders = source(on_null_value="keep")
    with_values(orders, b"a")
    orders.produce((b"b", None))

    assert orders.land().records == 2
    assert [(r["key"], r["amount"]) for r in orders.rows()] == [(b"a", 7), (b"b", None)]
    assert all(r["$$offset"] is not None for r in orders.rows())
    assert run_check("row_count_deep", orders.spec, orders.connections).passed


def test_a_protobuf_key_and_a_message_that_is_not_the_schemas_first(source: MakeSource) -> None:
    sales = source(record_type="shop.Sale")
    key_id = sales.register('syntax = "proto3"; message Key { int32 shop = 1; }', "key", kind="PROTOBUF")
    text = (
        'syntax = "proto3"; package shop; message Money { int32 cents = 1; } message Sale { Money paid = 1; }'
    )
    schema_id = sales.register(text, kind="PROTOBUF")
    second = b"\0" + schema_id.to_bytes(4, "big") + b"\2\2"  # one index, the second message
    sales.produce((b"\0" + key_id.to_bytes(4, "big") + b"\0\x08\5", second + b"\x0a\2\x08\7"))

    sales.land()

    assert [(r["shop"], r["paid"]) for r in sales.rows()] == [(5, {"cents": 7})]


def test_a_record_type_says_nothing_of_an_avro_subject(source: MakeSource) -> None:
    orders = source(record_type="Order")
    with_values(orders, b"a")

    with pytest.raises(ConfigureError, match="picks a message of a Protobuf schema"):
        orders.land()
