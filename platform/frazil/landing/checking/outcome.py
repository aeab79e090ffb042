"""What all tasks say of the spec's checks together, and the error where one of them stops the landing."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from frazil.errors import ChecksFailedError
from frazil.expressions.spark import aggregate_sql
from frazil.formats.checks.batch import ArrowChecks, Asked
from frazil.spec.checks import OwnCheck
from frazil.spec.names import TableName

Number = int | float | str

MOST_DISTINCT = 1_000_000
"""Records of one landing of a table that counts different values: each of these is handed on."""


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    """What one check says of one landing, or of several.

    Attributes:
        failing: Rows of which it is false; of a check by aggregates 1 where that is false.
        rows: Those that it was asked of.
        values: The aggregates, as SQL writes them.
        shown: The first rows that fail: where their records stand, and their keys.
    """

    name: str
    expect: str
    on_failure: str
    failing: int
    rows: int
    values: Mapping[str, Number] = field(default_factory=dict)
    shown: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """In one sentence, with the numbers."""
        if self.values:
            numbers = ", ".join(f"{name} is {value}" for name, value in self.values.items())
            return (
                f"{self.expect}: {'is false' if self.failing else 'holds'} for {self.rows:,} rows; {numbers}."
            )
        if not self.failing:
            return f"{self.expect}: holds for all {self.rows:,} rows."
        first = f"; the first: {'; '.join(self.shown)}" if self.shown else ""
        return f"{self.expect}: false for {self.failing:,} of {self.rows:,} rows{first}."


def outcomes_of(
    checks: ArrowChecks | None, reports: Sequence[str], *, whole: bool = True
) -> tuple[CheckOutcome, ...]:
    """What checks say of one landing.

    Args:
        reports: Of each task, see `CheckTally`.
        whole: Whether these are all records of a landing; else nothing is said of aggregates.
    """
    if checks is None:
        return ()
    tasks = [json.loads(report) for report in reports]
    rows = sum(task["rows"] for task in tasks)
    of_rows = [_of_rows(each, tasks, rows) for each in checks.of_rows]
    return (*of_rows, *(_of_landing(each, checks, tasks, rows) for each in checks.of_landings if whole))


def refuse_failing(outcomes: Sequence[CheckOutcome], name: TableName, topic: str, *, again: str = "") -> None:
    """Refuses rows of which a check that stops is false.

    Raises:
        ChecksFailedError: It names each such check, with its numbers.

    Args:
        again: What to do then, where it is not to resume the table.
    """
    if failing := stopping(outcomes):
        raise ChecksFailedError(
            f"Rows of {name} fail {', '.join(f'check {each.name}' for each in failing)}.",
            where=f"topic {topic}; " + " ".join(each.text for each in failing),
            meaning="Nothing of it is visible, the position is as it was, and the topic keeps the records.",
            todo="Look at these records; no producer fixes what the topic has. Then change what the check "
            "expects, or write on_failure: dead_letter or on_failure: warn (docs/checks.md). "
            + (again or f"`frazil resume {name}` lands what waits."),
            outcomes=outcomes,
        )


def stopping(outcomes: Sequence[CheckOutcome]) -> list[CheckOutcome]:
    """Those of checks that fail and let nothing be published."""
    return [each for each in outcomes if each.failing and each.on_failure == "stop"]


def place_text(place: Sequence[Any]) -> str:
    """A row for people: partition and offset of its record, if it is of one, and the values of its key."""
    *record, key = place
    if not record:
        return str(key)
    partition, offset = record
    return f"partition {partition}, offset {offset}{f' ({key})' if key else ''}"


def records_at_once(checks: Sequence[OwnCheck], most: int) -> int:
    """How many records one landing may have: fewer where different values are counted."""
    counts = any(a.name == "count_distinct" for each in checks for a in each.expression.aggregates)
    return min(most, MOST_DISTINCT) if counts else most


def failing_numbers(outcomes: Sequence[CheckOutcome]) -> dict[str, int]:
    """What a snapshot says of checks: how many rows fail each; those that all rows pass are not named."""
    return {each.name: each.failing for each in outcomes if each.failing}


def sum_of_outcomes(one: Sequence[CheckOutcome], two: Sequence[CheckOutcome]) -> tuple[CheckOutcome, ...]:
    """Those of two landings of one call; aggregates are of the first landing that fails them."""
    before = {each.name: each for each in one}
    return tuple(_sum(before.get(each.name), each) for each in two) or tuple(one)


def _sum(one: CheckOutcome | None, two: CheckOutcome) -> CheckOutcome:
    if one is None:
        return two
    if two.values:
        return one if one.failing else two
    shown = (one.shown + two.shown)[: _shown()]
    return replace(two, failing=one.failing + two.failing, rows=one.rows + two.rows, shown=shown)


def _of_rows(asked: Asked, tasks: Sequence[Mapping[str, Any]], rows: int) -> CheckOutcome:
    failing = sum(each["failing"].get(asked.name, 0) for each in tasks)
    places = sorted(place for each in tasks for place in each["shown"].get(asked.name, ()))
    shown = tuple(filter(None, map(place_text, places[: _shown()])))
    return CheckOutcome(asked.name, asked.expression.text, asked.on_failure, failing, rows, shown=shown)


def _of_landing(
    asked: Asked, checks: ArrowChecks, tasks: Sequence[dict[str, Any]], rows: int
) -> CheckOutcome:
    from frazil.exact import shown, value_of
    from frazil.expressions.aggregates import combined, finished
    from frazil.expressions.arrow import Rows
    from frazil.landing.checking.tally import parts_of

    parts = [part for each in tasks for part in parts_of(each, asked.name)]
    failing, values = 0, {}
    if parts:
        known = finished(asked.expression.aggregates, combined(parts))
        failing = int(value_of(Rows(known, 1, checks.now).flags(asked.expression.root)[0]) is False)
        values = dict(zip(_names(asked), (_number(shown(a)[0]) for a in known.values()), strict=True))
    return CheckOutcome(asked.name, asked.expression.text, asked.on_failure, failing, rows, values)


def _names(asked: Asked) -> Iterator[str]:
    return (aggregate_sql(each).replace("`", "") for each in asked.expression.aggregates)


def _number(value: Any) -> Number:
    """A value for people, scripts and Dagster."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def _shown() -> int:
    from frazil.landing.checking.tally import SHOWN

    return SHOWN
