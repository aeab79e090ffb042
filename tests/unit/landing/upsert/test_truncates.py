"""Truncates: which rows are older than one."""

from __future__ import annotations

import duckdb
import pytest

from frazil.formats.columns.columns import names_by_word
from frazil.landing.upsert.truncate import Truncate, last_truncates, read_truncates
from frazil.landing.upsert.truncates import is_truncated
from frazil.spec.topic import TableSpec

SPEC = TableSpec(topic="t", mode="cdc", metadata_names="portable")
BY_LSN = SPEC.model_copy(update={"delete": "soft", "order_by": "source.lsn"})


def test_the_last_truncate_of_each_partition_is_enough() -> None:
    told = ["[0,7,1000,null,null]", "[1,3,2000,1500,90]", "[0,12,3000,null,null]"]

    assert set(last_truncates(read_truncates(told))) == {
        Truncate(0, 12, 3000, None, None),
        Truncate(1, 3, 2000, 1500, 90),
    }


@pytest.mark.parametrize(
    ("spec", "row", "older"),
    [
        (SPEC, (1, 4, 9, None), True),  # partition, offset, seconds, LSN; the truncate is (1, 5, 7, 100)
        (SPEC, (1, 6, 1, None), False),
        (SPEC, (0, 99, 6, None), True),
        (SPEC, (0, 1, 8, None), False),
        (SPEC, (0, 1, 7, None), False),
        (SPEC, (2, 1, 7, None), False),
        (BY_LSN, (2, 9, 9, 99), True),
        (BY_LSN, (1, 4, 1, 101), False),
        (BY_LSN, (1, 4, 9, None), True),
    ],
)
def test_a_row_is_older_by_offset_or_by_time_or_by_the_sources_log(
    spec: TableSpec, row: tuple[int, int, int, int | None], older: bool
) -> None:
    sql = is_truncated([Truncate(1, 5, 7_000_000, None, 100)], spec, names_by_word(spec))
    columns = [names_by_word(spec)[word] for word in ("partition", "offset", "timestamp", "source-lsn")]
    partition, offset, seconds, lsn = row
    values = (str(partition), str(offset), f"make_timestamp({seconds}000000)", f"{lsn or 'NULL'}::bigint")
    told = ", ".join(f"{value} AS {column}" for value, column in zip(values, columns, strict=True))
    asked = sql.replace("timestamp_micros", "make_timestamp").replace("`", '"')

    found = duckdb.sql(f"SELECT {asked} FROM (SELECT {told})").fetchall()

    assert found == [(older,)]


def test_without_truncates_no_row_is_older() -> None:
    assert is_truncated([], SPEC, names_by_word(SPEC)) == "coalesce(false, false)"
