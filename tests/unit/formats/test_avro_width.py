"""How many values a byte of Avro may become: the bound by which batches are cut."""

from __future__ import annotations

import io
import json
from random import Random
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.formats.avro.decoding.arrow import reader_of
from frazil.formats.avro.decoding.shapes import leaves_per_byte
from frazil.formats.avro.schemas.parser import parse_avro
from kit.drawn.examples import examples
from kit.drawn.random_formats import RANDOM_FORMATS
from kit.drawn.random_records import groups, value_of

RANDOM = next(of for of in RANDOM_FORMATS if of.name == "avro")


def tree_of(schema: Any) -> dict[str, Any]:
    tree: dict[str, Any] = parse_avro(json.dumps(schema), "s")
    return tree


def record(*types: Any) -> dict[str, Any]:
    fields = [{"name": f"f{n}", "type": kind} for n, kind in enumerate(types)]
    return {"type": "record", "name": f"R{abs(hash(json.dumps(types)))}", "fields": fields}


def places(array: pa.Array) -> int:
    """Values that an array holds, empty ones as well; of a list its beginning is one."""
    match array:
        case pa.StructArray():
            return sum(map(places, array.flatten())) or len(array)
        case pa.MapArray() | pa.ListArray() | pa.LargeListArray():
            return len(array) + places(array.flatten())
        case _:
            return len(array)


@examples(150)
@given(group=groups(RANDOM.scalars), seed=st.integers(0, 2**32))
def test_no_record_becomes_more_values_than_its_bytes_may(group: Any, seed: int) -> None:
    payload = RANDOM.encoder(group)(value_of(group, Random(seed)))
    reader = reader_of(tree_of(json.loads(RANDOM.schema(group))))

    indexes, rows = reader.read(pa.array([payload], pa.binary()))

    assert len(indexes) == 1
    assert places(rows) <= reader.places_per_byte * max(1, len(payload))


@pytest.mark.parametrize(
    ("schema", "most"),
    [
        (record("string", "long", "double", ["null", "int"]), 1),
        (record({"type": "array", "items": "string"}, {"type": "map", "values": "long"}), 1),
        (record(["null", record(*["int"] * 20)]), 20),
        (record({"type": "array", "items": record(*["long"] * 20)}), 1),
        (record({"type": "array", "items": ["null", record(*["long"] * 50)]}), 50),
        (record({"type": "array", "items": record(*[["null", record("int", "int", "int")]] * 4)}), 3),
    ],
)
def test_what_is_usual_becomes_about_as_many_values_as_bytes(schema: Any, most: float) -> None:
    assert leaves_per_byte(tree_of(schema)) == most


def test_items_without_bytes_are_as_many_as_a_count_may_claim() -> None:
    assert leaves_per_byte(tree_of(record({"type": "array", "items": "null"}))) > 100_000


def test_nulls_with_room_for_much_reach_the_bound() -> None:
    schema = record({"type": "array", "items": ["null", record(*["long"] * 50)]})
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(schema), {"f0": [None] * 10_000})
    reader = reader_of(tree_of(schema))

    _, rows = reader.read(pa.array([stream.getvalue()], pa.binary()))

    assert 0.9 < places(rows) / (reader.places_per_byte * len(stream.getvalue())) <= 1
