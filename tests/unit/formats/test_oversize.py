"""Parts of records that are too large: what stands in their place."""

from __future__ import annotations

from frazil.formats.batches.oversize import TOO_LARGE, bounded, still_too_large, why_too_large

RECORD = {"raw_key": b"k", "raw_value": b"v" * 11, "headers": [], "offset": 7}
SIZES = {"key": 1, "value": 11, "headers": 0}


def test_a_record_within_the_bound_is_as_it_was() -> None:
    assert bounded(RECORD, SIZES, 11) == {**RECORD, TOO_LARGE: None}


def test_a_part_beyond_it_is_left_out_and_the_reason_tells_its_size() -> None:
    row = bounded(RECORD, SIZES, 10)

    assert row["raw_value"] is None
    assert row["raw_key"] == b"k"
    assert why_too_large(str(row[TOO_LARGE])) == (
        "too_large", "the value has 11 bytes, more than FRAZIL_SPARK__MAX_RECORD_BYTES allows",
    )  # fmt: skip


def test_a_dead_letter_stays_too_large_until_it_has_the_part() -> None:
    row = bounded(RECORD, {**SIZES, "headers": 99}, 11)
    code, words = why_too_large(str(row[TOO_LARGE]))

    assert still_too_large(code, words, row) == row[TOO_LARGE]
    assert still_too_large(code, words, RECORD) is None
    assert still_too_large("schema_id", words, row) is None
