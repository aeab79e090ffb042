"""Commits that Dagster never heard of, because their process was killed; and targets that did not follow."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import takewhile
from typing import TYPE_CHECKING

import dagster as dg

from assets.description import PipelineTable
from frazil.checks.result import Check
from frazil.checks.run import checks_of, run_check
from frazil.connections import Connections
from frazil.continuous.bulletin import HELD_FOR
from frazil.errors import RetryError, explain
from frazil.landing.position.ledger import ledgers
from frazil.spec.table import AnyTable
from frazil.tables.catalogs.catalog import catalog_errors
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.metadata.snapshots import UPKEEP, ancestors, made_at, summary_of
from frazil.upkeep.work import only_upkeep_since
from resources.connections import FrazilConnections
from resources.events import check_evaluation, grown, letters_counted
from resources.metadata import SNAPSHOT

if TYPE_CHECKING:
    from pyiceberg.table.metadata import TableMetadata


GRACE = HELD_FOR
"""Seconds that a process has to report its commit, and targets to follow."""

_ASK_EVERY = 600.0  # seconds: what a target refuses it most likely refuses again
_MOST = 20  # tables that are told in one tick, or whose targets are looked at

_Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class _Head:
    """A head of `main`, and since when it is known."""

    snapshot_id: int
    since: float


@dataclass
class Unheard:
    """One sensor's look at what was committed; quiet tables cost nothing, for what is known is remembered."""

    clock: _Clock = time.time
    _heads: dict[str, _Head] = field(default_factory=dict)
    _known: dict[str, int] = field(default_factory=dict)
    _follow: dict[str, float] = field(default_factory=dict)  # when to look at the targets

    def look(
        self,
        heads: Mapping[str, int | None],
        tables: Sequence[PipelineTable],
        instance: dg.DagsterInstance,
        frazil: FrazilConnections,
        log: logging.Logger,
    ) -> dict[str, list[dg.AssetCheckKey]]:
        """Tells Dagster of commits that nobody told it of.

        Args:
            heads: By table the present snapshot.
            tables: Those that nobody works on.

        Returns:
            By table the checks of the targets that stay behind it.
        """
        now = self.clock()
        by_name = {str(t.things.table): t for t in tables}
        heads = {name: head for name, head in heads.items() if name in by_name}
        for name in self._ripe(heads, now)[:_MOST]:
            try:
                if _tell(by_name[name], heads[name], instance, frazil.of(by_name[name].spec)):
                    log.warning("%s: nobody told of its newest commit; Dagster knows of it now", name)
                self._known[name] = self._heads[name].snapshot_id
                self._follow[name] = now + GRACE
            except Exception as e:  # noqa: BLE001 - the next tick looks again; no other table waits for this
                log.warning("%s: whether Dagster knows its head can't be told. %s", name, explain(e))
        waits = [n for n, at in self._follow.items() if n in heads and at <= now][:_MOST]
        looked = {name: list(self._behind(by_name[name], instance, frazil, log, now)) for name in waits}
        return {name: checks for name, checks in looked.items() if checks}

    def _ripe(self, heads: Mapping[str, int | None], now: float) -> list[str]:
        """The tables whose head is not known to be told, and has been there for long enough."""
        for name, head in heads.items():
            if head is not None and (name not in self._heads or self._heads[name].snapshot_id != head):
                self._heads[name] = _Head(head, now)
        ripe = {n for n in heads if n in self._heads and now - self._heads[n].since >= GRACE}
        return [n for n in heads if n in ripe and self._known.get(n) != heads[n] is not None]

    def _behind(
        self,
        table: PipelineTable,
        instance: dg.DagsterInstance,
        frazil: FrazilConnections,
        log: logging.Logger,
        now: float,
    ) -> Iterator[dg.AssetCheckKey]:
        """The checks of targets that did not follow since Dagster heard of the table; they are told."""
        name = str(table.things.table)
        lagging = [] if _is_refused(table, instance) else _lagging(table, instance)
        if not lagging:
            del self._follow[name]
            return
        self._follow[name] = now + _ASK_EVERY
        for target in table.targets:
            if (key := dg.AssetKey(target.path)) in lagging:
                log.warning("%s: %s did not follow", name, key.to_user_string())
                _tell_check(target.check, table.spec, instance, frazil.of(table.spec))
                yield dg.AssetCheckKey(key, target.check)


def _tell(
    table: PipelineTable, head: int | None, instance: dg.DagsterInstance, connections: Connections
) -> bool:
    """Tells of the table as it stands, unless Dagster knows all of it but upkeep; whether it did."""
    newest = instance.fetch_materializations(dg.AssetKey(table.things.iceberg_path), limit=1).records
    heard = _Heard.of(newest[0]) if newest else _Heard(None, 0.0)
    if heard.snapshot_id == head:
        return False
    with catalog_errors(connections.settings):
        metadata = TableHandle(connections.catalog, table.things.table).load().metadata
    if heard.is_all_of(metadata):
        return False
    new = takewhile(lambda each: made_at(each[0]) > heard.at, ledgers(metadata))
    brought = {
        "rows_landed": sum(ledger.records for _, ledger in new),
        "noticed": "This commit was never reported to Dagster.",
    }
    instance.report_runless_asset_event(grown(table.spec, connections, brought))
    for letters in letters_counted(table.spec, connections):
        instance.report_runless_asset_event(letters)
    for check in _own_checks(table):
        _tell_check(check.name, table.spec, instance, connections)
    return True


@dataclass(frozen=True, slots=True)
class _Heard:
    """What Dagster heard last of a table, and when."""

    snapshot_id: int | None
    at: float

    @classmethod
    def of(cls, record: dg.EventLogRecord) -> _Heard:
        """By a materialization; those of earlier versions of Frazil name no snapshot."""
        event = record.asset_materialization
        snapshot = event.metadata.get(SNAPSHOT) if event else None
        return cls(int(str(snapshot.value)) if snapshot else None, record.timestamp)

    def is_all_of(self, metadata: TableMetadata) -> bool:
        """Whether nothing but upkeep happened since; by the time of the snapshots where that one expired."""
        if metadata.snapshot_by_id(self.snapshot_id or 0):
            return only_upkeep_since(metadata, self.snapshot_id)
        work = (s for s in ancestors(metadata) if UPKEEP not in summary_of(s))
        return self.at > 0 and all(made_at(s) <= self.at for s in work)


def _own_checks(table: PipelineTable) -> list[Check]:
    """The checks of the table itself that read no data."""
    checks = checks_of(table.spec, table.settings).values()
    return [check for check in checks if check.asset == table.things.iceberg_path and not check.deep]


def _lagging(table: PipelineTable, instance: dg.DagsterInstance) -> Collection[dg.AssetKey]:
    """The targets that Dagster heard of before it heard of the table, or never."""
    wanted = {
        path: dg.AssetKey(path) for path in (table.things.iceberg_path, *(t.path for t in table.targets))
    }
    ids = instance.event_log_storage.get_latest_materialization_storage_ids(list(wanted.values()))
    of_table = ids.get(wanted.pop(table.things.iceberg_path))
    return [] if of_table is None else [k for k in wanted.values() if (ids.get(k) or -1) < of_table]


def _is_refused(table: PipelineTable, instance: dg.DagsterInstance) -> bool:
    """Whether a blocking check keeps the targets from following."""
    blocking = [check for check in _own_checks(table) if check.blocking]
    keys = [dg.AssetCheckKey(dg.AssetKey(check.asset), check.name) for check in blocking]
    newest = instance.event_log_storage.get_latest_asset_check_execution_by_key(keys)
    return any(record.status.value == "FAILED" for record in newest.values())


def _tell_check(name: str, spec: AnyTable, instance: dg.DagsterInstance, connections: Connections) -> None:
    """Tells how a check comes out now; nothing, where a server does not answer."""
    with suppress(RetryError):
        result = run_check(name, spec, connections)
        if result.status != "skipped":
            instance.report_runless_asset_event(check_evaluation(result, instance))


def in_step_run(behind: Mapping[str, Sequence[dg.AssetCheckKey]]) -> list[dg.RunRequest]:
    """A run that brings targets in step, with their checks."""
    checks = [check for of in behind.values() for check in of]
    keys = [check.asset_key for check in checks]
    key = f"behind-{time.time_ns()}"
    return [dg.RunRequest(run_key=key, asset_selection=keys, asset_check_keys=checks)] if checks else []


def tell_again(
    behind: Collection[str],
    tables: Sequence[PipelineTable],
    instance: dg.DagsterInstance,
    frazil: FrazilConnections,
) -> None:
    """Tells of tables once more, so that automation brings their targets in step."""
    for table in (t for t in tables if str(t.things.table) in behind):
        brought = {"noticed": "A target did not follow."}
        instance.report_runless_asset_event(grown(table.spec, frazil.of(table.spec), brought))
