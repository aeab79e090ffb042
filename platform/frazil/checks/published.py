"""Do the targets show the table as it is, and is it as fresh as its owner wants?"""

from __future__ import annotations

from frazil.checks.result import Number, Subject, Verdict
from frazil.landing.state import table_states
from frazil.publishing.target import Target
from frazil.spec.table import AnyTable
from frazil.spec.topic import TableSpec
from frazil.tables.catalog import load_table
from frazil.tables.snapshots import summary_of

__all__ = ["compare_shown", "judge_freshness"]


def compare_shown(target: Target, subject: Subject[AnyTable]) -> Verdict:
    """What a target shows is the table's current metadata, and all of its rows where it counts them."""
    table = load_table(subject.connections.catalog, subject.things.table)
    summary = summary_of(table.current_snapshot())
    rows = int(summary.get("total-records", 0)) - int(summary.get("total-position-deletes", 0))
    shown, word = target.read(subject.connections), target.word
    todo = f"`frazil sync {subject.things.table}`"
    if shown is None:
        missing = f"{word.capitalize()} has no {target.relations[0]}: {todo} makes it."
        return Verdict(False, missing, {"iceberg_metadata": table.metadata_location, f"{word}_metadata": ""})
    agree = shown.metadata_location == table.metadata_location and shown.rows in (None, rows)
    counted = "" if shown.rows is None else f"{shown.rows} rows of "
    text = (
        f"{word.capitalize()} shows {counted}{shown.name} as of {_file(shown.metadata_location)}; "
        f"Iceberg holds {rows} rows in {_file(table.metadata_location)}"
        f"{'.' if agree else f': {todo} mends it.'}"
    )
    numbers: dict[str, Number] = {
        f"{word}_metadata": shown.metadata_location,
        "iceberg_metadata": table.metadata_location,
        "iceberg_rows": rows,
        **({} if shown.rows is None else {f"{word}_rows": shown.rows}),
    }
    return Verdict(agree, text, numbers)


def judge_freshness(subject: Subject[TableSpec]) -> Verdict:
    """Records wait no longer than the spec allows."""
    state = table_states([subject.spec], subject.connections)[0]
    if state.state == "topic missing":
        gone = f"Topic {state.topic} does not exist: nobody can tell whether its table is current."
        return Verdict(False, gone, {"lag": -1, "seconds": -1.0}, severity="WARN")
    limit = subject.spec.freshness
    late = "never landed" if state.freshness is None else f"last landing {state.freshness:.0f} s ago"
    age = float("inf") if state.freshness is None and state.lag else state.freshness or 0.0
    passed = limit is None or age <= limit.total_seconds()
    allowed = "no limit set" if limit is None else f"{limit.total_seconds():.0f} s allowed"
    text = f"{state.lag} records wait, {late if state.lag else 'so the table is current'}; {allowed}."
    numbers = {"lag": state.lag, "seconds": -1.0 if age == float("inf") else age}
    return Verdict(passed, text, numbers, severity="WARN")


def _file(location: str) -> str:
    return location.rsplit("/", 1)[-1]
