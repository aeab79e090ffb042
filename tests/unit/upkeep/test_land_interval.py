"""A table with a budget has its interval chosen once a day, as soon as an hour of landings tells of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from frazil.spec.topic import TableSpec
from frazil.upkeep.facts import Facts
from frazil.upkeep.kind import Finding, Known
from frazil.upkeep.kinds import KINDS
from frazil.upkeep.work import LastWork

NOW, DAY = 1_800_000_000.0, 86400.0
FACTS = Facts(head=1, commits=9, files=3, bytes=300, delete_files=0, last={})
KIND = KINDS["land_interval"]


def known(landed: float | None, seen: float = NOW, **spec: Any) -> Known:
    """A table of which somebody saw for how long it had landed."""
    budget = {"freshness": "auto", "budget": {"p95": "1m"}, **spec}
    findings = {} if landed is None else {KIND.name: Finding(seen, FACTS, landed)}
    return Known(TableSpec.model_validate({"topic": "t", **budget}), "n.t", FACTS, None, findings)


def chosen_at(table: Known, at: float) -> Known:
    return replace(table, facts=replace(FACTS, last={KIND.name: LastWork(at, "chosen", 1)}))


def test_an_hour_of_landings_is_enough_and_less_is_not() -> None:
    assert KIND.why_due(known(3599.0), NOW) is None
    reason = KIND.why_due(known(3600.0), NOW)

    assert reason
    assert reason.text == "the table has a budget: there was no choice yet."
    assert reason.numbers == {"seconds_of_landings": 3600.0}


def test_it_is_chosen_again_after_a_day_and_no_sooner() -> None:
    rested = chosen_at(known(7200.0, seen=NOW + DAY), NOW)

    assert KIND.why_due(rested, NOW + DAY - 1) is None
    assert not KIND.needs_look(rested, NOW + DAY - 1)
    assert KIND.why_due(rested, NOW + DAY)


def test_a_table_is_looked_into_every_ten_minutes_until_there_is_enough_to_go_by() -> None:
    assert KIND.needs_look(known(None), NOW)
    assert not KIND.needs_look(known(100.0), NOW + 599)
    assert KIND.needs_look(known(100.0), NOW + 600)


def test_a_table_without_a_budget_is_left_alone() -> None:
    table = known(7200.0, freshness="1m", budget=None)

    assert KIND.why_due(table, NOW) is None
    assert not KIND.needs_look(table, NOW)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ({"freshness": "auto"}, "needs a budget"),
        ({"freshness": "1m", "budget": {"p95": "1m"}}, "write freshness: auto"),
        ({"budget": {}}, "write p95, at_most, or both"),
        ({"budget": {"at_most": "20 dollars"}}, "such as 20 USD/month"),
        ({"budget": {"p95": "1m"}, "land_when": {"age": "5s"}}, "leave one of them out"),
        ({"budget": {"p95": "1m"}, "mode": "tableflow"}, "tables that Frazil lands"),
    ],
)
def test_a_budget_that_can_not_be_followed_is_refused(written: dict[str, Any], expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        TableSpec.model_validate({"topic": "t", **written})
