"""Jobs that put tables in order, one per kind of upkeep: started by the sensor, or in the launchpad."""

# No `from __future__ import annotations`: Dagster compares the types of an op's arguments, not their names.
import time
from collections.abc import Iterator, Sequence
from typing import Any

import dagster as dg
from pydantic import Field

from assets.description import PipelineTable
from assets.outcome import engine_errors, failure
from frazil.connections import Connections, apart
from frazil.errors import MissingError
from frazil.spec.names import TableName, legal, things
from frazil.spec.table import AnyTable
from frazil.tables.catalogs.handle import TableHandle
from frazil.upkeep.due import Memory, look_for_work
from frazil.upkeep.kind import Kind, Order, Work
from frazil.upkeep.kinds import KINDS
from frazil.upkeep.run import Outcome, work_on
from resources.connections import FrazilConnections
from resources.events import shown_materializations, upkeep_observation

FAILED = "frazil/failed-tables"
"""Tag that a run gives itself: the tables that it could not put in order, by blanks."""


class UpkeepConfig(dg.Config):
    """What to work on."""

    tables: list[str] = Field([], description="namespace.table. Default: all tables that are due.")
    dry_run: bool = Field(False, description="Only tell what would be done.")
    everything: bool = Field(False, description="Compaction: rewrite files that are large enough, too.")
    reasons: dict[str, str] = Field({}, description="The reason for each table, noted in its snapshots.")


def upkeep_jobs(tables: Sequence[PipelineTable]) -> list[dg.JobDefinition]:
    """A job for each kind of upkeep of these tables."""
    return [_job(kind, tables) for kind in KINDS.values()]


def _job(kind: Kind, tables: Sequence[PipelineTable]) -> dg.JobDefinition:
    @dg.op(name=kind.step, description=kind.about, out=dg.Out(dg.Nothing))
    def step(
        context: dg.OpExecutionContext, config: UpkeepConfig, frazil: FrazilConnections
    ) -> Iterator[Any]:
        now, connections = time.time(), frazil.connections
        with engine_errors():
            works = _works(kind, tables, config, connections, now)
        failed: dict[str, Exception] = {}
        order = Order(dry_run=config.dry_run, everything=config.everything)
        for outcome in work_on(works, connections, now, order):
            yield from _events(context, outcome, connections)
            if outcome.error:
                failed[outcome.work.table] = outcome.error
        if failed:
            context.instance.add_run_tags(context.run.run_id, {FAILED: " ".join(sorted(failed))})
            raise failure(context, f"are not in order: {kind.name}", failed, len(works))

    @dg.job(name=kind.name, description=kind.about)
    def job() -> None:
        step()

    return job


def _works(
    kind: Kind, tables: Sequence[PipelineTable], config: UpkeepConfig, connections: Connections, now: float
) -> Sequence[Work]:
    if not config.tables:
        return _all_due(kind, [t.spec for t in tables], connections, now)
    by_name = {t.things.table: t for t in tables}
    named = [TableName.parse(name, legal(connections.settings.cluster)) for name in config.tables]
    if unknown := [str(name) for name in named if name not in by_name]:
        raise MissingError(
            f"No pipeline has a table {', '.join(unknown)}.", todo="`frazil tables` lists all of them."
        )
    asked = "asked for in Dagster"
    return [Work(kind, by_name[name].spec, str(name), config.reasons.get(str(name), asked)) for name in named]


def _all_due(kind: Kind, specs: Sequence[AnyTable], connections: Connections, now: float) -> Sequence[Work]:
    """All work that is due. One look may leave some tables to the next, so it looks until none is left."""
    due: list[Work] = []
    for own, clients in apart(specs, connections):
        memory = Memory()
        seen = look_for_work(own, clients, now, memory, kinds=[kind])
        while seen.waiting and seen.looked_into:
            seen = look_for_work(own, clients, now, memory, kinds=[kind])
        due += seen.due
    return due


def _events(
    context: dg.OpExecutionContext, outcome: Outcome, connections: Connections
) -> Iterator[dg.AssetObservation | dg.AssetMaterialization]:
    """Events of one table: what was done, and what readers were shown of it."""
    connections = connections.of(outcome.work.spec)
    names = things(outcome.work.spec, connections.settings)
    if outcome.report:
        context.log.info("%s: %s", names.table, outcome.report.text)
        yield upkeep_observation(names, outcome.report)
    if outcome.shown:
        schema = TableHandle(connections.catalog, names.table).load().schema()
        yield from shown_materializations(schema, outcome.shown)
