"""All checks by name, of tables made of topics and of tables made of others, and running them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from frazil.checks.agreement import compare_query
from frazil.checks.dead_letters import judge_dead_letters
from frazil.checks.derived import compare_columns, count_derived, judge_inputs
from frazil.checks.files import judge_files
from frazil.checks.published import compare_glue, compare_snowflake, judge_freshness
from frazil.checks.result import Check, CheckResult, Subject, Verdict
from frazil.checks.rows import count_offsets, count_rows
from frazil.checks.schema import compare_schema
from frazil.connections import Connections
from frazil.errors import FrazilError, RetryError
from frazil.spec.derived import DerivedSpec
from frazil.spec.names import things
from frazil.spec.table import AnyTable
from frazil.spec.topic import TableSpec
from frazil.tables.catalog import catalog_errors

__all__ = ["all_checks", "checks_for", "run_check", "run_checks"]

_ANY = (
    Check("file_health", "iceberg", False, "Files, manifests and snapshots are in order.", judge_files),
    Check("glue_pointer", "glue", True, "Glue points to the current metadata.", compare_glue),
    Check(
        "snowflake_current", "snowflake", False, "Snowflake's rows and pointer equal Iceberg's.",
        compare_snowflake,
    ),
)  # fmt: skip

_OF_TOPICS = (
    Check("row_count", "iceberg", True, "Offsets landed = rows + what is known to be none.", count_rows),
    Check(
        "row_count_deep", "iceberg", False, "Every offset counted: none twice, none missing.",
        count_offsets, deep=True,
    ),
    Check("schema", "iceberg", True, "Columns agree with the schema registry.", compare_schema),
    Check("freshness", "iceberg", False, "Records wait no longer than allowed.", judge_freshness),
    Check("dead_letter_rate", "dead_letters", False, "Few enough records are bad.", judge_dead_letters),
)  # fmt: skip

_OF_DERIVED = (
    Check("row_count", "iceberg", True, "Rows = rows that derivations wrote.", count_derived),
    Check("schema", "iceberg", True, "Columns agree with the query.", compare_columns),
    Check("inputs_read", "iceberg", False, "No row waits in the inputs.", judge_inputs),
    Check(
        "query_agrees", "iceberg", False, "The rows are those that the query makes of the whole inputs.",
        compare_query, deep=True,
    ),
)  # fmt: skip


def all_checks(spec: AnyTable) -> Mapping[str, Check]:
    """Every check of tables that are made as this one is, by name."""
    own = _OF_DERIVED if isinstance(spec, DerivedSpec) else _OF_TOPICS
    return {check.name: check for check in (*own, *_ANY)}


def checks_for(spec: AnyTable, *, deep: bool = False) -> list[str]:
    """Names of the checks that make sense for one table, deep ones only where asked for."""
    kept = isinstance(spec, TableSpec) and spec.on_bad_record == "dead_letter"
    layers = {"iceberg", *(["dead_letters"] if kept else []), *spec.publish}
    return [c.name for c in all_checks(spec).values() if c.layer in layers and (deep or not c.deep)]


def run_check(name: str, spec: AnyTable, connections: Connections) -> CheckResult:
    """Runs one check. What keeps it from looking (a missing table, say) is a failed check.

    Raises:
        RetryError: A server does not answer: that says nothing about the data.
    """
    check = all_checks(spec)[name]
    subject = Subject(spec, things(spec, connections.settings), connections)
    table = str(subject.things.table)
    try:
        with catalog_errors(connections.settings):
            found = check.look(subject)
    except RetryError:
        raise
    except FrazilError as e:
        found = Verdict(False, str(e), {})
    return CheckResult(name, table, found.passed, found.severity, found.text, found.numbers, check.layer)


def run_checks(
    specs: Iterable[AnyTable], connections: Connections, *, deep: bool = False
) -> list[CheckResult]:
    """Runs all checks of all tables."""
    return [run_check(name, spec, connections) for spec in specs for name in checks_for(spec, deep=deep)]
