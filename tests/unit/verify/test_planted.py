"""A fault that is planted into a table on disk is found and named; in a table without one nothing is.

`FRAZIL_TEST_PLANTED` says how many faults; `FRAZIL_TEST_SEED` draws others.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from dataclasses import replace
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyiceberg.table import StaticTable

from frazil_verify.findings import SAMPLES, Report
from frazil_verify.log.registry import Schemas
from frazil_verify.request import Request
from frazil_verify.verification import Verification
from kit.planted.columns import Values
from kit.planted.kinds import KINDS, guarded, planted, shape
from kit.planted.tables import Case, Given, asked, case_of
from kit.planted.topics import Place, Shape

SEED = os.environ.get("FRAZIL_TEST_SEED", "0")
FAULTS = int(os.environ.get("FRAZIL_TEST_PLANTED", len(KINDS)))
CLEAN = max(6, FAULTS // 20)


def verified(case: Case, folder: Path) -> Report:
    request = Request.model_validate(asked(case, folder))
    schemas = Schemas(case.topic.schemas.get)
    return Verification(request, folder / "entries", Given(case.topic), schemas).report()


def named(report: Report) -> Counter[tuple[Any, ...]]:
    return Counter((f.kind, f.partition, f.offset, f.columns) for f in report.samples)


@pytest.mark.parametrize("kind", KINDS)
def test_a_planted_fault_is_found_and_named_and_nothing_else_is(kind: str, tmp_path: Path) -> None:
    for number in range(-(-FAULTS // len(KINDS))):
        chance = Random(f"{kind}-{SEED}-{number}")
        made = planted(kind, chance)

        report = verified(made.case, tmp_path / str(number))

        must, where = Counter(made.must), f"{kind}, number {number}: {made.case.shape}"
        assert report.counts == Counter(each[0] for each in made.must), where
        assert named(report) <= must, where
        assert len(made.must) > SAMPLES or named(report) == must, where


@pytest.mark.parametrize("number", range(CLEAN))
def test_a_table_that_holds_its_topic_has_no_finding(number: int, tmp_path: Path) -> None:
    chance = Random(f"clean-{SEED}-{number}")
    case = case_of(guarded(shape(chance), chance), chance)

    report = verified(case, tmp_path)

    assert report.is_sound, report.samples
    assert report.not_compared == {}
    assert report.records == len(case.topic.landed)
    assert report.rows == len(case.last)


def truncated(case: Case, *, gone: bool) -> tuple[Place, list[Values], list[Values]]:
    """Makes a truncate of a change: the older rows of its partition, and those of others that may be gone."""
    partition, offset = chosen = next(
        each.place for each in reversed(case.topic.landed) if each.kind == "good"
    )
    odd = next(each for each in case.topic.landed if each.place == chosen)
    value = re.sub(rb'"op": ?"[cru]"', b'"op": "t"', odd.value or b"")
    case.topic.records[case.topic.records.index(odd)] = replace(odd, value=value, kind="bad")
    case.rows[:] = case.topic.rows()
    older = [row for row in case.rows if row["$$partition"] == partition and row["$$offset"] < offset]
    early = [row for row in case.rows if row["$$timestamp"] < odd.time[1] * 1000]
    if gone:
        case.rows[:] = [row for row in case.rows if row not in older]
    return chosen, older, [row for row in early if row["$$partition"] != partition]


@pytest.mark.parametrize("number", range(5))
def test_a_truncate_ends_the_older_rows_of_its_partition(tmp_path: Path, number: int) -> None:
    case = case_of(Shape("json", "cdc", evolved=False, compacted=False, letters=False), Random(number))
    _, older, unsure = truncated(case, gone=True)

    report = verified(case, tmp_path / "gone")

    assert older
    assert report.is_sound, report.samples
    assert report.unverifiable_rows == len(unsure)
    case.rows.extend(older)
    assert verified(case, tmp_path / "there").counts == {"undeleted": len(older)}


def soft_case(form: str, number: int) -> tuple[Case, dict[str, Any]]:
    """A table whose deleted rows stay, and one of these."""
    for chance in map(Random, count(number)):
        case = case_of(Shape(form, "cdc", evolved=True, compacted=False, letters=True, soft=True), chance)  # type: ignore[arg-type]
        if marked := [row for row in case.rows if row["$$deleted"]]:
            return case, marked[0]
    raise AssertionError


@pytest.mark.parametrize("form", ["avro", "json"])
@pytest.mark.parametrize(
    ("column", "value", "kind", "named"),
    [
        ("$$offset", lambda at: at, "", ()),
        ("name", lambda text: f"{text} ", "altered", ()),
        ("$$deleted", lambda _: False, "altered", ("$$deleted",)),
        ("$$deleted-at", lambda at: at + 1, "altered", ("$$deleted-at",)),
        ("$$op", lambda _: "u", "altered", ("$$op",)),
        ("key", lambda _: None, "missing", ()),
    ],
)
def test_a_deleted_row_that_stays_is_judged_by_its_last_values_and_by_its_marks(
    tmp_path: Path, form: str, column: str, value: Any, kind: str, named: tuple[str, ...]
) -> None:
    case, row = soft_case(form, int(SEED))
    case.rows.remove(row)
    if kind != "missing":
        case.rows.append(row | {column: value(row[column])})

    report = verified(case, tmp_path)

    assert [(each.kind, each.columns) for each in report.samples] == ([(kind, named)] if kind else [])


def test_the_tables_are_those_that_a_library_reads(tmp_path: Path) -> None:
    case = case_of(Shape("avro", "append", evolved=True, compacted=False, letters=True), Random(SEED))

    read = StaticTable.from_metadata(asked(case, tmp_path)["metadata"]).scan().to_arrow()

    names = ("$$partition", "$$offset", "name", "extra")
    rows = zip(*(read[name].to_pylist() for name in names), strict=True)
    assert sorted(rows) == sorted(tuple(row[name] for name in names) for row in case.rows)
