"""Pairs of Avro schemas: which are legal, and which reader each writer gets."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from avro.compatibility import ReaderWriterCompatibilityChecker, SchemaCompatibilityType
from avro.schema import parse

from frazil.formats.avro.schemas.pairs import misfit, reader_for, written
from frazil.formats.avro.schemas.parser import avro_text, parse_avro

MILLIS, MICROS = ({"type": "long", "logicalType": f"timestamp-{unit}"} for unit in ("millis", "micros"))
TIME_MILLIS = {"type": "int", "logicalType": "time-millis"}
TIME_MICROS = {"type": "long", "logicalType": "time-micros"}
DATE = {"type": "int", "logicalType": "date"}


def record(*fields: tuple[str, Any], name: str = "R") -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": n, "type": t} for n, t in fields]}


def decimal(precision: int, scale: int) -> dict[str, Any]:
    return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}


def enum(*symbols: str, **more: str) -> dict[str, Any]:
    return {"type": "enum", "name": "E", "symbols": list(symbols), **more}


def fixed(size: int) -> dict[str, Any]:
    return {"type": "fixed", "name": "F", "size": size}


def tree(schema: Any) -> Any:
    return parse_avro(json.dumps(schema), "s")


def reader_of(writer: Any, reader: Any) -> Any:
    """The reader's type of one field, as it is written."""
    resolved = reader_for(tree(record(("f", writer))), tree(record(("f", reader))))
    assert [f["name"] for f in resolved["fields"]] == ["f"]
    return json.loads(avro_text(resolved))["fields"][0]["type"]


SAME_AS_AVRO = [
    ("int", "int"), ("int", "long"), ("int", "float"), ("int", "double"), ("long", "float"),
    ("long", "double"), ("float", "double"), ("string", "bytes"), ("bytes", "string"), ("long", "string"),
    ("double", "int"), ("string", "int"), ("boolean", "int"), ("int", "string"), ("bytes", enum("A")),
    (enum("A"), "bytes"), (enum("A"), enum("A", "B")), (fixed(4), fixed(4)), (fixed(4), "string"),
    ({"type": "array", "items": "int"}, {"type": "array", "items": "long"}),
    ({"type": "array", "items": "double"}, {"type": "array", "items": "int"}),
    ({"type": "map", "values": "int"}, {"type": "map", "values": "string"}),
    ({"type": "map", "values": "int"}, {"type": "array", "items": "int"}),
    ("int", ["null", "int"]), ("int", ["null", "long"]), ("int", ["null", "string"]),
    (["int", "string"], ["string", "null", "long"]), (["int", "boolean"], ["int", "string"]),
    (record(("x", "int"), name="N"), record(name="N")),
    (record(("x", "int"), name="N"), record(("x", "long"), name="N")),
    (record(("x", "int"), name="N"), record(("x", "int"), ("y", "int"), name="N")),
]  # fmt: skip


@pytest.mark.parametrize(("writer", "reader"), SAME_AS_AVRO)
def test_what_avro_allows_is_allowed(writer: Any, reader: Any) -> None:
    one, two = record(("f", writer)), record(("f", reader))
    checker = ReaderWriterCompatibilityChecker()
    verdict = checker.get_compatibility(parse(json.dumps(two)), parse(json.dumps(one))).compatibility

    assert (misfit(tree(one), tree(two)) is None) is (verdict is SchemaCompatibilityType.compatible)


@pytest.mark.parametrize(
    ("writer", "reader", "expected"),
    [
        ("long", "boolean", "field f: long can't be read as boolean"),
        (record(("x", "string"), name="N"), record(("x", "int"), name="N"), "field f.x: string can't"),
        ({"type": "array", "items": "double"}, {"type": "array", "items": "int"}, r"field f\[\]: double"),
        ("boolean", ["null", "int", "string"], "field f: boolean is no branch of its union"),
        (["string", enum("A")], "string", r"field f: enum can't be read as string"),
        ("null", "int", "field f: null is no value"),
        (record(("x", "int"), name="N"), record(("y", "int"), name="N"), r"field f\.y: the older version"),
        ([fixed(4), "string"], fixed(5), "field f: 4 bytes can't be read as 5"),
    ],
)
def test_a_misfit_names_the_field_and_says_why(writer: Any, reader: Any, expected: str) -> None:
    misfit_found = misfit(tree(record(("f", writer))), tree(record(("f", reader))))

    assert re.match(expected, str(misfit_found))


@pytest.mark.parametrize(
    ("writer", "reader"),
    [
        (DATE, TIME_MILLIS),
        (DATE, MILLIS),
        (MILLIS, {"type": "long", "logicalType": "local-timestamp-millis"}),
        ({"type": "long", "logicalType": "timestamp-nanos"}, MICROS),
        (TIME_MILLIS, MICROS),
        ("int", MILLIS),
        ("string", decimal(9, 2)),
        (decimal(64, 50), decimal(38, 2)),
    ],
)
def test_what_a_number_counts_is_part_of_its_type(writer: Any, reader: Any) -> None:
    assert misfit(tree(record(("f", writer))), tree(record(("f", reader))))


@pytest.mark.parametrize(
    ("writer", "reader", "expected"),
    [
        (MILLIS, MICROS, MILLIS),
        (decimal(9, 2), decimal(20, 4), decimal(9, 2)),
        (decimal(20, 4), decimal(9, 2), decimal(20, 4)),
        ("long", MICROS, MICROS),
        (MILLIS, "long", "long"),
        ("int", "long", "int"),
        ("int", "double", "int"),
        ("long", "double", "long"),
        ("int", "float", "int"),
        ("string", "bytes", "bytes"),
        (["null", MILLIS], ["null", MICROS], ["null", MILLIS]),
        (["null", MILLIS], MICROS, ["null", MILLIS]),
        ("long", "int", "long"),
        (decimal(12, 2), decimal(9, 2), decimal(12, 2)),
        (fixed(4), "bytes", {**fixed(4), "name": "frazil.F"}),
        (["null", "int", "string"], ["string", "int"], ["null", "string", "int"]),
        (MILLIS, ["null", MICROS], ["null", MILLIS]),
        (["null", "long"], ["null", "string", "double"], ["null", "string", "long"]),
        (
            {"type": "map", "values": {"type": "array", "items": MILLIS}},
            {"type": "map", "values": {"type": "array", "items": MICROS}},
            {"type": "map", "values": {"type": "array", "items": MILLIS}},
        ),
    ],
)
def test_a_reader_keeps_what_spark_would_misread(writer: Any, reader: Any, expected: Any) -> None:
    assert misfit(tree(record(("f", writer))), tree(record(("f", reader)))) is None
    assert reader_of(writer, reader) == expected


def test_milliseconds_of_the_day_stay_milliseconds_where_the_newest_counts_micros() -> None:
    reader = reader_for(tree(record(("f", TIME_MILLIS))), tree(record(("f", TIME_MICROS))))

    assert reader["fields"][0]["type"] == TIME_MILLIS


def test_a_symbol_that_is_gone_can_still_be_read_unless_it_has_a_default() -> None:
    assert reader_of(enum("A", "B"), enum("C", "A"))["symbols"] == ["C", "A", "B"]
    assert reader_of(enum("A", "B"), enum("C", "A", default="C"))["symbols"] == ["C", "A"]


def test_a_field_is_found_by_its_alias_and_takes_no_default() -> None:
    renamed = {"name": "g", "aliases": ["f"], "type": MICROS, "default": 0}
    reader = {"type": "record", "name": "other.Name", "fields": [renamed]}

    reader_made = reader_for(tree(record(("f", MILLIS))), tree(reader))

    assert reader_made == {
        "type": "record",
        "name": "R",
        "fields": [{"name": "g", "aliases": ["f"], "type": MILLIS}],
    }


@pytest.mark.parametrize(
    ("own", "today", "sources"),
    [
        ("x", {"y": ["x"]}, "x"),
        ("x", {"x": [], "y": ["x"]}, "-x"),
        ("x", {"y": ["x"], "x": []}, "x-"),
        ("xy", {"y": ["x"]}, "y"),
        ("xy", {"x": [], "y": ["x"]}, "xy"),
        ("xy", {"x": ["y"], "y": ["x"]}, "yx"),
        ("xy", {"y": ["x"], "z": ["y"]}, "xy"),
        ("xyz", {"y": ["x"], "z": ["y"]}, "yz"),
        ("xy", {"z": ["x", "y"]}, "x"),
        ("x", {"y": ["x"], "z": ["x"]}, "x-"),
        ("y", {"z": ["x", "y"]}, "y"),
        ("x", {"x": ["x"]}, "x"),
    ],
)
def test_an_alias_renames_the_writers_field_which_fills_one_field_only(
    own: str, today: dict[str, list[str]], sources: str
) -> None:
    """Avro's specification, "Aliases": the reader acts as though `x` were named `y`."""
    writer = tree(record(*((name, "int") for name in own)))
    reader = tree(
        {**record(), "fields": [{"name": n, "type": "int", "aliases": a} for n, a in today.items()]}
    )

    read = [source["name"] if source else "-" for _, source in written(reader, writer)]
    assert "".join(read) == sources


def test_a_type_that_is_used_twice_is_written_once() -> None:
    inner = record(("x", "int"), name="N")
    text = json.loads(avro_text(tree(record(("a", inner), ("b", ["null", "N"]), name="ns.R"))))

    first, second = (f["type"] for f in text["fields"])
    assert (first["name"], second) == ("ns.N", ["null", "ns.N"])


def test_unions_that_spark_would_fold_into_one_number_get_a_third_branch() -> None:
    text = json.loads(avro_text(tree(record(("f", ["null", DATE, MILLIS])))))

    assert text["fields"][0]["type"] == ["null", DATE, MILLIS, "boolean"]


def nested(levels: int, name: str) -> Any:
    inner = nested(levels - 1, name) if levels else "int"
    return record(("u", ["null", inner, "string"]), name=f"{name}{levels}")


@pytest.mark.parametrize("name", ["a.N", "b.N", "a.M"])
def test_unions_within_unions_are_compared_once_at_every_level(name: str) -> None:
    """Twice at every level would be a thousand million times here."""
    writer, reader = tree(nested(30, "a.N")), tree(nested(30, name))

    assert misfit(writer, reader) is None
    assert avro_text(reader_for(writer, reader)) == avro_text(writer)
