"""Dagster's events of assets and checks that no step of their own made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypeAlias

import dagster as dg
from dagster._core.definitions.asset_checks.asset_check_evaluation import (
    AssetCheckEvaluationTargetMaterializationData,
)
from dagster._core.definitions.data_version import DATA_VERSION_TAG

from frazil.checks.own import results_of
from frazil.checks.result import CheckResult
from frazil.connections import Connections
from frazil.derive.positions.state import DerivedState
from frazil.derive.report import DeriveReport
from frazil.errors import ChecksFailedError
from frazil.landing.checking.outcome import CheckOutcome
from frazil.landing.position.state import TableState
from frazil.landing.repairs.dead_letters import survey
from frazil.landing.report import LandingReport
from frazil.publishing.target import Shown
from frazil.reporting import Done, Failure
from frazil.spec.names import Things, things
from frazil.spec.table import AnyTable
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.handle import TableHandle
from frazil.upkeep.work import WorkReport
from resources.connections import FrazilConnections
from resources.facts import worth_showing
from resources.metadata import (
    Metadata,
    dead_letters_metadata,
    derive_metadata,
    landing_metadata,
    seen_topic_metadata,
    shown_metadata,
    state_now,
    table_metadata,
)

if TYPE_CHECKING:
    from pyiceberg.schema import Schema


_LOOK = "frazil/look"
"""Tag of what a look at a topic tells of it."""

TOPIC_VERSION = dg.DataVersion("INITIAL")
"""Of each topic; it is what Dagster takes for that of an asset nobody has told of."""

Event: TypeAlias = dg.AssetMaterialization | dg.AssetObservation | dg.AssetCheckEvaluation


def events_of(
    spec: AnyTable, done: Done, connections: Connections, of: dg.DagsterInstance | None = None
) -> Iterator[Event]:
    """What was done outside of runs, as if the table's asset, its check or a target's asset had run.

    `connections` are those of the spec; for `of` see `check_evaluation`.
    """
    match done:
        case LandingReport():
            state = state_now(spec, connections)
            yield from topic_seen(spec, connections, state)
            yield grown(spec, connections, landing_metadata(done), state)
            yield from letters_counted(spec, connections)
            yield from own_evaluations(spec, connections, done.checks, of)
        case DeriveReport():
            yield grown(spec, connections, derive_metadata(done))
            yield from own_evaluations(spec, connections, done.checks, of)
        case WorkReport():
            yield upkeep_observation(things(spec, connections.settings), done)
        case Failure():
            return  # of a run that failed Dagster knows; what a shell failed at is told by the next check
        case CheckResult():
            if done.status != "skipped":
                yield check_evaluation(done, of)
        case _:
            table = things(spec, connections.settings).table
            yield from shown_materializations(TableHandle(connections.catalog, table).load().schema(), done)


def own_evaluations(
    spec: AnyTable,
    connections: Connections,
    outcomes: Iterable[CheckOutcome],
    of: dg.DagsterInstance | None = None,
) -> Iterator[dg.AssetCheckEvaluation]:
    """What a landing or a derivation says of the spec's own checks; for `of` see `check_evaluation`."""
    for result in results_of(spec, connections.settings, outcomes):
        yield check_evaluation(result, of)


def report_own_checks(
    instance: dg.DagsterInstance,
    spec: AnyTable,
    connections: Connections,
    outcomes: Iterable[CheckOutcome],
) -> None:
    """Reports what a landing or a derivation says of the spec's own checks, also where its run then fails."""
    for evaluation in own_evaluations(spec, connections, outcomes, instance):
        instance.report_runless_asset_event(evaluation)


def report_stopping_checks(
    context: dg.AssetExecutionContext, spec: AnyTable, frazil: FrazilConnections, error: ChecksFailedError
) -> None:
    """Reports the spec's own checks of a step that they stop, to Dagster and as lineage."""
    connections = frazil.of(spec)
    report_own_checks(context.instance, spec, connections, error.outcomes)
    results = results_of(spec, connections.settings, error.outcomes)
    frazil.send_lineage(context.run, [(spec, result) for result in results])


def topic_seen(
    spec: AnyTable, connections: Connections, state: TableState | DerivedState
) -> Iterator[dg.AssetMaterialization]:
    """The topic as the look at its table shows it; nothing of a table that is made of others.

    Its data version never changes, for a log only grows: no look at it makes a landing "unsynced".
    """
    if isinstance(state, TableState):
        key = dg.AssetKey(things(spec, connections.settings).kafka_path)
        tags = {DATA_VERSION_TAG: TOPIC_VERSION.value, _LOOK: "true"}
        yield dg.AssetMaterialization(key, metadata=seen_topic_metadata(state), tags=tags)


def as_reported(event: Event, instance: dg.DagsterInstance) -> Event:
    """The event, or an observation in the place of a look at a topic that is known already.

    What was said of it when it was materialized by hand, such as its schemas, stays on its page.
    """
    is_look = isinstance(event, dg.AssetMaterialization) and _LOOK in (event.tags or {})
    if not is_look or instance.get_latest_materialization_event(event.asset_key) is None:
        return event
    return dg.AssetObservation(event.asset_key, metadata=event.metadata)


def grown(
    spec: AnyTable,
    connections: Connections,
    brought: Metadata,
    state: TableState | DerivedState | None = None,
) -> dg.AssetMaterialization:
    """What was brought into an Iceberg table, and the table as it stands."""
    key = dg.AssetKey(things(spec, connections.settings).iceberg_path)
    return dg.AssetMaterialization(key, metadata={**brought, **table_metadata(spec, connections, state)})


def letters_counted(spec: AnyTable, connections: Connections) -> Iterator[dg.AssetMaterialization]:
    """The dead letters of a table that is made of a topic, where it keeps any: counted after a landing."""
    if isinstance(spec, TableSpec) and spec.on_bad_record == "dead_letter":
        names = things(spec, connections.settings)
        metadata = dead_letters_metadata(
            survey(TableHandle(connections.catalog, names.table)), str(names.table.dead_letters)
        )
        yield dg.AssetMaterialization(dg.AssetKey(names.dead_letters_path), metadata=metadata)


def upkeep_observation(names: Things, report: WorkReport) -> dg.AssetObservation:
    """What was done to an Iceberg table. No materialization: its rows are as old as before.

    Each kind's numbers are plots of their own.
    """
    counted = {"done": int(report.done), "conflicts": report.conflicts, "seconds": report.seconds}
    numbers = {f"{report.kind}/{name}": number for name, number in {**counted, **report.numbers}.items()}
    metadata = worth_showing(
        {
            "upkeep": report.kind,
            "text": report.text,
            "dry_run": report.dry_run,
            "snapshot": str(report.snapshot_id or ""),
            **numbers,
        }
    )
    key = dg.AssetKey(names.iceberg_path)
    return dg.AssetObservation(key, description=report.text, metadata=metadata)


def shown_materializations(schema: Schema, shown: Iterable[Shown]) -> Iterator[dg.AssetMaterialization]:
    """Targets show the table as it is now."""
    for each in shown:
        yield dg.AssetMaterialization(dg.AssetKey(each.path), metadata=shown_metadata(each, schema))


def check_evaluation(result: CheckResult, of: dg.DagsterInstance | None = None) -> dg.AssetCheckEvaluation:
    """A check that no step of its own has run.

    Where the asset was materialized within the same second, Dagster takes the check for an older one, and
    shows "Not evaluated", unless it says which materialization of the instance it is about.
    """
    newest = of.fetch_materializations(dg.AssetKey(result.asset), limit=1).records if of else ()
    return dg.AssetCheckEvaluation(
        asset_key=dg.AssetKey(result.asset),
        check_name=result.check,
        passed=result.passed,
        severity=dg.AssetCheckSeverity(result.severity),
        description=result.text,
        metadata=worth_showing(result.numbers),
        blocking=result.blocking,
        target_materialization_data=next(map(_pointer, newest), None),
    )


def _pointer(record: dg.EventLogRecord) -> AssetCheckEvaluationTargetMaterializationData:
    return AssetCheckEvaluationTargetMaterializationData(
        storage_id=record.storage_id, run_id=record.run_id, timestamp=record.timestamp
    )
