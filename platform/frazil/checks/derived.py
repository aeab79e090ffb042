"""Tables made of others: do they hold what derivations wrote, and what their queries make of the inputs?"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from frazil.checks.result import Number, Subject, Verdict
from frazil.checks.table import rows_in_files
from frazil.connections import Connections
from frazil.derive.computation import Computation, computation_of
from frazil.derive.dead_letters import good_rows
from frazil.derive.kinds import kind_of
from frazil.derive.output import cast, types_in, types_of
from frazil.derive.plan import load_inputs
from frazil.derive.positions.inputs import Increment, at_head, is_unmoved, whole
from frazil.derive.positions.ledger import DerivedLedger, Position
from frazil.derive.positions.rows import rows_of
from frazil.derive.positions.state import derived_states
from frazil.derive.queries.columns import typed
from frazil.derive.queries.query import ERROR_COLUMN
from frazil.derive.queries.syntax import function_name, is_sketch
from frazil.derive.queries.types import UNKNOWN, wider
from frazil.landing.position.ledger import Ledger, read_ledger
from frazil.landing.upsert.key import key_columns
from frazil.quoting import comparable, quoted
from frazil.spec.derived import DerivedSpec
from frazil.spec.names import things

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyiceberg.table import Table
    from pyspark.sql import DataFrame


_MENDS = {
    "new": "`frazil derive {}` reads them",
    "behind": "`frazil derive {}` reads them",
    "input missing": "land or derive that one first",
    "rebuild needed": "`frazil derive {} --rebuild` makes all rows anew",
}
"""What to do, by the state of the table."""

_SIDE = "$frazil_side"
_DIGITS = "%.9g"  # sums of floating-point numbers differ by their order, in digits far behind these


def count_derived(subject: Subject[DerivedSpec]) -> Verdict:
    """Rows in the files of the head = rows that the derivations noted, less those that they replaced."""
    table = subject.handle.load()
    ledger, rows = DerivedLedger.newest(table.metadata), rows_in_files(subject, table)
    if ledger is None:
        text = f"{rows} rows that no derivation wrote." if rows else "Nothing was derived yet: no row."
        return Verdict(not rows, text, {"rows": rows, "derived": 0})
    agree = rows == ledger.total_rows
    text = (
        f"{rows} rows {'=' if agree else '!='} {ledger.total_rows} derived, less those replaced; "
        f"{ledger.total_bad} more were bad, {ledger.total_late} came late"
        f"{'.' if agree else f': `frazil derive {subject.things.table} --rebuild` recomputes them.'}"
    )
    numbers: dict[str, Number] = {
        "rows": rows,
        "derived": ledger.total_rows,
        "bad": ledger.total_bad,
        "late": ledger.total_late,
    }
    return Verdict(agree, text, numbers)


def compare_columns(subject: Subject[DerivedSpec]) -> Verdict:
    """The query's columns, over its inputs as they are now, against the table's."""
    handle, computation = subject.handle, computation_of(subject.spec)
    table = handle.load()
    names, inputs = load_inputs(handle.catalog, computation, handle.name.namespace)
    if computation.query is None:
        why = f"{subject.spec.python} alone knows which columns it makes"
        return Verdict.skip(why, {"table_columns": len(types_of(table))})
    known = {each: list(types_of(inputs[str(names[each])]).items()) for each in computation.inputs}
    wanted = dict(typed(computation.query, known, subject.spec.parameters))
    wanted.pop(ERROR_COLUMN, None)
    changes = list(_changes(wanted, table))
    text = (
        f"{len(types_of(table))} columns against {len(wanted)} of the query: "
        f"{'; '.join(changes) or 'names and types agree'}."
    )
    numbers: dict[str, Number] = {
        "table_columns": len(types_of(table)),
        "query_columns": len(wanted),
        "differences": len(changes),
    }
    return Verdict(not changes, text, numbers)


def _changes(wanted: Mapping[str, str], table: Table) -> Iterator[str]:
    """Where the query differs from the table. A column of an earlier query stays, null from then on."""
    have = types_of(table)
    for name, kind in wanted.items():
        if name not in have:
            yield f"{name} is missing"
        elif kind != UNKNOWN and wider(kind, have[name]) not in (have[name], UNKNOWN):
            yield f"{name} is {have[name]} and should be {kind}"


def judge_inputs(subject: Subject[DerivedSpec]) -> Verdict:
    """No row waits in an input longer than the spec allows, and every input can still be followed."""
    state = derived_states([subject.spec], subject.connections)[0]
    limit, age = subject.spec.freshness, state.freshness
    allowed = limit is not None and age is not None and age <= limit.total_seconds()
    passed = state.state == "current" or (state.state == "behind" and allowed)
    waits = [f"rows waiting in {i.table}: {i.waiting}" for i in state.inputs if i.waiting]
    since = f", for {age:.0f} s" if age else ""
    text = f"{state.reason.rstrip('.') or '; '.join(waits) or 'All inputs are read'}{since}"
    mends = "" if passed else f": {_MENDS[state.state].format(state.identifier)}"
    numbers: dict[str, Number] = {
        "waiting": state.lag,
        "inputs": len(state.inputs),
        **({} if age is None else {"seconds": age}),
    }
    return Verdict(passed, f"{text}{mends}.", numbers, severity="WARN")


def compare_query(subject: Subject[DerivedSpec]) -> Verdict:
    """All rows against the query's over the whole inputs, as of the snapshots that were read."""
    table = subject.handle.load()
    ledger = DerivedLedger.newest(table.metadata)
    if ledger is None:
        return Verdict.skip("nothing was derived yet")
    anew = Recomputation(subject.spec, subject.connections, ledger)
    inputs = ", ".join(sorted(ledger.inputs))
    if hindrance := anew.hindrance:
        return Verdict.skip(f"the rows can't be made anew of {inputs}: {hindrance}")
    with anew.rows() as rows:
        present = rows_of(subject.connections.spark, table, whole(table))
        missing, extra = _differences(present, rows, table)
    agree = missing == extra == 0
    name = subject.things.table
    text = (
        f"{ledger.total_rows} rows against the query over {inputs}, as read last: {missing} are missing, "
        f"{extra} are too many{'.' if agree else f': `frazil derive {name} --rebuild` recomputes them.'}"
    )
    numbers: dict[str, Number] = {"missing": missing, "extra": extra, "compared": 1}
    return Verdict(agree, text, numbers)


def _differences(present: DataFrame, made: DataFrame, table: Table) -> tuple[int, int]:
    """How many rows of `made` are missing in `present`, and how many rows it has too many."""
    from pyspark.sql import functions as F

    types = {name: kind for name, kind in types_of(table).items() if name in made.columns}
    have, want = (_comparable(cast(rows, types)) for rows in (present, made))
    both = have.withColumn(_SIDE, F.lit(-1)).unionByName(want.withColumn(_SIDE, F.lit(1)))
    per_row = both.groupBy(*map(quoted, types)).agg(F.sum(quoted(_SIDE)).alias(_SIDE))
    more = F.col(quoted(_SIDE))
    counted = per_row.agg(F.sum(F.greatest(more, F.lit(0))), F.sum(F.greatest(-more, F.lit(0)))).collect()
    missing, extra = counted[0]
    return int(missing or 0), int(extra or 0)


def _comparable(rows: DataFrame) -> DataFrame:
    """Maps, which Spark does not group by, as JSON; floating-point numbers as text."""
    return rows.selectExpr(
        *(f"{_comparable_sql(name, kind)} AS {quoted(name)}" for name, kind in types_in(rows).items())
    )


def _comparable_sql(name: str, kind: str) -> str:
    inexact = kind in ("float", "double")
    return f"format_string('{_DIGITS}', {quoted(name)})" if inexact else comparable(quoted(name), kind)


class Recomputation:
    """The rows that a table's ledger speaks of; raises MissingError where an input is gone."""

    def __init__(self, spec: DerivedSpec, connections: Connections, ledger: DerivedLedger) -> None:
        self._spec, self._connections, self._ledger = spec, connections, ledger
        self._computation: Computation = computation_of(spec)
        namespace = things(spec, connections.settings).table.namespace
        self._names, self._inputs = load_inputs(connections.catalog, self._computation, namespace)

    @property
    def hindrance(self) -> str:
        """Why the rows can't be made anew; empty where they can."""
        late_left_out = self._ledger.left_out or not self._spec.adds_late_rows
        if self._ledger.query != self._computation.fingerprint:
            return "the query is another by now"
        if self._ledger.mixed:
            return "rows of an earlier query stand beside those of this one (`frazil derive --from-here`)"
        if self._computation.uses_now and self._spec.kind != "full":
            return "the query asks for :now, which was another time at each derivation"
        if sketches := _sketches(self._computation):
            return f"{sketches} gives other estimates where rows come in another order"
        if self._ledger.total_late and late_left_out:
            return f"{self._ledger.total_late} rows came late and were left out"
        if self._ledger.total_bad and self._spec.window:
            return f"{self._ledger.total_bad} rows lay ahead of the clock and are kept apart"
        return next(filter(None, map(self._lost, self._inputs)), "")

    @contextmanager
    def rows(self) -> Iterator[DataFrame]:
        """All rows of the table, lazily."""
        spark = self._connections.spark
        frames = {
            word: rows_of(spark, self._inputs[str(name)], Increment(None, self._position(str(name))))
            for word, name in self._names.items()
        }
        with self._computation.rows_over(spark, frames, self._ledger.now or 0.0) as made:
            yield kind_of(self._spec.kind).shape(self._spec, good_rows(made))

    def _lost(self, name: str) -> str:
        table, position = self._inputs[name], self._ledger.inputs.get(name)
        landed = read_ledger(table.metadata)
        if position is None:
            return f"{name} was never read"
        if landed and self._spec.kind != "full" and _taken(landed, table):
            return f"rows of {name} have expired, or were forgotten, that were read before"
        if str(table.metadata.table_uuid) != position.uuid:
            return f"{name} is another table by now"
        if not _kept(table, position) and not is_unmoved(table, position):
            return f"the snapshot of {name} that was read has expired"
        return ""

    def _position(self, name: str) -> Position:
        table, position = self._inputs[name], self._ledger.inputs[name]
        return position if _kept(table, position) else at_head(table)


def _taken(landed: Ledger, table: Table) -> int:
    """Rows that went and are still in what was made of them: of a table with a key expired ones are not."""
    return landed.total_forgotten if key_columns(table) else landed.total_taken


def _sketches(computation: Computation) -> str:
    parts = computation.query.tree.walk() if computation.query else ()
    return ", ".join(dict.fromkeys(function_name(part) for part in parts if is_sketch(part)))


def _kept(table: Table, position: Position) -> bool:
    return table.metadata.snapshot_by_id(position.snapshot) is not None
