"""Lands tables whose topic has moved, and brings what follows up to date. Neither sensor reads a record."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Any

import dagster as dg
from dagster._core.definitions.asset_selection import TagAssetSelection
from dagster._core.definitions.assets.graph.base_asset_graph import BaseAssetGraph

from assets.checks.comparisons import check_keys
from assets.description import LANDED, TopicTable
from frazil.landing.arrivals import Arrivals, Due, Memory, look_at_each
from frazil.settings.profile import Settings
from resources.connections import FrazilConnections
from sensors.freshness import Freshness
from sensors.runs import (
    ARRIVALS,
    Steps,
    arrivals_wait,
    digest,
    end_lost_runs,
    reserved_tables,
    run_key,
    tables_at_work,
    tables_resting,
)
from sensors.small_landings import SmallLandings
from sensors.unheard import Unheard, in_step_run

_LANDED = TagAssetSelection(key=LANDED, value="topic", include_sources=False)


class _Landed(TagAssetSelection):
    """Stays a tag on the sensor's page. Dagster 1.13 writes a list of all keys there, of any other tag."""

    def to_serializable_asset_selection(self, asset_graph: BaseAssetGraph[Any]) -> dg.AssetSelection:
        return _LANDED


def arrivals_sensor(tables: Sequence[TopicTable], settings: Settings) -> dg.SensorDefinition:
    """One run for all tables whose waiting records, bytes or age reach what their spec says.

    At most one of its runs waits in the queue. Tables that a run lands right now are left out of the next.
    Those at which a run failed a moment ago, and those that `frazil run` lands, are looked at for their
    freshness only. With `small_landings: sensor` a tick lands by itself what is small.
    """
    watch = _Watch(tables, settings)

    @dg.sensor(
        name="arrivals",
        target=_Landed(key=_LANDED.key, value=_LANDED.value, include_sources=False),
        minimum_interval_seconds=10,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Lands tables when enough records wait in their topics, or have waited long enough.",
    )
    def arrivals(
        context: dg.SensorEvaluationContext, frazil: FrazilConnections
    ) -> list[dg.RunRequest] | dg.SkipReason:
        return watch.tick(context, frazil)

    return arrivals


@dataclass(frozen=True, slots=True)
class _Free:
    """The tables that no run lands right now."""

    tables: list[TopicTable]
    resting: Set[dg.AssetKey]  # a run failed at them a moment ago
    reserved: Set[dg.AssetKey]  # `frazil run` lands them

    @classmethod
    def of(cls, instance: dg.DagsterInstance, tables: Sequence[TopicTable], steps: Steps) -> _Free:
        """Asks Dagster which they are."""
        working, resting = tables_at_work(instance), tables_resting(instance, steps)
        free = [t for t in tables if _key(t) not in working]
        return cls(free, resting, reserved_tables(instance, [_key(t) for t in free]))

    @property
    def quiet(self) -> list[TopicTable]:
        """Those that nobody else lands."""
        return [t for t in self.tables if _key(t) not in self.reserved]

    def due(self, seen: Sequence[Arrivals]) -> list[Due]:
        """What is due of tables that may be landed now."""
        keys = {str(t.things.table): _key(t) for t in self.tables}
        every = (due for arrivals in seen for due in arrivals.due)
        return [due for due in every if keys[due.table] not in self.reserved | self.resting]

    def named(self, dues: Sequence[Due]) -> list[TopicTable]:
        """The tables that are due."""
        due_now = {due.table for due in dues}
        return [t for t in self.tables if str(t.things.table) in due_now]


class _Watch:
    """What the sensor remembers from tick to tick, and what it does at each."""

    def __init__(self, tables: Sequence[TopicTable], settings: Settings) -> None:
        self._tables, self._steps = tables, Steps.of(tables)
        self._memory: Memory = {}
        self._unheard, self._freshness = Unheard(), Freshness()
        self._small = SmallLandings(settings) if settings.small_landings == "sensor" else None

    def tick(
        self, context: dg.SensorEvaluationContext, frazil: FrazilConnections
    ) -> list[dg.RunRequest] | dg.SkipReason:
        """Looks at all tables, and asks for a run of those that are due."""
        instance = context.instance
        end_lost_runs(instance, context.code_location_origin)
        if arrivals_wait(instance):
            return dg.SkipReason("A run of this sensor waits to be started.")
        free = _Free.of(instance, self._tables, self._steps)
        seen, down = look_at_each([t.spec for t in free.tables], frazil.connections, self._memory)
        silent = [str(error) for error in down]
        behind = self._tell(context, frazil, free, seen)
        if not (dues := free.due(seen)):
            return behind or dg.SkipReason("\n".join([*silent, *self._why_nothing(free, seen, silent)]))
        for text in (*silent, *_failed(seen)):
            context.log.warning(text)
        for due in dues:
            context.log.info("%s: %s", due.table, due.reason)
        if self._small:
            dues = self._small.land(dues, instance, frazil.connections, context.log)
        if not dues:
            return behind or dg.SkipReason("All that is due is small, and wants no run: see the tick's log.")
        return [*behind, _request(instance, dues, free.named(dues))]

    def _tell(
        self,
        context: dg.SensorEvaluationContext,
        frazil: FrazilConnections,
        free: _Free,
        seen: Sequence[Arrivals],
    ) -> list[dg.RunRequest]:
        """Tells of freshness, and of commits that Dagster did not hear of; gives a run for their targets."""
        for arrivals in seen:
            self._freshness.tell(context.instance, arrivals, frazil.connections.settings)
        return in_step_run(
            self._unheard.look(_heads(seen), free.quiet, context.instance, frazil, context.log)
        )

    def _why_nothing(self, free: _Free, seen: Sequence[Arrivals], silent: Sequence[str]) -> list[str]:
        """Why nothing is landed, where somebody answered."""
        left_out = len(self._tables) - len(free.tables) + len(free.resting)
        return [_nothing(seen, left_out, len(free.reserved))] if seen or not silent else []


def _key(table: TopicTable) -> dg.AssetKey:
    return dg.AssetKey(table.things.iceberg_path)


def _heads(seen: Sequence[Arrivals]) -> dict[str, int | None]:
    """The heads of the tables that Frazil lands."""
    pairs = (pair for arrivals in seen for pair in arrivals.seen)
    return {state.identifier: state.snapshot_id for spec, state in pairs if not spec.is_read_only}


def _request(instance: dg.DagsterInstance, due: Sequence[Due], tables: Sequence[TopicTable]) -> dg.RunRequest:
    """The landing, its checks but for those that read the data, and what shows it to readers."""
    plan = digest((d.table, sorted(d.position.items()), d.records) for d in due)
    return dg.RunRequest(
        run_key=run_key(instance, plan),
        asset_selection=[key for t in tables for key in t.shown],
        asset_check_keys=[key for t in tables for key in check_keys(t, deep=False)],
        tags={ARRIVALS: plan},
    )


def _nothing(seen: Sequence[Arrivals], left_out: int, reserved: int) -> str:
    looked, waiting = sum(len(s.states) for s in seen), sum(s.waiting for s in seen)
    missing = [topic for s in seen for topic in s.missing]
    unknown = sum(s.unknown for s in seen)
    facts = [
        f"Tables looked at: {looked}; records waiting: {waiting}; none is due",
        f"{unknown} more must wait for the next tick" if unknown else "",
        f"{left_out} left out (landing now, or failed a moment ago)" if left_out else "",
        f"{reserved} are landed by `frazil run`" if reserved else "",
        *(f"{table}: {state}" for s in seen for table, state in s.blocked.items()),
        f"topics missing: {', '.join(missing)}" if missing else "",
        *_failed(seen),
    ]
    return "; ".join(filter(None, facts)) + "."


def _failed(seen: Sequence[Arrivals]) -> list[str]:
    return [f"{table} can't be read: {why}" for s in seen for table, why in s.failed.items()]


def publishing_sensor() -> dg.AutomationConditionSensorDefinition:
    """The automation condition sensor, on from the start; Dagster's own one starts switched off."""
    return dg.AutomationConditionSensorDefinition(
        name="publishing",
        target=dg.AssetSelection.all(),
        default_status=dg.DefaultSensorStatus.RUNNING,
        minimum_interval_seconds=10,
        description="Derives tables whose inputs have changed, and updates Glue and Snowflake.",
    )
