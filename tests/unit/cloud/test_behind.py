"""Since when Snowflake shows less than Glue: the metadata files say so, whatever Glue's last change was."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from frazil_cloud.snowflake.freshness import Pointer, behind_since

LONG_AGO, BEFORE, THEN, LATER = (datetime(2026, 11, day, tzinfo=UTC) for day in (1, 2, 3, 4))
JUST_NOW = datetime(2026, 11, 5, tzinfo=UTC)
NEW, OLD = "s3://lake/t/metadata/00009.metadata.json", "s3://lake/t/metadata/00002.metadata.json"
GLUE = Pointer(NEW, JUST_NOW)


def stamp(at: datetime) -> int:
    return int(at.timestamp() * 1000)


def file(at: datetime, *before: datetime, snapshots: tuple[datetime, ...] = ()) -> Mapping[str, Any]:
    """A metadata file of that time, after others."""
    return {
        "last-updated-ms": stamp(at),
        "metadata-log": [{"timestamp-ms": stamp(each), "metadata-file": "x"} for each in before],
        "snapshots": [{"timestamp-ms": stamp(each)} for each in snapshots],
    }


def since(**files: Mapping[str, Any]) -> datetime:
    return behind_since(OLD, GLUE, {NEW: files.get("new"), OLD: files.get("old")}.get)


def test_it_is_behind_since_the_first_change_after_what_it_shows() -> None:
    assert since(new=file(JUST_NOW, BEFORE, THEN, LATER), old=file(BEFORE)) == THEN


def test_a_table_that_was_still_for_long_is_behind_since_its_last_change() -> None:
    assert since(new=file(JUST_NOW, LONG_AGO), old=file(LONG_AGO)) == JUST_NOW


def test_snapshots_tell_it_where_the_log_of_files_is_short_or_there_is_none() -> None:
    snapshots = (LONG_AGO, THEN, LATER)
    assert since(new=file(JUST_NOW, LATER, snapshots=snapshots), old=file(BEFORE)) == THEN
    assert since(new={"last-updated-ms": stamp(JUST_NOW), "snapshots": []}, old=file(BEFORE)) == JUST_NOW
    assert since(new={"last-updated-ms": stamp(JUST_NOW)}, old=file(BEFORE)) == JUST_NOW


def test_where_the_file_that_it_shows_is_gone_the_oldest_of_the_log_tells_it() -> None:
    assert since(new=file(JUST_NOW, THEN, LATER, snapshots=(LONG_AGO,))) == THEN


def test_glue_tells_it_where_its_file_is_gone_or_older_than_what_snowflake_shows() -> None:
    assert since(old=file(BEFORE)) == JUST_NOW
    assert since(new=file(BEFORE, LONG_AGO), old=file(LATER)) == JUST_NOW
