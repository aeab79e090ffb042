"""Arrow's values become Python's in one room, which knows what Python can't hold."""

from __future__ import annotations

import ast
from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import frazil
from frazil.exact import iso_day, iso_moment, rows_of, shown, utc, value_of, values_of
from kit.readers.partition_values import month_of

ENGINE = Path(frazil.__file__).parent
ROOM = ENGINE / "exact.py"
ROOT = ENGINE.parent.parent
ROOTS = [
    ROOT / name
    for name in (
        "platform/frazil",
        "platform/frazil_cloud",
        "platform/frazil_lineage",
        "assets",
        "resources",
        "sensors",
    )
]
"""All but the embedded stack, whose stand-ins answer with what they are asked for."""
WITHOUT_FRAZIL = ENGINE / "formats" / "json" / "format.py"
"""Its function runs on workers that need not have Frazil, and takes bytes."""
FORBIDDEN = {"as_py", "to_pylist", "to_pydict", "to_pandas", "toPandas", "toLocalIterator"}
LOOKED_FOR = {*FORBIDDEN, "collect", "fromtimestamp"}

OF_COUNTS = {
    "checks/derived.py", "checks/own.py", "checks/topic.py", "doctor/preflight.py", "doctor/spark.py",
    "landing/replay/difference.py", "landing/upsert/matches.py", "landing/upsert/versions.py",
    "tables/rewrites/remainder.py", "tables/spark/session.py",
    "telemetry/metrics.py", "upkeep/statistics.py",
}  # fmt: skip
"""Modules that collect Spark's rows: counts, offsets, paths of files and the like, and no user's value."""

INFINITY = 9_223_372_036_825_200_000
"""What Debezium makes of PostgreSQL's infinity."""
SAID = "+294247-01-10T04:00:25.200000+00:00"


@cache
def calls(path: Path) -> set[str]:
    """Names of the methods that a module calls, of those that are looked for."""
    text = path.read_text()
    nodes = ast.walk(ast.parse(text if any(word in text for word in LOOKED_FOR) else ""))
    return {n.func.attr for n in nodes if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)}


def modules() -> list[Path]:
    paths = [path for root in ROOTS for path in root.rglob("*.py")]
    assert len(paths) > 300
    return [path for path in paths if path != ROOM]


def test_no_other_room_makes_pythons_values_of_arrows() -> None:
    assert FORBIDDEN & calls(ROOM) == {"to_pylist"}
    others = [path for path in modules() if path != WITHOUT_FRAZIL]
    assert {str(path): FORBIDDEN & calls(path) for path in others if FORBIDDEN & calls(path)} == {}


def test_rows_of_spark_are_collected_where_they_hold_no_values_of_users() -> None:
    collecting = {path for path in modules() if "collect" in calls(path)}

    assert {str(path.relative_to(ENGINE)) for path in collecting} == OF_COUNTS


def test_bounds_of_files_are_taken_as_the_file_has_them() -> None:
    """`Statistics.min` and `max` make dates and texts; `min_raw` and `max_raw` do not."""
    names = {n.attr for n in ast.walk(ast.parse((ENGINE / "tables/writing/footers.py").read_text()))
             if isinstance(n, ast.Attribute)}  # fmt: skip
    assert {"min_raw", "max_raw"} <= names
    assert not {"min", "max"} & names


MOMENTS = pa.array([INFINITY, 0, None], pa.int64()).view(pa.timestamp("us", "UTC"))
DAYS = pa.array([2_932_897, 1, None], pa.int32()).view(pa.date32())


@pytest.mark.parametrize(
    ("array", "values", "people"),
    [
        (MOMENTS, [INFINITY, 0, None], [SAID, datetime(1970, 1, 1, tzinfo=UTC), None]),
        (DAYS, [2_932_897, 1, None], ["+10000-01-01", date(1970, 1, 2), None]),
        (
            pa.StructArray.from_arrays([MOMENTS, DAYS], names=["a", "b"])[:1],
            [{"a": INFINITY, "b": 2_932_897}],
            [{"a": SAID, "b": "+10000-01-01"}],
        ),
        (
            pa.ListArray.from_arrays(pa.array([0, 1, 3], pa.int32()), DAYS),
            [[2_932_897], [1, None]],
            [["+10000-01-01"], [date(1970, 1, 2), None]],
        ),
        (
            pa.MapArray.from_arrays(pa.array([0, 1], pa.int32()), DAYS[:1], MOMENTS[:1]),
            [[(2_932_897, INFINITY)]],
            [[("+10000-01-01", SAID)]],
        ),
        (pa.array([b"\xff", b"a", None]).view(pa.string()), ["\ufffd", "a", None], ["\ufffd", "a", None]),
        (pa.array([["x"]]), [["x"]], [["x"]]),
        (pa.array([b"\xff"]), [b"\xff"], [b"\xff"]),
    ],
    ids=lambda value: str(getattr(value, "type", "")),
)  # fmt: skip
def test_values_are_exact_and_people_see_what_can_be_shown(
    array: pa.Array, values: list[Any], people: list[Any]
) -> None:
    assert values_of(array) == values
    assert values_of(pa.chunked_array([array, array])) == values * 2
    assert [value_of(each) for each in array] == values
    assert shown(array) == people
    assert rows_of(pa.table({"c": array})) == [{"c": value} for value in values]


@pytest.mark.parametrize(
    "days", [0, 59, 60, 2_932_896, 2_932_897, -719_162, -719_163, -719_528, -719_529, 2**31 - 1]
)
def test_any_day_is_said_as_the_calendar_has_it(days: int) -> None:
    year, month = month_of(days)
    day = iso_day(days)

    assert day[:-3] == (f"{year:04}" if 0 <= year <= 9999 else f"{year:+05}") + f"-{month:02}"
    if -719_162 <= days <= 2_932_896:
        assert day == date.fromordinal(days + 719_163).isoformat()


def test_a_moment_is_pythons_own_where_there_is_one() -> None:
    assert utc(1_000_001) == datetime(1970, 1, 1, 0, 0, 1, 1, UTC)
    assert (utc(INFINITY), utc(-(2**63)), utc(None)) == (None, None, None)
    assert (iso_moment(-1), iso_moment(0, zoned=False)) == (
        "1969-12-31T23:59:59.999999+00:00",
        "1970-01-01T00:00:00",
    )


OF_CLOCKS = {
    "alarms/channels.py", "cli/work/cut.py", "cli/work/drift.py", "cli/work/forget.py",
    "cli/views/describe.py", "confluent/accounts/keys.py", "costs/measured.py", "derive/computation.py",
    "landing/repairs/acceptance.py", "snowflake/freshness.py", "tables/commits/commit.py",
    "tables/commits/rollback.py", "tables/metadata/unnamed.py", "telemetry/logs.py",
    "upkeep/expiry/references.py", "upkeep/recovery/states.py", "upkeep/row_expiry/run.py",
}  # fmt: skip
"""Modules that make Python's own moments of numbers: of clocks and of snapshots, which are of today."""


def test_moments_of_users_become_no_moments_of_pythons() -> None:
    making = {path for path in modules() if "fromtimestamp" in calls(path)}

    platform = {path.relative_to(ENGINE.parent) for path in making if ENGINE.parent in path.parents}
    assert {"/".join(path.parts[1:]) for path in platform} == OF_CLOCKS
