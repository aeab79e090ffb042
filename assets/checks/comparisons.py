"""The engine's checks as asset checks: each says in a sentence what it compared, in numbers."""

# No `from __future__ import annotations`: Dagster compares the type of `context`, not its name.
from collections.abc import Iterator
from functools import cache
from typing import Any

import dagster as dg

from assets.description import PipelineTable, op_name
from assets.outcome import engine_errors
from frazil.checks.result import Check
from frazil.checks.run import checks_of, run_check
from resources.connections import FrazilConnections
from resources.facts import worth_telling


def table_checks(table: PipelineTable) -> list[dg.AssetChecksDefinition]:
    """All checks of one table, the deep ones too."""
    return [_check(table, check) for check in checks_of(table.spec, table.settings).values()]


def check_keys(table: PipelineTable, *, deep: bool) -> list[dg.AssetCheckKey]:
    """Keys of the checks that read the data (deep), or of those that read metadata only."""
    checks = checks_of(table.spec, table.settings).values()
    return [dg.AssetCheckKey(dg.AssetKey(c.asset), c.name) for c in checks if c.deep == deep]


def steps_of(table: PipelineTable) -> Iterator[str]:
    """The steps that work on this table alone: what follows from it, and its checks."""
    yield from (key.to_python_identifier() for key in table.shown)
    yield from map(_step, checks_of(table.spec, table.settings).values())


def _step(check: Check) -> str:
    return f"{op_name(check.asset)}_{check.name}"


def _check(table: PipelineTable, check: Check) -> dg.AssetChecksDefinition:
    key = dg.AssetKey(check.asset)
    spec = dg.AssetCheckSpec(
        check.name,
        asset=key,
        description=check.description,
        blocking=check.blocking,
        automation_condition=on_request() if check.deep else None,
    )

    # A check that gives no result is "skipped" in Dagster, and what follows does not wait for it.
    @dg.multi_asset_check(name=_step(check), specs=[spec], can_subset=True)
    def run(
        context: dg.AssetCheckExecutionContext, frazil: FrazilConnections
    ) -> Iterator[dg.AssetCheckResult]:
        if check.deep and is_inherited(context, key):
            return
        with engine_errors():
            result = run_check(check.name, table.spec, frazil.of(table.spec))
        if result.status == "skipped":
            context.log.warning("%s of %s: %s", check.name, table.things.table, result.text)
            return
        yield dg.AssetCheckResult(
            asset_key=key,
            check_name=check.name,
            passed=result.passed,
            severity=dg.AssetCheckSeverity(result.severity),
            description=result.text,
            metadata=worth_telling(result.numbers),
        )

    return run


def is_inherited(context: dg.AssetCheckExecutionContext, asset: dg.AssetKey) -> bool:
    """Whether a run makes the asset itself: who materializes one by hand gets all of its checks, unasked."""
    inherited = asset in context.op_execution_context.job_def.asset_layer.executable_asset_keys
    if inherited:
        context.log.info("Left out beside its asset: ask for it in a run of checks alone.")
    return inherited


@cache
def on_request() -> dg.AutomationCondition[Any]:
    """Never by itself, and so not with its asset either.

    Automation's runs take along every check that has no condition: each would read the whole data.
    """
    first = dg.AutomationCondition.initial_evaluation()
    return (first & ~first).with_label("only when asked for")
