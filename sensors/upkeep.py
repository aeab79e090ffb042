"""Asks for upkeep where a table needs it. Reads metadata only, and of quiet tables nothing but a pointer."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence

import dagster as dg

from assets.derived import DerivedTable
from assets.description import PipelineTable
from frazil.connections import Connections, apart
from frazil.errors import FrazilError
from frazil.spec.table import AnyTable
from frazil.upkeep.due import Memory, Outlook, joined, look_for_work
from frazil.upkeep.kind import Kind, Work
from frazil.upkeep.kinds import KINDS
from resources.connections import FrazilConnections
from sensors.runs import (
    PLAN,
    digest,
    end_lost_runs,
    run_key,
    tables_at_work,
    upkeep_at_work,
    upkeep_resting,
)
from sensors.unheard import Unheard, tell_again

TABLES = "frazil/tables"
"""Tag that says which tables a run works on, for people; its config names them all."""

_SHOWN = 3


def upkeep_sensor(tables: Sequence[PipelineTable], jobs: Sequence[dg.JobDefinition]) -> dg.SensorDefinition:
    """At most one run per kind and tick, for all tables that are due.

    Tables that a run of the same kind works on, and those that one failed at a moment ago, are left
    out. Suspended tables are kept up like all others.
    """
    watch = _Watch(tables)

    @dg.sensor(
        name="upkeep",
        jobs=jobs,
        minimum_interval_seconds=30,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Compacts tables and expires their snapshots, orphans and rows when that is due.",
    )
    def upkeep(
        context: dg.SensorEvaluationContext, frazil: FrazilConnections
    ) -> list[dg.RunRequest] | dg.SkipReason:
        return watch.tick(context, frazil)

    return upkeep


class _Watch:
    """What the sensor remembers from tick to tick, and what it does at each."""

    def __init__(self, tables: Sequence[PipelineTable]) -> None:
        self._specs, self._names = [t.spec for t in tables], [str(t.things.table) for t in tables]
        # The others are the arrivals sensor's.
        self._derived = [t for t in tables if isinstance(t, DerivedTable)]
        self._memories: dict[str, Memory] = defaultdict(Memory)
        self._unheard = Unheard()

    def tick(
        self, context: dg.SensorEvaluationContext, frazil: FrazilConnections
    ) -> list[dg.RunRequest] | dg.SkipReason:
        """Looks at all tables, and asks for a run of each kind of work that is due."""
        instance = context.instance
        end_lost_runs(instance, context.code_location_origin)
        looks, silent = _look(self._specs, frazil.connections, self._memories)
        if silent and not looks:
            return dg.SkipReason("\n".join(silent))
        for text in silent:
            context.log.warning(text)
        self._tell(context, frazil)
        seen = joined(looks)
        works = self._free(instance, seen.due)
        for work in works:
            context.log.info("%s of %s: %s", work.kind.name, work.table, work.reason)
        summary = _summary(seen, len(seen.due) - len(works))
        if not works:
            return dg.SkipReason(summary)
        context.log.info(summary)
        return _requests(instance, works)

    def _tell(self, context: dg.SensorEvaluationContext, frazil: FrazilConnections) -> None:
        """Tells of commits to derived tables that Dagster did not hear of."""
        instance = context.instance
        working = tables_at_work(instance)
        quiet = [t for t in self._derived if dg.AssetKey(t.things.iceberg_path) not in working]
        behind = self._unheard.look(_heads(self._memories), quiet, instance, frazil, context.log)
        tell_again(behind, self._derived, instance, frazil)

    def _free(self, instance: dg.DagsterInstance, due: Sequence[Work]) -> list[Work]:
        """What is due, and no run works on, nor failed at a moment ago."""
        busy = upkeep_at_work(instance, self._names) | upkeep_resting(instance, self._names)
        return [work for work in due if (work.kind.name, work.table) not in busy]


def _heads(memories: Mapping[str, Memory]) -> dict[str, int | None]:
    return {known.table: known.facts.head for memory in memories.values() for known in memory.values()}


def _look(
    specs: Sequence[AnyTable], connections: Connections, memories: dict[str, Memory]
) -> tuple[list[Outlook], list[str]]:
    """What is due in each connection; and why some can't tell."""
    looks: list[Outlook] = []
    silent: list[str] = []
    for own, clients in apart(specs, connections):
        try:
            looks.append(look_for_work(own, clients, time.time(), memories[own[0].connection]))
        except FrazilError as e:
            silent.append(str(e))
    return looks, silent


def _requests(instance: dg.DagsterInstance, works: Sequence[Work]) -> list[dg.RunRequest]:
    """A run for each kind, in the order of the kinds."""
    of_kind = {kind: [work for work in works if work.kind is kind] for kind in KINDS.values()}
    return [_request(instance, kind, of) for kind, of in of_kind.items() if of]


def _request(instance: dg.DagsterInstance, kind: Kind, works: Sequence[Work]) -> dg.RunRequest:
    plan = digest((kind.name, work.table) for work in works)
    reasons = {work.table: work.reason for work in works}
    return dg.RunRequest(
        job_name=kind.name,
        run_key=run_key(instance, plan, PLAN),
        run_config={"ops": {kind.step: {"config": {"tables": list(reasons), "reasons": reasons}}}},
        tags={PLAN: plan, TABLES: _listed(list(reasons))},
    )


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _summary(seen: Outlook, left_out: int) -> str:
    """What was decided, in numbers."""
    facts = [
        f"Tables looked at: {seen.looked_at}; changed: {seen.changed}; read into: {seen.looked_into}",
        f"{seen.waiting} must wait for the next tick" if seen.waiting else "",
        f"pieces of work due: {len(seen.due)}" if seen.due else "nothing is due",
        f"{left_out} left out (a run works on them, or failed a moment ago)" if left_out else "",
        f"not there yet: {_listed(seen.missing)}" if seen.missing else "",
        *(f"{name} can't be read: {why}" for name, why in seen.failed.items()),
    ]
    return "; ".join(filter(None, facts)) + "."
