"""Avro by columns: the values of the mapping tables, and of damaged records those that fastavro reads."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pytest

from frazil.formats.avro.decoding import arrow
from frazil.formats.avro.decoding.rowwise import RowReader
from frazil.formats.avro.limits import MOST_BYTES, MOST_ITEMS
from frazil.formats.protocol import MOST_PLACES
from kit.drawn.damage import FRAME, damaged
from kit.formats import avro_oracle
from kit.formats.avro_cases import AVRO, HINTS
from kit.formats.avro_columns import AvroColumns, payload
from kit.formats.avro_versions import (
    FEWER,
    GOOD,
    MOMENT,
    MORE,
    NARROW,
    NEW,
    NOON,
    NOON_MICROS,
    OLD,
    TRUSTED,
    WIDE,
    array,
    as_row,
    decimal,
    fixed,
    mistrusted,
    old,
    record,
    unit,
)
from kit.formats.conformance import Case
from kit.formats.formats import same


def _fields(case: Case) -> list[dict[str, Any]]:
    point = [{"name": "point", "type": c.schema} for c in AVRO.cases if c.name == "record"]
    field = {"name": case.name, "type": case.schema, **HINTS.get(case.name, {})}
    return [*point, field] if case.name == "type_used_again" else [field]


@pytest.mark.parametrize("case", AVRO.cases, ids=lambda case: case.name)
def test_a_field_becomes_the_values_of_the_mapping_table(case: Case) -> None:
    schema = {"type": "record", "name": "Wide", "fields": _fields(case)}
    columns = AvroColumns((schema,))
    point = {"point": {"x": 1, "y": None}} if case.name == "type_used_again" else {}

    rows = columns.rows([payload(schema, {**point, case.name: written}) for written in case.written])

    values = [row and row[case.name] for row in rows]
    assert same(values, list(case.read))


def test_damaged_records_are_bad_or_read_as_fastavro_reads_them() -> None:
    """A few of those that `tests/stack/formats/test_damage.py` lands."""
    columns = AvroColumns((avro_oracle.SCHEMA,))
    records = damaged([avro_oracle.encode(n, 1) for n in range(50)], 4_000, seed=16)
    judged = [avro_oracle.decode(r[FRAME:]) if r[:FRAME] == b"\0\0\0\0\1" else None for r in records]

    decoded = columns.rows(records)

    read = [(row, want) for row, want in zip(decoded, judged, strict=True) if row]
    assert len(read) > 500
    assert [pair for pair in read if not same(*pair)] == []
    refused = {
        columns.decoder().explain(r)[0]
        for r, row, want in zip(records, decoded, judged, strict=True)
        if want and not row
    }
    assert refused <= {"value"}  # of what fastavro takes and Spark refuses, see `test_damage`


def test_old_versions_are_read_by_what_their_numbers_counted() -> None:
    columns = AvroColumns((record(at="string"), OLD, NEW))
    newest = {"at": NOON, "moments": [MOMENT], "d": Decimal("9.99"), "x": 0.5, "u": None, "c": "B"}
    olds = [old(), old(u=7), old(d="1.2345"), old(d="12345.00"), old(x=2**53 + 1), old(x=2**63 - 1)]
    records = [
        payload(record(at="string"), {"at": "noon"}, 1),
        *(payload(OLD, value, 2) for value in olds),
        payload(NEW, newest, 3),
    ]

    rows = columns.rows(records)

    read = [as_row("1.23", 1.0, "text"), as_row("1.23", 1.0, 7)]
    assert rows == [None, *read, None, None, None, None, as_row("9.99", 0.5, c="B")]
    writers = columns.decoder().writers
    assert [w is not None and writers[w] for w in columns.batch(records).writer.to_pylist()] == [
        False, 2, 2, 2, 2, 2, 2, 3,
    ]  # fmt: skip


def test_records_that_are_wider_than_the_newest_schema_are_read_as_they_were_written() -> None:
    rows = AvroColumns((MORE, FEWER)).rows([payload(MORE, WIDE, 1), payload(FEWER, NARROW, 2)])

    assert rows == [
        {**WIDE, "at": NOON_MICROS, "m": {"k": 2**40}, "later": None},
        {**NARROW, "at": NOON_MICROS},
    ]


def test_what_others_take_on_trust_is_a_bad_record() -> None:
    good = payload(TRUSTED, GOOD)

    rows = AvroColumns((TRUSTED,)).rows([good, *mistrusted(good)])

    assert rows == [{**GOOD, "entries": {"DDDD": 1}, "at": NOON_MICROS}, *[None] * 8]


FRAMED = b"\0\0\0\0\1"
LISTS = record(xs=array("int"), m={"type": "map", "values": "int"}, n="long")


@pytest.mark.parametrize(
    "raw",
    [
        b"\4\2\4\0" + b"\2\2k\6\0" + b"\2",
        b"\3\4\2\4\0" + b"\1\6\2k\6\0" + b"\2",  # in blocks with their sizes
        b"\2\2\2\4\0" + b"\2\2k\6\0" + b"\2",  # in two blocks
        b"\4\2\4\0" + b"\4\2k\2\2k\6\0" + b"\2",  # a key twice: the last one
        b"\4\2\4\0" + b"\2\2k\6\0" + b"\x82\x80\x80\x00",  # a number with leading zeros
    ],
)
def test_a_record_may_be_written_in_unusual_ways(raw: bytes) -> None:
    usual = payload(LISTS, {"xs": [7], "m": {}, "n": 0})

    rows = AvroColumns((LISTS,)).rows([usual, FRAMED + raw, usual])

    assert rows[1] == {"xs": [1, 2], "m": {"k": 3}, "n": 1}
    assert rows[0] == rows[2] == {"xs": [7], "m": {}, "n": 0}


def test_one_bad_record_of_any_kind_costs_no_other_one() -> None:
    good = [payload(LISTS, {"xs": [n], "m": {str(n): n}, "n": n}) for n in range(1_000)]
    bad = [good[0][:-1], good[0] + b"\0", FRAMED, b"", b"\1", None, b"\0\0\0\0\2" + good[0][FRAME:]]
    bad += [FRAMED + b"\x01" * n for n in range(20)]
    bad += [FRAMED + b"\0\0" + b"\xff" * 9 + b"\x02"]  # a number of more than 64 bits
    mixed = [
        record
        for n, each in enumerate(good)
        for record in ([each, bad[n // 7 % len(bad)]] if n % 7 == 0 else [each])
    ]

    rows = AvroColumns((LISTS,)).rows(mixed)

    assert [row["n"] for row in rows if row] == list(range(1_000))
    assert rows.count(None) == len(mixed) - 1_000


@pytest.mark.parametrize("claimed", [MOST_ITEMS + 1, 2**31 - 20, 2**62])
@pytest.mark.parametrize("items", ["string", ["null", record("Deep", x="double", y="string")]])
def test_a_short_record_that_claims_many_items_is_bad(items: Any, claimed: int) -> None:
    schema = record(xs=array(items))
    count = varint_of(claimed)

    assert AvroColumns((schema,)).rows([FRAMED + count + b"\0\0\0", FRAMED + b"\0"]) == [None, {"xs": []}]


def varint_of(number: int) -> bytes:
    return payload("long", number, None)


def test_a_collection_or_a_text_above_the_limits_of_the_jvm_is_bad() -> None:
    schema = record(xs=array("boolean"), text="string")
    most = varint_of(MOST_ITEMS) + bytes(MOST_ITEMS) + b"\0\0"
    above = varint_of(MOST_ITEMS + 1) + bytes(MOST_ITEMS + 2) + b"\0"
    long = b"\0" + varint_of(MOST_BYTES + 1) + b"a" * (MOST_BYTES + 1)

    batch = AvroColumns((schema,)).batch([FRAMED + raw for raw in (most, above, long)])

    assert batch.ok.to_pylist() == [True, False, False]


DEEP = record("Wide", **{f"f{n}": ["null", "int"] for n in range(65)})
ODD: dict[str, tuple[Any, Any]] = {
    "fixed": (record(f=fixed(3)), {"f": b"\0\x80\xff"}),
    "optional fixed": (record(f=["null", fixed(5)], n="int"), {"f": None, "n": 1}),
    "many nulls": (record(xs=array(["null", DEEP])), {"xs": [None, {f"f{n}": None for n in range(65)}]}),
    "doubles as keys": (
        record(m=array(record("Entry", key="double", value="int"), logicalType="map")),
        {"m": [{"key": -0.0, "value": 1}, {"key": 0.5, "value": 2}, {"key": 0.0, "value": 3}]},
    ),
    "a union beside one": (
        record(f=fixed(1), u=["null", "int", fixed(2), record("In", x="double", y=["string", "int"])]),
        {"f": b"a", "u": ("In", {"x": 0.25, "y": 7})},
    ),
}  # fmt: skip
"""Schemas that pyruhvro does not read, or not that way, and a value of each."""

ODD_READ = {
    "doubles as keys": {"m": {0.0: 3, 0.5: 2}},
    "a union beside one": {
        "f": b"a",
        "u": {"int": None, "Fixed2": None, "In": {"x": 0.25, "y": {"string": None, "int": 7}}},
    },
}


@pytest.mark.parametrize("name", ODD)
def test_what_pyruhvro_does_not_read_is_read_record_by_record(name: str) -> None:
    schema, value = ODD[name]
    good = payload(schema, value)
    damaged_ones = [good[:-1], good + b"\0", FRAMED, None]

    rows = AvroColumns((schema,)).rows([good, *damaged_ones, good])

    read = ODD_READ.get(name, value)
    assert rows == [read, None, None, None, None, read]


@pytest.fixture
def by_rows(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every schema is read record by record."""
    arrow.batches_of.cache_clear()
    monkeypatch.setattr(arrow, "reader_of", RowReader)
    yield
    arrow.batches_of.cache_clear()


@pytest.mark.usefixtures("by_rows")
@pytest.mark.parametrize("case", AVRO.cases, ids=lambda case: case.name)
def test_record_by_record_a_field_becomes_the_same_values(case: Case) -> None:
    test_a_field_becomes_the_values_of_the_mapping_table(case)


@pytest.mark.usefixtures("by_rows")
@pytest.mark.parametrize(
    "test",
    [
        test_damaged_records_are_bad_or_read_as_fastavro_reads_them,
        test_old_versions_are_read_by_what_their_numbers_counted,
        test_records_that_are_wider_than_the_newest_schema_are_read_as_they_were_written,
        test_what_others_take_on_trust_is_a_bad_record,
        test_one_bad_record_of_any_kind_costs_no_other_one,
        test_a_collection_or_a_text_above_the_limits_of_the_jvm_is_bad,
    ],
)
def test_record_by_record_the_same_records_are_bad(test: Callable[[], None]) -> None:
    test()


def test_items_that_take_no_bytes_are_as_many_as_are_claimed_and_bounded() -> None:
    schema = record(n="int", xs=array(record("Empty")), ys=array(fixed(0)))
    newest = record(n="int", ys=array(fixed(0)))
    counted, none = varint_of(3), b"\0"
    claims = [b"\2" + counted + none + counted + none, b"\2" + varint_of(2**62) + none + none]

    rows = AvroColumns((schema, newest)).rows([FRAMED + raw for raw in claims])

    assert rows == [{"n": 1, "ys": [b""] * 3}, None]


def test_a_record_that_would_take_too_much_memory_is_bad_and_says_so() -> None:
    columns = AvroColumns((record(xs=array(["null", DEEP])),))
    most = MOST_PLACES // 65
    few, many = (FRAMED + varint_of(n) + bytes(n) + b"\0" for n in (most, most + 70_000))

    batch = columns.batch([few, many])

    assert batch.ok.to_pylist() == [True, False]
    code, why = columns.decoder().explain(many)
    assert code == "too_wide"
    assert "values in memory" in why


def test_a_default_that_is_none_makes_the_records_bad_that_need_it() -> None:
    newest = record(n="int")
    newest["fields"].append({"name": "later", "type": unit("int", "time-millis"), "default": -1})
    versions = record(n="int"), newest

    rows = AvroColumns(versions).rows([FRAMED + b"\2", payload(newest, {"n": 1, "later": NOON}, 2)])

    assert rows == [None, {"n": 1, "later": NOON_MICROS}]
    code, why = AvroColumns(versions).decoder().explain(FRAMED + b"\2")
    assert code == "value"
    assert "default" in why


def test_items_that_may_be_null_have_64_fields_at_most_which_may_be_null_too() -> None:
    wide = record("Wide", **{f"f{n}": ["null", "int"] for n in range(64)})
    schema = record(xs=array(["null", wide]))

    assert AvroColumns((schema,)).rows([payload(schema, {"xs": [None]})]) == [{"xs": [None]}]


def test_fields_of_an_older_schema_that_take_no_bytes_are_passed_over() -> None:
    older, newest = record(a="null", e=record("Empty"), n="int"), record(n="int")

    rows = AvroColumns((older, newest)).rows([FRAMED + b"\4", payload(newest, {"n": 3}, 2)])

    assert rows == [{"n": 2}, {"n": 3}]


DEFAULTS: tuple[tuple[Any, Any, Any], ...] = (
    ("int", -7, -7), ("long", 2**40, 2**40), ("float", 1.5, 1.5), ("double", 3, 3.0), ("boolean", True, True),
    ("string", "é", "é"), ("bytes", "\u00ff\u0001", b"\xff\x01"),
    (fixed(4), "\0\1\u00fe\u00ff", b"\0\1\xfe\xff"),
    ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, "B", "B"), (array("int"), [1, 2], [1, 2]),
    ({"type": "map", "values": "long"}, {"k": 1}, {"k": 1}),
    (["null", "int"], None, None), (["string", "null"], "u", "u"),
    (["int", "string"], 5, {"int": 5, "string": None}), (unit("int", "time-millis"), 2, 2000),
    (decimal(5, 2), "\u0001", Decimal("0.01")),
    (record("In", q="int", w=["null", "string"]), {"q": 1, "w": None}, {"q": 1, "w": None}),
)  # fmt: skip


def test_fields_that_an_older_schema_lacks_have_their_defaults_at_any_depth() -> None:
    fields = [
        {"name": f"f{n}", "type": kind, "default": default} for n, (kind, default, _) in enumerate(DEFAULTS)
    ]
    older, newest = record("In1", z="int"), record("In1", z="int")
    newest["fields"] += fields
    versions = tuple(record(xs=array(part)) for part in (older, newest))

    rows = AvroColumns(versions).rows([payload(versions[0], {"xs": [{"z": 1}, {"z": 2}]}), FRAMED + b"\0"])

    expected = {f"f{n}": read for n, (_, _, read) in enumerate(DEFAULTS)}
    assert same(rows, [{"xs": [{"z": 1, **expected}, {"z": 2, **expected}]}, {"xs": []}])


def test_symbols_that_the_newest_enum_lacks_are_its_default_where_it_has_one() -> None:
    enum = {"type": "enum", "name": "E", "symbols": ["A", "B"]}
    newest = {**enum, "symbols": ["A", "X"]}
    records = [FRAMED + bytes([number]) for number in (0, 2, 4, 1)]

    kept = AvroColumns((record(e=enum), record(e=newest))).rows(records)
    replaced = AvroColumns((record(e=enum), record(e={**newest, "default": "X"}))).rows(records)

    assert kept == [{"e": "A"}, {"e": "B"}, None, None]
    assert replaced == [{"e": "A"}, {"e": "X"}, None, None]


@pytest.mark.parametrize(
    ("kind", "logical", "value"),
    [("long", "time-millis", 5), ("long", "time-millis", 2**62), ("long", "date", 2**40),
     ("int", "time-micros", -1), ("int", "timestamp-millis", 7),
     ("long", "frazil-int", 2**40), ("string", "time-millis", "noon")],
)  # fmt: skip
def test_a_logical_type_upon_a_type_that_avro_does_not_give_it_is_ignored(
    kind: str, logical: str, value: Any
) -> None:
    """As Avro's specification says, "Logical Types"; it was multiplied by 1,000."""
    schema = record(f=unit(kind, logical), m=array(unit(kind, logical)))

    decoded = AvroColumns((schema,)).rows(
        [payload(record(f=kind, m=array(kind)), {"f": value, "m": [value]})]
    )

    assert decoded == [{"f": value, "m": [value]}]


def test_branches_that_became_one_are_read_as_the_wider_one() -> None:
    versions = record(u=["null", "int", "long", "string"]), record(u=["null", "long", "string"])
    far = varint_of(2**40)

    rows = AvroColumns(versions).rows(
        [FRAMED + raw for raw in (b"\0", b"\2\x0a", b"\4" + far, b"\6\2a", b"\x08")]
    )

    long = [{"u": {"long": number, "string": None}} for number in (5, 2**40)]
    assert rows == [{"u": None}, *long, {"u": {"long": None, "string": "a"}}, None]


def test_the_bits_of_a_number_that_is_none_are_kept() -> None:
    schema, bits = record(d="double", f="float"), (0x7FF0000000000001, 0x7F800001)

    batch = AvroColumns((schema,)).batch([FRAMED + struct.pack("<QI", *bits)])

    read = [batch.data.field(n).to_numpy().tobytes() for n in (0, 1)]
    assert read == [struct.pack("<Q", bits[0]), struct.pack("<I", bits[1])]


def test_bare_payloads_are_of_the_newest_schema() -> None:
    columns = AvroColumns((record(n="int"), record(n="int", u=["int", "string"])), is_framed=False)
    good = payload(columns.versions[1], {"n": 1, "u": "a"}, None)

    rows = columns.rows([good, good + b"\0", good[:-1], None, b""])

    assert rows == [{"n": 1, "u": {"int": None, "string": "a"}}, None, None, None, None]


def test_of_equal_records_as_keys_of_a_map_the_last_one_counts() -> None:
    entry = record("Entry", key=record("K", a="int", b=["null", "string"]), value="int")
    schema = record(m=array(entry, logicalType="map"))
    keys = {"a": 1, "b": None}, {"a": 1, "b": "x"}, {"a": 1, "b": None}
    value = {"m": [{"key": key, "value": n} for n, key in enumerate(keys)]}

    batch = AvroColumns((schema,)).batch([payload(schema, value)])

    assert batch.data.field(0).to_pylist() == [[(keys[1], 1), (keys[0], 2)]]
