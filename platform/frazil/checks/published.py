"""Do Glue and Snowflake show the table as it is, and is it as fresh as its owner wants?"""

from __future__ import annotations

from frazil.checks.result import Number, Subject, Verdict
from frazil.landing.state import table_states
from frazil.publishing.glue import read_glue
from frazil.publishing.snowflake.tables import read_table
from frazil.spec.table import AnyTable
from frazil.spec.topic import TableSpec
from frazil.tables.catalog import load_table
from frazil.tables.snapshots import summary_of

__all__ = ["compare_glue", "compare_snowflake", "judge_freshness"]


def compare_glue(subject: Subject[AnyTable]) -> Verdict:
    """Glue's `metadata_location` is the catalog's current one."""
    current = load_table(subject.connections.catalog, subject.things.table).metadata_location
    entry = read_glue(subject.connections.glue, subject.things)
    where = f"{subject.things.glue_database}.{subject.things.table.table}"
    if entry is None:
        return Verdict(False, f"Glue has no entry {where}.", {"current": current, "glue": ""})
    agree = entry.metadata_location == current
    text = (
        f"Glue's entry {where} (version {entry.version_id}) points to "
        f"{_file(entry.metadata_location)}; the catalog's current metadata is {_file(current)}"
        f"{'.' if agree else f': `frazil sync {subject.things.table}` mends it.'}"
    )
    return Verdict(agree, text, {"current": current, "glue": entry.metadata_location})


def compare_snowflake(subject: Subject[AnyTable]) -> Verdict:
    """Snowflake's row count and metadata pointer equal the Iceberg table's."""
    table = load_table(subject.connections.catalog, subject.things.table)
    summary = summary_of(table.current_snapshot())
    rows = int(summary.get("total-records", 0)) - int(summary.get("total-position-deletes", 0))
    seen = read_table(subject.connections, subject.things)
    agree = seen.rows == rows and seen.metadata_location == table.metadata_location
    text = (
        f"Snowflake's {seen.table} shows {seen.rows} rows of {_file(seen.metadata_location)}; "
        f"Iceberg holds {rows} rows in {_file(table.metadata_location)}"
        f"{'.' if agree else f': `frazil sync {subject.things.table}` mends it.'}"
    )
    numbers: dict[str, Number] = {
        "snowflake_rows": seen.rows,
        "iceberg_rows": rows,
        "snowflake_metadata": seen.metadata_location,
        "iceberg_metadata": table.metadata_location,
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
