"""What is said of bad records before any of them is looked at."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest

from frazil.errors import AuditFailedError, RepairError
from frazil.formats.batches.oversize import TOO_LARGE, bounded, why_too_large
from frazil.kafka.facts import TopicFacts
from frazil.landing.plan import Plan, make_plan
from frazil.landing.position.history import History
from frazil.landing.repairs.bad_records import MOST, BadRecord, find_bad, first_bad, setting_for, suspended
from frazil.landing.write import Written
from frazil.spec.names import TableName
from frazil.spec.topic import TableSpec

PLAN = Plan("trades", "id", {0: (0, 10 * MOST)}, capped=False)


RAW = {"raw_key": None, "raw_value": b"x", "key_ok": True, "value_ok": False, "headers": None}


def bad(partition: int, offset: int) -> BadRecord:
    return BadRecord(partition, offset, "truncated", "the payload ends early", {})


def test_so_many_bad_records_that_a_person_must_look_are_not_even_read() -> None:
    unread: Any = None

    with pytest.raises(RepairError, match="100001 of 1000000 records of topic trades can't be decoded"):
        find_bad(unread, unread, PLAN, Written("", 10 * MOST, MOST + 1, 0, 0, (), None))


def test_where_many_are_bad_for_good_landings_as_small_as_the_error_says_read_each_of_them() -> None:
    with pytest.raises(RepairError) as refused:
        find_bad(None, None, PLAN, Written("", 10 * MOST, MOST + 1, 0, 0, (), None))  # type: ignore[arg-type]
    (most,) = map(int, re.findall(r"max_records: (\d+)", refused.value.todo))
    history = History(
        TableName("lake", "trades"), TopicFacts("trades", "id", {0: 0}, {0: 10 * MOST}, {0: 0}), None
    )
    plan = make_plan(history, TableSpec(topic="trades", max_records=most).max_records)
    rows = ({"partition": 0, "offset": n, **RAW} for n in range(plan.offsets))
    written = Written("", most, most, 0, 0, (), None, bad_rows=tuple(rows))
    decoder: Any = SimpleNamespace(explain=lambda *_: ("malformed", "it is bad"))

    bad_records = find_bad(None, decoder, plan, written)  # type: ignore[arg-type]

    assert plan.capped
    assert [b.offset for b in bad_records] == list(range(most))


def test_bad_records_that_were_not_found_a_second_time_are_looked_for_again() -> None:
    decoder: Any = SimpleNamespace(explain=lambda *_: ("malformed", "it is bad"))
    unread: Any = None
    rows = tuple({"partition": 0, "offset": n, **RAW} for n in (3, 7))
    with pytest.raises(AuditFailedError, match="found 2 bad records of topic trades, the second 1") as raised:
        find_bad(unread, decoder, PLAN, Written("", 9, 2, 0, 0, (), None, bad_rows=rows[:1]))

    bad_records = find_bad(unread, decoder, PLAN, Written("", 9, 2, 0, 0, (), None, bad_rows=rows))

    assert raised.value.todo == "Try again: the topic may be compacted right now."
    assert [bad.offset for bad in bad_records] == [3, 7]


def test_a_suspension_names_the_first_record_of_each_partition_and_the_ways_out() -> None:
    first = first_bad([bad(0, 3), bad(0, 5), bad(2, 1)])

    error = suspended(TableName("lake", "trades"), "trades", first)

    assert error.where == (
        "topic trades, partition 0, offset 3: the payload ends early; "
        "partition 2, offset 1: the payload ends early"
    )
    assert "`frazil resume lake.trades --past 0:3 --past 2:1`" in error.todo
    assert error.exit_code == 3


def test_of_a_part_that_is_too_large_it_is_said_that_no_dead_letter_keeps_it() -> None:
    """Whoever set dead_letter, as the error said, had that part in the topic only, while that keeps it."""
    marked = bounded({}, {"value": 70_000_000}, 1)[TOO_LARGE]
    large = {0: BadRecord(0, 3, *why_too_large(str(marked)), {})}

    error = suspended(TableName("lake", "trades"), "trades", large)

    assert "raise FRAZIL_SPARK__MAX_RECORD_BYTES" in error.todo
    assert "dead_letter, which notes such records without the part that is too large" in error.todo


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("magic_byte", "Set framing: none if they are Avro, JSON or Protobuf without these five bytes"),
        ("key_too_short", "or key_format: string or bytes"),
        ("schema_id", "FRAZIL_REGISTRY__URL"),
        ("key_schema_id", "another subject, which key_subject says"),
        ("null_value", "on_null_value: skip, keep or delete"),
        ("truncated", "Register the schema that their values were written with, or set value_format"),
    ],
)
def test_where_all_records_fail_alike_it_says_what_to_set_and_offers_to_skip_none(
    code: str, expected: str
) -> None:
    alike = [BadRecord(0, n, code, "it is bad", {}) for n in range(3)]

    setting = setting_for(alike, read=3, landed=0)
    error = suspended(TableName("lake", "trades"), "trades", first_bad(alike), setting, 3)

    assert expected in error.todo
    assert "--past" not in error.todo
    assert "none of 3 records can be decoded, all for the same reason" in error.what


@pytest.mark.parametrize(
    ("codes", "read", "landed"),
    [
        (["magic_byte"], 1, 0),  # nobody knows what others are like
        (["magic_byte"] * 3, 4, 0),
        (["magic_byte", "truncated"], 2, 0),
        (["magic_byte"] * 3, 3, 10),  # records like these were landed: a producer may have slipped
    ],
)
def test_where_a_record_is_good_a_bad_one_may_be_left_out(codes: list[str], read: int, landed: int) -> None:
    some = [BadRecord(0, n, code, "it is bad", {}) for n, code in enumerate(codes)]

    assert setting_for(some, read, landed) == ""


@pytest.mark.parametrize("code", ["unreadable_schema", "key_unreadable_schema"])
def test_where_a_schema_is_to_blame_no_single_record_is_left_out(code: str) -> None:
    """200 records of version 1 met a table of version 2, and two of them were offered to be left out."""
    old = [BadRecord(0, n, code, "schema id 7 (version 1) can't be read", {}) for n in range(3)]

    error = suspended(TableName("lake", "trades"), "trades", first_bad(old), setting_for(old, 3, 0), 3)

    assert "the newest schema can't read records of an older one" in error.what
    assert "schema id 7 (version 1)" in error.where
    assert "--past" not in error.todo
    assert "on_bad_record to dead_letter" in error.todo


def test_many_that_fail_alike_behind_good_ones_are_no_accident() -> None:
    many = [BadRecord(0, n, "magic_byte", "it is bad", {}) for n in range(100)]

    assert "framing: none" in setting_for(many, read=100, landed=10)
