"""The engine's checks as asset checks: each says in a sentence what it compared, in numbers."""

from __future__ import annotations

import dagster as dg

from assets.automation import on_request
from assets.described import PipelineTable
from assets.outcome import engine_errors
from frazil.checks.result import Check
from frazil.checks.run import all_checks, checks_for, run_check
from resources.connections import FrazilConnections
from resources.metadata import check_metadata

__all__ = ["check_keys", "table_checks"]


def table_checks(table: PipelineTable) -> list[dg.AssetChecksDefinition]:
    """All checks of one table, the deep ones too."""
    return [_check(table, check) for check in _checks(table)]


def check_keys(table: PipelineTable, *, deep: bool) -> list[dg.AssetCheckKey]:
    """Keys of the checks that read the data (deep), or of those that read metadata only."""
    return [
        dg.AssetCheckKey(_guarded(table, check), check.name) for check in _checks(table) if check.deep == deep
    ]


def _checks(table: PipelineTable) -> list[Check]:
    known = all_checks(table.spec)
    return [known[name] for name in checks_for(table.spec, deep=True)]


def _check(table: PipelineTable, check: Check) -> dg.AssetChecksDefinition:
    @dg.asset_check(
        asset=_guarded(table, check),
        name=check.name,
        description=check.description,
        blocking=check.blocking,
        automation_condition=on_request() if check.deep else None,
    )
    def run(frazil: FrazilConnections) -> dg.AssetCheckResult:
        with engine_errors():
            result = run_check(check.name, table.spec, frazil.connections)
        return dg.AssetCheckResult(
            passed=result.passed,
            severity=dg.AssetCheckSeverity(result.severity),
            description=result.text,
            metadata=check_metadata(result),
        )

    return run


def _guarded(table: PipelineTable, check: Check) -> dg.AssetKey:
    names = table.things
    paths = {
        "iceberg": names.iceberg_path,
        "dead_letters": names.dead_letters_path,
        "glue": names.glue_path,
        "snowflake": names.snowflake_path,
    }
    return dg.AssetKey(paths[check.layer])
