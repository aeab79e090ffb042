"""Iceberg tables as assets: one step lands all chosen tables of a pipeline, a few at a time."""

# No `from __future__ import annotations`: Dagster compares the type of `context`, not its name.
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import dagster as dg

from assets.description import TopicTable, asset_spec
from assets.outcome import failure
from frazil.checks.run import run_check
from frazil.connections import Connections
from frazil.derive.positions.state import DerivedState
from frazil.errors import ChecksFailedError, OvertakenError, PartDownError, PausedError, RepairError
from frazil.landing.land import land
from frazil.landing.many import land_many
from frazil.landing.position.published import published_by
from frazil.landing.position.state import TableState
from frazil.landing.report import LandingReport
from frazil.spec.topic import TableSpec
from resources.connections import FrazilConnections
from resources.events import (
    as_reported,
    check_evaluation,
    grown,
    report_own_checks,
    report_stopping_checks,
    topic_seen,
)
from resources.metadata import landing_metadata, state_metadata, state_now, table_metadata

_ABOUT = """Iceberg table `{table}`: every record of topic `{topic}` exactly once. Materializing it \
lands what the topic holds beyond the table's position, which the snapshots themselves record."""


def landing(name: str, tables: Sequence[TopicTable]) -> dg.AssetsDefinition:
    """The landing step of a pipeline. It never starts by itself: the arrivals sensor watches Kafka.

    A table that can't be landed does not keep the others from landing, but fails the step; what
    hangs on the others then follows by automation. The step is not tried again: publishing does that
    by itself, and the sensor comes back.
    """
    by_key = {dg.AssetKey(t.things.iceberg_path): t for t in tables}

    @dg.multi_asset(name=name, specs=[_spec(t) for t in tables], can_subset=True)
    def land_tables(
        context: dg.AssetExecutionContext, frazil: FrazilConnections
    ) -> Iterator[dg.MaterializeResult[Any]]:
        chosen = [t for k, t in by_key.items() if k in context.selected_asset_keys]
        yield from _Step(context, frazil, chosen).land()

    return land_tables


class _Step:
    """One run of the step: what it is to land, and what of it failed."""

    def __init__(
        self, context: dg.AssetExecutionContext, frazil: FrazilConnections, tables: Sequence[TopicTable]
    ) -> None:
        self._context, self._frazil, self._count = context, frazil, len(tables)
        self._left, self._failed = {id(t.spec): t for t in tables}, dict[str, Exception]()

    def land(self) -> Iterator[dg.MaterializeResult[Any]]:
        """Lands the tables, and gives the result of each that can be landed."""
        specs, run_id = [t.spec for t in self._left.values()], self._context.run.run_id
        outcomes = land_many(specs, self._frazil.connections, run_id=run_id)
        try:
            for spec, outcome in outcomes:
                yield from self._result(spec, outcome)
                del self._left[id(spec)]
        except BaseException:  # somebody terminates the run
            outcomes.close()
            _tell_committed(self._context, self._left.values(), self._frazil)
            raise
        if self._failed:
            raise failure(self._context, "could not be landed", self._failed, self._count)

    def _result(
        self, spec: TableSpec, outcome: LandingReport | TableState | Exception
    ) -> Iterator[dg.MaterializeResult[Any]]:
        context, frazil, table = self._context, self._frazil, self._left[id(spec)]
        try:
            result = _landed(context, table, outcome, frazil.of(spec))
        except Exception as e:  # noqa: BLE001 - it is the result of this table
            self._failed[str(table.things.table)] = e
            _tell_stopped(context, table, e, frazil)
            frazil.send_failure(context.run, table.spec, "land", e)
            return
        yield result
        if isinstance(outcome, LandingReport):
            report_own_checks(context.instance, spec, frazil.of(spec), outcome.checks)
            frazil.send_lineage(context.run, [(spec, outcome)])


def _spec(table: TopicTable) -> dg.AssetSpec:
    names = table.things
    return asset_spec(
        table,
        names.iceberg_path,
        kinds={"iceberg", "spark"},
        about=_ABOUT.format(table=names.table, topic=names.topic),
        code=land,
        upstream=[names.kafka_path],
        columns=table.columns,
    )


def _landed(
    context: dg.AssetExecutionContext,
    table: TopicTable,
    outcome: LandingReport | TableState | Exception,
    connections: Connections,
) -> dg.MaterializeResult[Any]:
    """The table as it stands, and what this landing brought; nothing, if it is paused or was overtaken."""
    names, nothing = table.things, isinstance(outcome, OvertakenError | PausedError)
    key = dg.AssetKey(names.iceberg_path)
    if isinstance(outcome, TableState):
        _tell_topic(context, table, outcome, connections)
        return dg.MaterializeResult(asset_key=key, metadata={"rows_landed": 0, **state_metadata(outcome)})
    if nothing:
        context.log.warning(str(outcome))
    elif isinstance(outcome, Exception):
        raise outcome
    state = state_now(table.spec, connections)
    _tell_topic(context, table, state, connections)
    brought = {"rows_landed": 0} if isinstance(outcome, Exception) else landing_metadata(outcome)
    metadata = {
        **brought,
        **({"overtaken": True} if isinstance(outcome, OvertakenError) else {}),
        **({"paused": str(outcome)} if isinstance(outcome, PausedError) else {}),
        **table_metadata(table.spec, connections, state),
    }
    return dg.MaterializeResult(asset_key=key, metadata=metadata)


def _tell_topic(
    context: dg.AssetExecutionContext,
    table: TopicTable,
    state: TableState | DerivedState,
    connections: Connections,
) -> None:
    for event in topic_seen(table.spec, connections, state):
        context.log_event(as_reported(event, context.instance))


def _tell_stopped(
    context: dg.AssetExecutionContext, table: TopicTable, error: Exception, frazil: FrazilConnections
) -> None:
    """Tells what a table published before it stopped, and why it stopped, where a person must look at it."""
    if isinstance(error, PartDownError):
        return  # nobody could be asked; the arrivals sensor tells of it when that is over
    connections = frazil.of(table.spec)
    try:
        if report := published_by(context.run.run_id, table.spec, connections):
            context.log_event(grown(table.spec, connections, landing_metadata(report)))
            frazil.send_lineage(context.run, [(table.spec, report)])
        if isinstance(error, ChecksFailedError):
            report_stopping_checks(context, table.spec, frazil, error)
        if isinstance(error, RepairError):
            verdict = check_evaluation(run_check("freshness", table.spec, connections), context.instance)
            context.instance.report_runless_asset_event(verdict)
    except Exception as e:  # noqa: BLE001 - the table's own error is the one that counts
        context.log.warning("%s stopped; how it stands can't be told: %s", table.things.table, e)


def _tell_committed(
    context: dg.AssetExecutionContext, tables: Iterable[TopicTable], frazil: FrazilConnections
) -> None:
    """Tells what a run that is terminated has committed; its step is given no time to tell."""
    try:
        for table in tables:
            own = frazil.of(table.spec)
            if report := published_by(context.run.run_id, table.spec, own):
                event = grown(table.spec, own, landing_metadata(report))
                context.instance.report_runless_asset_event(event)
    except Exception as e:  # noqa: BLE001 - the arrivals sensor notices the others
        context.log.warning("What was landed can't be told: %s", e)
