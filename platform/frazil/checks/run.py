"""All checks by name, and running them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from frazil.catalogs.iceberg import catalog_errors
from frazil.checks.dead_letters import judge_dead_letters
from frazil.checks.files import judge_files
from frazil.checks.published import compare_glue, compare_snowflake, judge_freshness
from frazil.checks.result import Check, CheckResult, Subject
from frazil.checks.rows import count_offsets, count_rows
from frazil.checks.schema import compare_schema
from frazil.errors import FrazilError, RetryError
from frazil.naming import things
from frazil.spec import TableSpec

if TYPE_CHECKING:
    from frazil.connections import Connections

__all__ = ["CHECKS", "checks_for", "run_check", "run_checks"]

CHECKS: dict[str, Check] = {
    check.name: check
    for check in (
        Check("row_count", "iceberg", True, "Offsets landed = rows + what is known to be none.", count_rows),
        Check(
            "row_count_deep", "iceberg", False, "Every offset counted: none twice, none missing.",
            count_offsets, deep=True,
        ),
        Check("schema", "iceberg", True, "Columns agree with the schema registry.", compare_schema),
        Check("file_health", "iceberg", False, "Files, manifests and snapshots are in order.", judge_files),
        Check("freshness", "iceberg", False, "Records wait no longer than allowed.", judge_freshness),
        Check(
            "dead_letter_rate", "dead_letters", False, "Few enough records are bad.", judge_dead_letters
        ),
        Check("glue_pointer", "glue", True, "Glue points to the current metadata.", compare_glue),
        Check(
            "snowflake_current", "snowflake", False, "Snowflake's rows and pointer equal Iceberg's.",
            compare_snowflake,
        ),
    )
}  # fmt: skip


def checks_for(spec: TableSpec, *, deep: bool = False) -> list[str]:
    """Names of the checks that make sense for one table, deep ones only where asked for."""
    kept = ["dead_letters"] if spec.on_bad_record == "dead_letter" else []
    layers = {"iceberg", *kept, *spec.publish}
    return [c.name for c in CHECKS.values() if c.asset in layers and (deep or not c.deep)]


def run_check(name: str, spec: TableSpec, connections: Connections) -> CheckResult:
    """Runs one check. What keeps it from looking (a missing table, say) is a failed check.

    Raises:
        RetryError: A server does not answer: that says nothing about the data.
    """
    check, subject = CHECKS[name], Subject(spec, things(spec, connections.settings), connections)
    try:
        with catalog_errors(connections.settings):
            found = check.look(subject)
    except RetryError:
        raise
    except FrazilError as e:
        return CheckResult(name, str(subject.things.table), False, "ERROR", str(e), {})
    return CheckResult(
        name, str(subject.things.table), found.passed, found.severity, found.text, found.numbers
    )


def run_checks(
    specs: Iterable[TableSpec], connections: Connections, *, deep: bool = False
) -> list[CheckResult]:
    """Runs all checks of all tables."""
    return [run_check(name, spec, connections) for spec in specs for name in checks_for(spec, deep=deep)]
