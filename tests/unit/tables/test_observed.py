"""What may be observed as rows go by: aggregates of columns, and nothing that keeps an argument."""

from __future__ import annotations

from typing import Any, cast

import pytest

from frazil.landing.upsert.truncates.observed import TRUNCATE_TEXTS
from frazil.landing.write import counters
from frazil.spec.topic import TableSpec
from frazil.tables.spark.faults import Job
from frazil.tables.spark.session import Watched, not_plain

JOB = Job("landing", "topic t", "", "")


@pytest.mark.parametrize(
    ("sql", "odd"),
    [
        ("collect_list(CASE WHEN `$d` THEN to_json(`$headers`) END)", {"to_json"}),
        ("count_if(lower(name) = 'ann')", {"lower"}),
        ("max(named_struct('a', `x`))", {"named_struct"}),
        ("count_if(`to_json(x)` = 'lower(' AND (`a` OR NOT (`b`)))", set()),
        ("count(`$$error`)", set()),
    ],
)
def test_an_expression_that_may_keep_a_row_is_found(sql: str, odd: set[str]) -> None:
    assert not_plain({"one": sql}) == odd


def test_it_is_refused_before_anything_runs() -> None:
    with pytest.raises(AssertionError, match="make a column of it before it is observed: to_json"):
        Watched(cast("Any", None), {"ends": "collect_list(to_json(`m`))"}, JOB)


def test_what_landings_count_is_plain() -> None:
    measures = counters(range(130), TableSpec(topic="t")) | {"truncates": TRUNCATE_TEXTS}
    assert not_plain(measures) == set()
