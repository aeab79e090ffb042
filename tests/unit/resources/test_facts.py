"""What a page of Dagster shows of a table: in words that people read, and links to where it is."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from frazil.landing.report import LandingReport
from frazil.settings.profile import Settings
from resources.facts import (
    duration,
    glimpse,
    group,
    link_to_object,
    worth_showing,
)
from resources.metadata import landing_metadata

FILE = "s3://lake/shop/orders/metadata/v1.metadata.json"


def test_what_is_zero_or_unknown_is_left_out_but_for_what_is_plotted() -> None:
    facts_told = worth_showing({"lag": 0, "freshness": None, "gaps": 0, "why": "", "rows_landed": 3})

    assert facts_told == {"lag": 0, "rows_landed": 3}


def test_a_group_tells_sizes_and_durations_with_their_units() -> None:
    facts = {
        "manifest_bytes": 12_288,
        "bytes_read": 2 << 20,
        "oldest_snapshot_seconds": 7200.0,
        "deleted_share": 0.125,
        "files": 1234,
    }

    rows = {record.data["fact"]: record.data["value"] for record in group(facts).records}

    assert rows == {
        "manifest bytes": "12.0 KiB", "bytes read": "2.0 MiB",
        "oldest snapshot": "2.0 h", "deleted share": "12.5%", "files": "1,234",
    }  # fmt: skip


def test_the_id_of_a_snapshot_is_told_digit_by_digit() -> None:
    (record,) = group({"snapshot_id": 5801497493502191643}).records

    assert record.data == {"fact": "snapshot", "value": "5801497493502191643"}


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.04, "0.0 s"), (59, "59.0 s"), (90, "1.5 min"), (5400, "1.5 h"), (172800, "2.0 d")],
)
def test_a_duration_is_told_in_its_largest_unit(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_a_metadata_file_at_aws_is_a_link_to_its_console() -> None:
    link = link_to_object(FILE, Settings.load(aws={"region": "eu-west-1"}))

    assert link.value == (
        "https://eu-west-1.console.aws.amazon.com/s3/object/lake"
        "?region=eu-west-1&prefix=shop/orders/metadata/v1.metadata.json"
    )


def test_elsewhere_it_is_a_path() -> None:
    assert link_to_object(FILE, Settings.load(s3={"endpoint": "http://127.0.0.1:1"})).value == FILE


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, ""),
        (12, "12"),
        (True, "true"),
        ("two\nlines \x1b[31m", "two\nlines \\x1b[31m"),
        ("a" * 61, "a" * 59 + "…"),
        (b"a key", "5 bytes"),
        ({"name": "Größe", "at": date(2026, 11, 23)}, '{"name": "Größe", "at": "2026-11-23"}'),
        ([("k", b"\0" * 1500)], '[["k", "1,500 bytes"]]'),
        (datetime(2026, 11, 23, 4, 5, tzinfo=UTC), "2026-11-23 04:05:00+00:00"),
        (Decimal("1.50"), "1.50"),
    ],
)
def test_a_glimpse_of_a_value_is_short_and_shows_no_bytes(value: Any, shown: str) -> None:
    assert glimpse(value) == shown


def test_a_commit_whose_time_is_not_known_shows_no_speed() -> None:
    """A shell's commit, reported from the table's head, was 200,000 rows a second on its page."""
    report = LandingReport("local.orders", "orders", records=200, landings=1)

    shown = [landing_metadata(each) for each in (report, replace(report, seconds=4.0))]

    assert [each.get("rows_per_second") for each in shown] == [None, 50.0]
    assert [each.get("seconds") for each in shown] == [None, 4.0]
