"""JSON that takes far more values in memory than it has bytes is bad; what stands beside it is not.

An empty object takes a value of each column: https://github.com/NVIDIA/cudf-spark/issues/8542
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from frazil.formats.protocol import MOST_PLACES
from frazil.tables.spark.session import spark_name
from kit.formats.formats import MakeSource, Source

WIDTH = 1000
WIDE = {"type": "object", "properties": {f"f{n}": {"type": "integer"} for n in range(WIDTH)}}
SMALL = {"type": "object", "properties": {"a": {"type": "integer"}}}
NEAR = MOST_PLACES // WIDTH
"""So many wide objects are allowed, and none more but by their bytes."""

LIST, MAP = {"type": "array", "items": WIDE}, {"type": "object", "additionalProperties": WIDE}


def within(node: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {"n": {"type": "integer"}, "within": node}}


SHAPES: dict[str, tuple[dict[str, Any], Any]] = {
    "array": (LIST, lambda wide: wide),
    "map": (MAP, lambda wide: {f"k{n}": each for n, each in enumerate(wide)}),
    "nested": (within(LIST), lambda wide: {"n": 1, "within": wide}),
    "array in array": (
        {"type": "array", "items": within(LIST)},
        lambda wide: [{"within": wide[:9]}, {"within": wide[9:]}],
    ),
}
"""Where the wide objects stand, and how so many of them are written there."""


def text_of(**members: Any) -> bytes:
    return json.dumps(members, separators=(",", ":")).encode()


def made(source: MakeSource, wide: dict[str, Any], *values: bytes) -> Source:
    members = {"n": {"type": "integer"}, "wide": wide, "small": {"type": "array", "items": SMALL}}
    members["text"] = {"type": "string"}
    topic = source(key_format="none", on_bad_record="dead_letter")
    schema_id = topic.register({"type": "object", "properties": members}, kind="JSON")
    topic.produce(*((None, b"\0" + schema_id.to_bytes(4, "big") + value) for value in values))
    return topic


@pytest.mark.nightly
@pytest.mark.parametrize("shape", SHAPES)
def test_a_wide_record_is_bad_its_neighbours_are_rows_and_one_near_the_bound_is_right(
    source: MakeSource, shape: str
) -> None:
    schema, placed = SHAPES[shape]
    near: list[dict[str, int]] = [{"f7": n} if n % 1000 == 0 else {} for n in range(NEAR)]
    topic = made(
        source,
        schema,
        text_of(n=1, wide=placed([{"f1": 1}] * 20)),
        text_of(n=2, wide=placed(near)),
        text_of(n=3, wide=placed([{}] * (2 * NEAR))),
        text_of(n=4, wide=placed([{"f2": 2}])),
    )

    report = topic.land()

    assert (report.records, report.dead_letters) == (3, 1)
    assert [(row["offset"], row["reason_code"]) for row in topic.dead_letters()] == [(2, "too_wide")]
    path = {"array": "wide", "map": "map_values(wide)", "nested": "wide.within"}
    every = path.get(shape, "flatten(wide.within)")
    spark, name = topic.connections.spark, spark_name(topic.things.table)
    rows = spark.sql(
        f"SELECT n, size(w) AS wide, aggregate(w, 0L, (s, e) -> s + coalesce(e.f7, 0)) AS sum "
        f"FROM (SELECT n, {every} AS w FROM {name})"
    ).collect()
    assert sorted(tuple(row) for row in rows) == [
        (1, 20, 0), (2, NEAR, sum(range(0, NEAR, 1000))), (4, 1, 0),
    ]  # fmt: skip


def test_objects_that_are_not_wide_and_braces_in_texts_are_not_counted_as_wide_ones(
    source: MakeSource,
) -> None:
    many = 2 * NEAR
    topic = made(
        source,
        LIST,
        text_of(n=1, wide=[{"f1": 1}], small=[{"a": n} for n in range(many)]),
        text_of(n=2, wide=[{"f1": 1}], text="{" * many),
        text_of(n=3, wide=[{}] * many, small=[]),
    )

    report = topic.land()

    assert [row["reason_code"] for row in topic.dead_letters()] == ["too_wide"]
    assert report.records == 2
    rows = topic.rows()
    assert [len(row["small"] or ()) for row in rows] == [many, 0]
    assert rows[0]["small"][-1] == {"a": many - 1}
    assert rows[1]["text"] == "{" * many
