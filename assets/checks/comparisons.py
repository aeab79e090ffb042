"""The engine's checks as asset checks: each says in a sentence what it compared, in numbers.

The checks of one asset are one step: Dagster makes every step's definition anew in each run. Each check stays
a line of its own, and can be run alone.
"""

# No `from __future__ import annotations`: Dagster compares the type of `context`, not its name.
from collections.abc import Iterator
from functools import cache
from typing import Any

import dagster as dg

from assets.description import PipelineTable, op_name
from assets.outcome import engine_errors
from frazil.checks.result import Check, CheckResult
from frazil.checks.run import run_check
from frazil.spec.names import AssetPath
from resources.connections import FrazilConnections
from resources.facts import worth_showing

Context = dg.AssetExecutionContext | dg.AssetCheckExecutionContext


def table_checks(table: PipelineTable) -> dg.AssetChecksDefinition:
    """The checks of the Iceberg table itself, the deep ones too. Those of other assets are in their steps."""

    @dg.multi_asset_check(
        name=_step(table), specs=check_specs(table, table.things.iceberg_path), can_subset=True
    )
    def run(
        context: dg.AssetCheckExecutionContext, frazil: FrazilConnections
    ) -> Iterator[dg.AssetCheckResult]:
        yield from check_results(context, table, frazil)

    return run


def check_specs(table: PipelineTable, path: AssetPath) -> list[dg.AssetCheckSpec]:
    """The checks of one asset of a table."""
    return [_spec(check) for check in table.checks if check.asset == path]


def check_results(
    context: Context, table: PipelineTable, frazil: FrazilConnections
) -> Iterator[dg.AssetCheckResult]:
    """Runs the checks that a step was asked for; the deep ones last.

    What keeps one from looking does not keep the others, and fails the step in the end. A check that gives no
    result is "skipped" in Dagster, and what follows does not wait for it.

    Raises:
        dagster.RetryRequested, dagster.Failure: A check could not look; the first of them.
    """
    failed: Exception | None = None
    compared: list[CheckResult] = []
    for check in _chosen(context, table):
        try:
            yield from _result(context, check, table, frazil, compared)
        except (dg.RetryRequested, dg.Failure) as e:
            failed = failed or e
    frazil.send_lineage(context.run, [(table.spec, result) for result in compared])
    if failed:
        raise failed


def check_keys(table: PipelineTable, *, deep: bool) -> list[dg.AssetCheckKey]:
    """Keys of the checks that read the data (deep), or of those that read metadata only."""
    return [_key(check) for check in table.checks if check.deep == deep]


def steps_of(table: PipelineTable) -> Iterator[str]:
    """The steps that work on this table alone: what follows from it, and its checks."""
    yield from (key.to_python_identifier() for key in table.shown)
    yield _step(table)


def _step(table: PipelineTable) -> str:
    return f"{op_name(table.things.iceberg_path)}_checks"


def _key(check: Check) -> dg.AssetCheckKey:
    return dg.AssetCheckKey(dg.AssetKey(check.asset), check.name)


def _spec(check: Check) -> dg.AssetCheckSpec:
    return dg.AssetCheckSpec(
        check.name,
        asset=dg.AssetKey(check.asset),
        description=check.description,
        blocking=check.blocking,
        automation_condition=on_request() if check.deep else None,
    )


def _chosen(context: Context, table: PipelineTable) -> list[Check]:
    keys = context.selected_asset_check_keys
    return sorted((c for c in table.checks if _key(c) in keys), key=lambda check: check.deep)


def _result(
    context: Context,
    check: Check,
    table: PipelineTable,
    frazil: FrazilConnections,
    compared: list[CheckResult],
) -> Iterator[dg.AssetCheckResult]:
    """What one check says; its result is added to those that compared something."""
    key = _key(check)
    if check.deep and is_inherited(context, key.asset_key):
        return
    with engine_errors():
        result = run_check(check.name, table.spec, frazil.of(table.spec))
    if result.status == "skipped":
        context.log.warning("%s of %s: %s", check.name, table.things.table, result.text)
        return
    compared.append(result)
    yield dg.AssetCheckResult(
        asset_key=key.asset_key,
        check_name=check.name,
        passed=result.passed,
        severity=dg.AssetCheckSeverity(result.severity),
        description=result.text,
        metadata=worth_showing(result.numbers),
    )


def is_inherited(context: Context, asset: dg.AssetKey) -> bool:
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
