"""Lands tables whose topic has moved, and brings what follows up to date. Neither sensor reads a record."""

from __future__ import annotations

from collections.abc import Sequence

import dagster as dg

from assets.checks import check_keys
from assets.described import TopicTable
from frazil.checks.run import freshness_results
from frazil.connections import Connections, apart
from frazil.errors import FrazilError
from frazil.landing.arrivals import Arrivals, Due, look_for_arrivals
from frazil.settings.profile import Settings
from frazil.spec.names import things
from frazil.spec.topic import TableSpec
from resources.connections import FrazilConnections
from resources.metadata import check_evaluation
from sensors.runs import ARRIVALS, arrivals_wait, digest, run_key, tables_at_work, tables_resting


def arrivals_sensor(tables: Sequence[TopicTable]) -> dg.SensorDefinition:
    """One run for all tables whose waiting records, bytes or age reach what their spec says.

    At most one of its runs waits in the queue. Tables that a run lands right now, and tables whose
    last landing failed a moment ago, are left out of the next one.
    """

    @dg.sensor(
        name="arrivals",
        target=dg.AssetSelection.assets(*(key for t in tables for key in t.shown)),
        minimum_interval_seconds=10,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Lands tables whose topic has moved far enough, or long enough ago.",
    )
    def arrivals(
        context: dg.SensorEvaluationContext, frazil: FrazilConnections
    ) -> dg.RunRequest | dg.SkipReason:
        if arrivals_wait(context.instance):
            return dg.SkipReason("A run of this sensor waits to be started.")
        working, resting = tables_at_work(context.instance), tables_resting(context.instance)
        free = [t for t in tables if dg.AssetKey(t.things.iceberg_path) not in working | resting]
        seen, silent = _look([t.spec for t in free], frazil.connections)
        settings = frazil.connections.settings
        for specs, arrivals in seen:
            _tell_freshness(context.instance, specs, arrivals, settings)
        dues = [due for _, arrivals in seen for due in arrivals.due]
        if not dues:
            nothing = _nothing([arrivals for _, arrivals in seen], len(tables) - len(free))
            return dg.SkipReason("\n".join([*silent, *([nothing] if seen or not silent else [])]))
        for text in silent:
            context.log.warning(text)
        for due in dues:
            context.log.info("%s: %s", due.table, due.reason)
        topics = {things(due.spec, settings).kafka_path for due in dues}
        return _request(context.instance, dues, [t for t in free if t.things.kafka_path in topics])

    return arrivals


def _look(
    specs: Sequence[TableSpec], connections: Connections
) -> tuple[list[tuple[Sequence[TableSpec], Arrivals]], list[str]]:
    """What came in each connection; and why some can't tell."""
    seen: list[tuple[Sequence[TableSpec], Arrivals]] = []
    silent: list[str] = []
    for own, clients in apart(specs, connections):
        try:
            seen.append((own, look_for_arrivals(own, clients)))
        except FrazilError as e:
            silent.append(str(e))
    return seen, silent


def _tell_freshness(
    instance: dg.DagsterInstance, specs: Sequence[TableSpec], seen: Arrivals, settings: Settings
) -> None:
    """Tells the check `freshness` of each table where it came out otherwise than last time.

    A table that nothing is landed into has no run in which it could be checked.
    """
    there = [pair for pair in zip(specs, seen.states, strict=True) if pair[1].snapshot_id is not None]
    results = list(freshness_results(there, settings))
    keys = [dg.AssetCheckKey(dg.AssetKey(r.asset), r.check) for r in results]
    before = instance.event_log_storage.get_latest_asset_check_execution_by_key(keys)
    for key, result in zip(keys, results, strict=True):
        known = before.get(key)
        if known is None or known.status.value != ("SUCCEEDED" if result.passed else "FAILED"):
            instance.report_runless_asset_event(check_evaluation(result))


def _request(instance: dg.DagsterInstance, due: Sequence[Due], tables: Sequence[TopicTable]) -> dg.RunRequest:
    """The landing, its checks but for those that read the data, and what shows it to readers."""
    plan = digest((d.table, sorted(d.position.items()), d.records) for d in due)
    return dg.RunRequest(
        run_key=run_key(instance, plan),
        asset_selection=[key for t in tables for key in t.shown],
        asset_check_keys=[key for t in tables for key in check_keys(t, deep=False)],
        tags={ARRIVALS: plan},
    )


def _nothing(seen: Sequence[Arrivals], left_out: int) -> str:
    looked, waiting = sum(len(s.states) for s in seen), sum(s.waiting for s in seen)
    missing = [topic for s in seen for topic in s.missing]
    facts = [
        f"{looked} tables looked at: {waiting} records wait, none is due",
        f"{left_out} left out (landing now, or failed a moment ago)" if left_out else "",
        *(f"{table}: {state}" for s in seen for table, state in s.blocked.items()),
        f"topics missing: {', '.join(missing)}" if missing else "",
    ]
    return "; ".join(filter(None, facts)) + "."


def publishing_sensor() -> dg.AutomationConditionSensorDefinition:
    """The automation condition sensor, on from the start; Dagster's own one starts switched off."""
    return dg.AutomationConditionSensorDefinition(
        name="publishing",
        target=dg.AssetSelection.all(),
        default_status=dg.DefaultSensorStatus.RUNNING,
        minimum_interval_seconds=10,
        description="Derives tables whose inputs have moved; brings Glue and Snowflake up to date.",
    )
