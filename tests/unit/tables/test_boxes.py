"""The box around some rows: whatever data file holds one of their keys is found, by metadata alone."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.memory import InMemoryCatalog
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.table import Table
from pyiceberg.transforms import TruncateTransform, YearTransform

from frazil.tables.box import Box, Side, box_from, measures
from frazil.tables.metadata.manifests import files_matching

KINDS = {
    "n": "bigint",
    "s": "string",
    "d": "decimal(6,2)",
    "t": "timestamp",
    "l": "timestamp_ntz",
    "y": "date",
}
SCHEMA = pa.schema(
    {
        "n": pa.int64(),
        "s": pa.string(),
        "d": pa.decimal128(6, 2),
        "t": pa.timestamp("us", "UTC"),
        "l": pa.timestamp("us"),
        "y": pa.date32(),
    }
)
LETTERS = "ab\ue000\U00010000"  # the last two are the other way round in UTF-16
FILES = 10


def row(chance: random.Random, near: int) -> dict[str, Any]:
    """Values around a number; strings are longer than what statistics keep of them."""
    n = near + chance.randint(-2, 2)
    moment = datetime(1970, 1, 1) + timedelta(hours=7 * n, microseconds=n)
    row = {
        "n": n,
        "s": "x" * 15 + "".join(chance.choices(LETTERS, k=3)),
        "d": Decimal(n).scaleb(-2),
        "t": moment.replace(tzinfo=UTC),
        "l": moment,
        "y": date(1970, 1, 1) + timedelta(days=n),
    }
    return {name: value if chance.random() > 0.05 else None for name, value in row.items()}


@dataclass(frozen=True)
class Filled:
    """A table, and the rows of each of its data files."""

    table: Table
    files: Mapping[str, list[dict[str, Any]]]

    def holding(self, name: str, values: list[Any]) -> set[str]:
        """Paths of the files that do hold one of the values."""
        return {path for path, rows in self.files.items() if {r[name] for r in rows} & set(values)}


@pytest.fixture(scope="module", params=["plain", "partitioned"])
def filled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Filled:
    """A table of some files, each with rows around another number."""
    place: Path = tmp_path_factory.mktemp("boxes")
    catalog, chance = InMemoryCatalog("boxes", warehouse=place.as_uri()), random.Random(6)
    catalog.create_namespace("boxes")
    table = catalog.create_table("boxes.t", schema=SCHEMA)
    if request.param == "partitioned":
        with table.update_spec() as update:
            update.add_field("y", YearTransform())
            update.add_field("s", TruncateTransform(16))
    for near in range(-FILES // 2, FILES // 2):
        table.append(pa.Table.from_pylist([row(chance, 3 * near) for _ in range(4)], SCHEMA))
    tasks = list(table.scan().plan_files())
    rows = ArrowScan(table.metadata, table.io, table.schema(), AlwaysTrue())
    return Filled(table, {t.file.file_path: rows.to_table([t]).to_pylist() for t in tasks})


def side(name: str, values: list[Any]) -> Side:
    """The side that Spark would tell."""
    known = [as_number(value) for value in values if value is not None]
    low, high = min(known, default=None), max(known, default=None)
    return Side(name, KINDS[name], low, high, missing=len(known) < len(values))


def as_number(value: Any) -> Any:
    """A value as Spark is asked for it: days, microseconds."""
    if isinstance(value, datetime):
        return (value.replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    return (value - date(1970, 1, 1)).days if isinstance(value, date) else value


@pytest.mark.parametrize("name", KINDS)
def test_no_file_that_holds_a_key_is_missed(filled: Filled, name: str) -> None:
    chance = random.Random(name)
    for _ in range(10):
        values = [row(chance, chance.randint(-20, 20))[name] for _ in range(chance.randint(1, 3))]
        matching = files_matching(filled.table, Box((side(name, values),)).expression)

        assert filled.holding(name, values) <= set(matching.rows), values


def test_files_beyond_are_left_alone(filled: Filled) -> None:
    numbers, days = Side("n", "bigint", 0, 9), Side("y", "date", 8, 99)
    near = files_matching(filled.table, Box((numbers,)).expression)
    nearer = files_matching(filled.table, Box((numbers, days)).expression)

    assert 0 < len(nearer.entries) < len(near.entries) < len(filled.files)
    assert nearer.bytes == sum(e.data_file.file_size_in_bytes for e in nearer.entries)


def test_without_bounds_every_file_counts(filled: Filled) -> None:
    assert set(files_matching(filled.table, Box().expression).rows) == set(filled.files)
    assert Box().sql == "true"


def test_a_key_that_is_always_missing_is_looked_for_where_it_is_missing(filled: Filled) -> None:
    matching = files_matching(filled.table, Box((side("n", [None]),)).expression)

    assert set(matching.rows) == filled.holding("n", [None])


def test_a_box_says_the_same_to_spark() -> None:
    box = Box((side("s", ["it's", None]), side("d", [Decimal("1.50"), Decimal("-2.00")])))

    assert box.sql == (
        "((`s` IS NOT NULL AND `s` >= CAST(X'69742773' AS string) AND `s` <= CAST(X'69742773' AS string)) "
        "OR `s` IS NULL) AND (`d` IS NOT NULL AND `d` >= CAST('-2.00' AS decimal(6,2)) "
        "AND `d` <= CAST('1.50' AS decimal(6,2)))"
    )


def test_what_has_no_order_that_all_agree_on_has_no_side() -> None:
    types = {"ratio": "double", "tags": "map<string,int>", "a.b": "int", "n": "bigint"}

    asked = measures(types, [*types, "unknown"])

    assert set(asked) == {"low_0", "high_0", "missing_0"}
    assert box_from(types, types, {"low_0": 1, "high_0": 2, "missing_0": 0}) == Box(
        (Side("n", "bigint", 1, 2),)
    )


def test_upwards_there_is_no_end_and_who_has_no_value_comes_first() -> None:
    one, other = Side("n", "bigint", 1, 2), Side("y", "date", 1, 2)

    assert Box((one, other)).upwards("n") == Box((other, Side("n", "bigint", 1, None)))
    assert Box((Side("n", "bigint", 1, 2, missing=True), other)).upwards("n") == Box((other,))
