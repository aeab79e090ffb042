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
    specs, names = [t.spec for t in tables], [str(t.things.table) for t in tables]
    derived = [t for t in tables if isinstance(t, DerivedTable)]  # the others are the arrivals sensor's
    memories: dict[str, Memory] = defaultdict(Memory)
    unheard = Unheard()

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
        instance = context.instance
        end_lost_runs(instance, context.code_location_origin)
        looks, silent = _look(specs, frazil.connections, memories)
        if silent and not looks:
            return dg.SkipReason("\n".join(silent))
        for text in silent:
            context.log.warning(text)
        working = tables_at_work(instance)
        quiet = [t for t in derived if dg.AssetKey(t.things.iceberg_path) not in working]
        behind = unheard.look(_heads(memories), quiet, instance, frazil, context.log)
        tell_again(behind, derived, instance, frazil)
        seen = joined(looks)
        busy = upkeep_at_work(instance, names) | upkeep_resting(instance, names)
        works = [work for work in seen.due if (work.kind.name, work.table) not in busy]
        for work in works:
            context.log.info("%s of %s: %s", work.kind.name, work.table, work.reason)
        summary = _summary(seen, len(seen.due) - len(works))
        if not works:
            return dg.SkipReason(summary)
        context.log.info(summary)
        of_kind = {kind: [work for work in works if work.kind is kind] for kind in KINDS.values()}
        return [_request(instance, kind, of) for kind, of in of_kind.items() if of]

    return upkeep


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
