"""What a table allows of a new schema, the decoder reads of the records that were written before it."""

from __future__ import annotations

import json
from functools import reduce
from itertools import product
from typing import Any

import pytest

from frazil.formats.evolution import refused, verdicts
from frazil.formats.kinds import SCHEMA_FORMATS
from frazil.formats.logical import Decimal, Field, Fixed, List, Map, Primitive, Struct, Type, misfit, relaxed
from frazil.formats.protocol import VALUE, Decoder, HalfSchemas, WriterSchema
from frazil.formats.types import as_stored

PLAIN = ("boolean", "int", "long", "float", "double", "string", "bytes")


def named(kind: str, name: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "name": name, **more}


def logical(kind: str, meaning: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "logicalType": meaning, **more}


def record(*fields: Any, name: str = "N") -> dict[str, Any]:
    return named("record", name, fields=[{"name": n, "type": t, **dict(more)} for n, t, *more in fields])


def entries(key: Any, value: Any) -> dict[str, Any]:
    return {"type": "array", "logicalType": "map", "items": record(("key", key), ("value", value), name="M")}


X = ("x", "int")
TYPES: list[Any] = [
    *PLAIN,
    named("enum", "E", symbols=["A", "B"]),
    named("enum", "E", symbols=["C"]),
    named("fixed", "F", size=4),
    named("fixed", "F", size=8),
    logical("bytes", "decimal", precision=9, scale=2),
    logical("bytes", "decimal", precision=12, scale=2),
    logical("bytes", "decimal", precision=12, scale=4),
    named("fixed", "F", size=5, logicalType="decimal", precision=9, scale=2),
    *(logical("int", m) for m in ("date", "time-millis")),
    *(logical("long", m) for m in ("time-micros", "timestamp-millis", "timestamp-micros")),
    *(logical("long", f"local-timestamp-{m}") for m in ("millis", "micros")),
    logical("string", "uuid"),
    record(X),
    record(("x", "long")),
    record(X, ("y", ["null", "int"])),
    record(X, ("y", ["int", "null"])),
    record(X, ("y", "int", ("default", 1))),
    record(X, ("y", "int")),
    *({"type": "array", "items": t} for t in ("int", "long", ["null", "int"], named("fixed", "F", size=4))),
    *({"type": "map", "values": t} for t in ("int", "long", ["null", "string"])),
    *(entries(k, v) for k in ("string", "int", "long") for v in ("int", "long")),
    ["int", "string"],
    ["string", "int", "boolean"],
    [named("fixed", "a.F", size=4), "string"],
    [named("fixed", "b.F", size=5), "string"],
]
TYPES += [["null", t] if isinstance(t, dict | str) else ["null", *t] for t in TYPES]


def version(number: int, kind: Any) -> WriterSchema:
    text = json.dumps(record(("f", kind), name="R"))
    return WriterSchema(number, number, text, "AVRO")


def avro(*kinds: Any) -> HalfSchemas:
    writers = tuple(version(n, kind) for n, kind in enumerate(kinds, 1))
    return HalfSchemas(VALUE, SCHEMA_FORMATS["AVRO"], "s-value", writers)


COLUMNS = [Struct(as_stored(avro(t).columns)) for t in TYPES]


def allowed(table: Struct, wanted: Struct) -> bool:
    return not refused(verdicts(table, as_stored(wanted), ()))


@pytest.mark.parametrize("old", range(len(TYPES)))
def test_avro_records_from_before_are_read_wherever_the_table_takes_the_change(old: int) -> None:
    for new, kind in enumerate(TYPES):
        if not allowed(COLUMNS[old], COLUMNS[new]):
            continue
        decoder: Decoder = avro(TYPES[old], kind).format.decoder(avro(TYPES[old], kind))

        assert decoder.writers == (2, 1), f"{TYPES[old]} to {kind}: {decoder.explain(bytes(4) + bytes([1]))}"
        assert allowed(COLUMNS[old], decoder.columns)
        assert holds(decoder.columns, COLUMNS[new])
        # What the newest has a default for is never missing.
        assert holds(decoder.columns, COLUMNS[old]) or "default" in json.dumps(kind)


def holds(wide: Type, narrow: Type) -> bool:
    """Whether columns have room for what others hold: then widening them changes nothing."""
    stored, other = (Struct(as_stored((Field("f", kind),))) for kind in (wide, narrow))
    return misfit(other, stored) is None and relaxed(stored, other) == stored


LEAVES: list[Type] = [
    *(Primitive(k) for k in ("boolean", "int", "long", "float", "double", "string", "binary", "date")),
    *(Primitive(k) for k in ("timestamp", "timestamptz", "uuid")),
    *(Decimal(p, s) for p, s in ((9, 2), (12, 2), (12, 4))),
    Fixed(4),
    Fixed(8),
]
KINDS: list[Type] = [
    *LEAVES,
    *(List(t, optional) for t in LEAVES for optional in (True, False)),
    *(Map(k, v) for k in LEAVES[:4] for v in LEAVES),
    *(Struct((Field("x", t, optional),)) for t in LEAVES for optional in (True, False)),
]


def test_json_and_protobuf_read_by_the_same_rule_as_the_table_takes_changes() -> None:
    for old, new in product(KINDS, KINDS):
        one, two = (Struct((Field("f", kind),)) for kind in (old, new))

        assert (misfit(one, two) is None) is allowed(Struct(as_stored(one)), two), f"{old} to {new}"


@pytest.mark.parametrize(
    ("kinds", "column"),
    [
        (("long", "int"), "long"),
        ((named("fixed", "F", size=4), named("fixed", "F", size=8)), "binary"),
        ((named("fixed", "F", size=4), "bytes"), "binary"),
        ((named("enum", "E", symbols=["A"]), "string"), "string"),
        (("double", "float", "float"), "double"),
        (("string", "int", "long", "int"), "long"),
        ((logical("bytes", "decimal", precision=12, scale=2), TYPES[11]), "decimal(12,2)"),
    ],
)
def test_a_column_is_as_wide_as_the_widest_version_that_fits(kinds: tuple[Any, ...], column: str) -> None:
    assert str(avro(*kinds).columns.fields[0].type) == column


def test_a_column_is_optional_where_an_older_version_takes_null() -> None:
    assert avro(["null", "int"], "int").columns == Struct((Field("f", Primitive("int"), optional=True),))


@pytest.mark.parametrize(
    ("kind", "wide", "narrow"),
    [
        ("JSON", {"type": "integer"}, {"type": "integer", "connect.type": "int32"}),
        ("PROTOBUF", "int64", "int32"),
    ],
)
def test_the_other_formats_have_room_for_wider_records_too(kind: str, wide: Any, narrow: Any) -> None:
    texts = [_text(kind, each) for each in (wide, narrow)]
    writers = tuple(WriterSchema(n, n, text, kind) for n, text in enumerate(texts, 1))
    schemas = HalfSchemas(VALUE, SCHEMA_FORMATS[kind], "s-value", writers)

    decoder = schemas.format.decoder(schemas)

    assert (decoder.writers, schemas.columns) == ((2, 1), decoder.columns)
    assert decoder.columns.fields[0].type == Primitive("long")


def _text(kind: str, field: Any) -> str:
    if kind == "JSON":
        return json.dumps({"type": "object", "properties": {"f": field}})
    return f'syntax = "proto3"; message R {{ {field} f = 1; }}'


DEFAULTS: list[tuple[Any, Any]] = [
    ({"type": "array", "items": "string"}, []),
    ({"type": "map", "values": "int"}, {}),
    ("string", "none"),
    ("int", 0),
    ("boolean", False),
    (record(("z", "int")), {"z": 1}),
]


@pytest.mark.parametrize(("kind", "default"), DEFAULTS)
def test_an_avro_field_with_a_default_may_be_added(kind: Any, default: Any) -> None:
    old, new = record(X, name="R"), record(X, ("tags", kind, ("default", default)), name="R")
    one, two = (
        HalfSchemas(VALUE, SCHEMA_FORMATS["AVRO"], "s-value", (WriterSchema(1, 1, json.dumps(s), "AVRO"),))
        for s in (old, new)
    )

    (verdict,) = verdicts(one.columns, as_stored(two.columns), ())

    assert (verdict.field, verdict.outcome) == ("tags", "applied")


def test_what_fits_in_any_order_comes_to_the_same_column() -> None:
    versions = [Struct((Field("f", Decimal(p, 2), optional=p == 20),)) for p in (9, 20, 12)]

    for first in range(3):
        rotated = [*versions[first:], *versions[:first]]
        assert reduce(relaxed, rotated) == versions[1]
