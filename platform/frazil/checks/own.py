"""Checks of the user's own: what a landing found of its rows, and what Spark finds of all rows of a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from frazil.checks.result import Check, CheckResult, Number, Severity, Subject, Verdict
from frazil.derive.checking import row_names
from frazil.derive.queries.query import read_query
from frazil.expressions.spark import aggregate_sql, spark_sql
from frazil.expressions.tree import Expression
from frazil.formats.checks.binding import bound_checks
from frazil.formats.columns.columns import living, names_by_word
from frazil.formats.types import from_iceberg
from frazil.landing.checking.outcome import CheckOutcome, place_text
from frazil.landing.upsert.key import key_columns
from frazil.quoting import quoted
from frazil.settings.profile import Settings
from frazil.spec.checks import OnFailure, OwnCheck
from frazil.spec.derived import DerivedSpec
from frazil.spec.names import Things, things
from frazil.spec.table import AnyTable
from frazil.spec.topic import TableSpec
from frazil.tables.spark.session import spark_name

if TYPE_CHECKING:
    from pyiceberg.table import Table

OWN = "check_{}"
"""What a check is called beside those that every table has."""

_SHOWN = 5


def own_checks(spec: AnyTable, names: Things) -> Iterator[Check]:
    """Those of a spec; each landing or derivation asks them by itself, of the rows that it brings."""
    for own in spec.checks:
        yield Check(
            OWN.format(own.name),
            names.iceberg_path,
            False,
            f"{own.expect} (on failure: {own.on_failure}); "
            f"asked of each {_asks(spec)}, and here of all rows.",
            _Look(own),
            deep=True,
        )


def results_of(spec: AnyTable, settings: Settings, outcomes: Iterable[CheckOutcome]) -> Iterator[CheckResult]:
    """What a landing or a derivation says of them."""
    names = things(spec, settings)
    for each in outcomes:
        numbers: dict[str, Number] = {"failing": each.failing, "rows": each.rows, **each.values}
        if each.shown:
            numbers["first_failing"] = "; ".join(each.shown)
        yield CheckResult(
            OWN.format(each.name), str(names.table), "failed" if each.failing else "passed",
            severity_of(each.on_failure), f"Of one {_asks(spec)}: {each.text}", numbers, names.iceberg_path,
        )  # fmt: skip


def _asks(spec: AnyTable) -> str:
    """What asks the checks of a table."""
    return "derivation" if isinstance(spec, DerivedSpec) else "landing"


def severity_of(on_failure: OnFailure | str) -> Severity:
    """How grave it is that rows fail: a landing that stops needs somebody."""
    return "ERROR" if on_failure == "stop" else "WARN"


class _Look:
    """Asks one check of all rows of a table that are there now."""

    def __init__(self, own: OwnCheck) -> None:
        self._own = own

    def __call__(self, subject: Subject[AnyTable]) -> Verdict:
        table = subject.handle.load()
        fields = from_iceberg(table.schema()).fields
        ((_, expression),) = bound_checks([self._own], fields, str(subject.things.table))
        deleted, condition = living(subject.spec)
        rows = f"{spark_name(subject.things.table)}" + (
            f" WHERE {condition.format(quoted(deleted))}" if deleted else ""
        )
        if expression.aggregates:
            return self._of_all(subject, expression, rows)
        return self._of_each(subject, expression, rows, table)

    def _of_all(self, subject: Subject[AnyTable], expression: Expression, rows: str) -> Verdict:
        sql = [aggregate_sql(each) for each in expression.aggregates]
        texts = ", ".join(f"CAST({each} AS string)" for each in sql)
        asked = f"SELECT {spark_sql(expression)}, count(1), {texts} FROM {rows}"
        ((holds, count, *values),) = subject.connections.spark.sql(asked).collect()
        numbers = dict(zip((a.replace("`", "") for a in sql), map(str, values), strict=True))
        return self._verdict(int(holds is False), count, numbers, ())

    def _of_each(
        self, subject: Subject[AnyTable], expression: Expression, rows: str, table: Table
    ) -> Verdict:
        spark, fails = subject.connections.spark, f"NOT {spark_sql(expression)}"
        ((failing, count),) = spark.sql(f"SELECT count_if({fails}), count(1) FROM {rows}").collect()
        shown: list[str] = []
        if failing:
            place, key = _known_by(subject.spec, table)
            columns = [f"CAST({quoted(name)} AS string)" for name in (*place, *key)]
            order = f"ORDER BY {', '.join(map(str, range(1, len(columns) + 1)))}" if columns else ""
            asked = f"FROM (SELECT * FROM {rows}) WHERE {fails} {order} LIMIT {_SHOWN}"
            failing_rows = spark.sql(f"SELECT {', '.join(columns)} {asked}").collect() if columns else []
            keys = (zip(key, row[len(place) :], strict=True) for row in failing_rows)
            texts = (", ".join(f"{name} = {value}" for name, value in pairs) for pairs in keys)
            shown = [
                place_text([*row[: len(place)], text]) for row, text in zip(failing_rows, texts, strict=True)
            ]
        return self._verdict(failing, count, {}, tuple(shown))

    def _verdict(self, failing: int, rows: int, values: dict[str, str], shown: tuple[str, ...]) -> Verdict:
        own = self._own
        outcome = CheckOutcome(own.name, own.expect, own.on_failure, failing, rows, values, shown)
        numbers: dict[str, Number] = {"failing": failing, "rows": rows, **values}
        if shown:
            numbers["first_failing"] = "; ".join(shown)
        text = f"Of the whole table: {outcome.text}"
        return Verdict(not failing, text, numbers, severity_of(own.on_failure))


def _known_by(spec: AnyTable, table: Table) -> tuple[list[str], list[str]]:
    """The columns with the place of a row's record, where it is of one, and those of its key."""
    if isinstance(spec, TableSpec):
        names = names_by_word(spec)
        return [names["partition"], names["offset"]], list(key_columns(table))
    assert isinstance(spec, DerivedSpec)
    query = read_query(spec) if spec.sql else None
    return [], list(row_names(spec, query, [field.name for field in table.schema().fields]))
