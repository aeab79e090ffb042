"""Checks of the user's own: what a landing found of its rows, and what Spark finds of all rows of a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from frazil.checks.result import Check, CheckResult, Number, Severity, Subject, Verdict
from frazil.expressions.spark import aggregate_sql, spark_sql
from frazil.expressions.tree import Expression
from frazil.formats.checks.binding import bound_checks
from frazil.formats.columns.columns import living, names_by_word
from frazil.formats.types import from_iceberg
from frazil.landing.checking.outcome import CheckOutcome
from frazil.landing.upsert.key import key_columns
from frazil.quoting import quoted
from frazil.settings.profile import Settings
from frazil.spec.checks import OnFailure, OwnCheck
from frazil.spec.names import Things, things
from frazil.spec.topic import TableSpec
from frazil.tables.spark.session import spark_name

OWN = "check_{}"
"""What a check is called beside those that every table has."""

_SHOWN = 5


def own_checks(spec: TableSpec, names: Things) -> Iterator[Check]:
    """Those of a spec; each landing evaluates them by itself, of the rows that it brings."""
    for own in spec.checks:
        yield Check(
            OWN.format(own.name),
            names.iceberg_path,
            False,
            f"{own.expect} (on failure: {own.on_failure}); asked of each landing, and here of all rows.",
            _Look(own),
            deep=True,
        )


def results_of(
    spec: TableSpec, settings: Settings, outcomes: Iterable[CheckOutcome]
) -> Iterator[CheckResult]:
    """What a landing says of them."""
    names = things(spec, settings)
    for each in outcomes:
        numbers: dict[str, Number] = {"failing": each.failing, "rows": each.rows, **each.values}
        if each.shown:
            numbers["first_failing"] = "; ".join(each.shown)
        yield CheckResult(
            OWN.format(each.name), str(names.table), "failed" if each.failing else "passed",
            severity_of(each.on_failure), f"Of one landing: {each.text}", numbers, names.iceberg_path,
        )  # fmt: skip


def severity_of(on_failure: OnFailure | str) -> Severity:
    """How grave it is that rows fail: a landing that stops needs somebody."""
    return "ERROR" if on_failure == "stop" else "WARN"


class _Look:
    """Asks one check of all rows of a table that are there now."""

    def __init__(self, own: OwnCheck) -> None:
        self._own = own

    def __call__(self, subject: Subject[TableSpec]) -> Verdict:
        table = subject.handle.load()
        fields = from_iceberg(table.schema()).fields
        ((_, expression),) = bound_checks([self._own], fields, subject.spec.topic)
        deleted, condition = living(subject.spec)
        rows = f"{spark_name(subject.things.table)}" + (
            f" WHERE {condition.format(quoted(deleted))}" if deleted else ""
        )
        if expression.aggregates:
            return self._of_all(subject, expression, rows)
        return self._of_each(subject, expression, rows, key_columns(table))

    def _of_all(self, subject: Subject[TableSpec], expression: Expression, rows: str) -> Verdict:
        sql = [aggregate_sql(each) for each in expression.aggregates]
        texts = ", ".join(f"CAST({each} AS string)" for each in sql)
        asked = f"SELECT {spark_sql(expression)}, count(1), {texts} FROM {rows}"
        ((holds, count, *values),) = subject.connections.spark.sql(asked).collect()
        numbers = dict(zip((a.replace("`", "") for a in sql), map(str, values), strict=True))
        return self._verdict(int(holds is False), count, numbers, ())

    def _of_each(
        self, subject: Subject[TableSpec], expression: Expression, rows: str, key: Iterable[str]
    ) -> Verdict:
        spark, fails = subject.connections.spark, f"NOT {spark_sql(expression)}"
        ((failing, count),) = spark.sql(f"SELECT count_if({fails}), count(1) FROM {rows}").collect()
        shown: list[str] = []
        if failing:
            names = names_by_word(subject.spec)
            where = [*(names[word] for word in ("partition", "offset")), *key]
            columns = ", ".join(f"CAST({quoted(name)} AS string)" for name in where)
            asked = f"SELECT {columns} FROM (SELECT * FROM {rows}) WHERE {fails} ORDER BY 1, 2 LIMIT {_SHOWN}"
            shown = [_place(where[2:], *row) for row in spark.sql(asked).collect()]
        return self._verdict(failing, count, {}, tuple(shown))

    def _verdict(self, failing: int, rows: int, values: dict[str, str], shown: tuple[str, ...]) -> Verdict:
        own = self._own
        outcome = CheckOutcome(own.name, own.expect, own.on_failure, failing, rows, values, shown)
        numbers: dict[str, Number] = {"failing": failing, "rows": rows, **values}
        if shown:
            numbers["first_failing"] = "; ".join(shown)
        text = f"Of the whole table: {outcome.text}"
        return Verdict(not failing, text, numbers, severity_of(own.on_failure))


def _place(names: list[str], partition: str, offset: str, *key: Any) -> str:
    values = ", ".join(f"{name} = {value}" for name, value in zip(names, key, strict=True))
    return f"partition {partition}, offset {offset}{f' ({values})' if values else ''}"
