"""One table beside what its targets show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from frazil.checks.run import checks_of, run_check
from frazil.checks.targets.drift import REPAIRED, Drift, State
from frazil.connections import Connections
from frazil.errors import FrazilError, NotYetError, RetryError, explain
from frazil.publishing.columns import Column, differences
from frazil.publishing.labels import label_differences
from frazil.publishing.pointer import is_foreign, is_in_step, metadata_shown, ways_on
from frazil.publishing.reading import AtRest, Seen, rows_shown
from frazil.publishing.target import Shown, Target
from frazil.publishing.targets import targets_of
from frazil.spec.names import AssetPath, Things, things
from frazil.spec.table import AnyTable
from frazil.tables.catalogs.catalog import catalog_errors
from frazil.tables.catalogs.handle import handle_of
from frazil.tables.metadata.snapshots import ancestors, made_at
from frazil.tables.spark.session import live_rows
from frazil.upkeep.expiry.references import pointer_of

if TYPE_CHECKING:
    from pyiceberg.table import Table


@dataclass(frozen=True)
class Comparison:
    """One table beside what its targets show."""

    spec: AnyTable
    connections: Connections
    seen: Mapping[AssetPath, Seen]
    known: Mapping[AssetPath, Table | AtRest | FrazilError]
    now: float
    counts: bool

    @cached_property
    def things(self) -> Things:
        """Its names."""
        return things(self.spec, self.connections.settings)

    @cached_property
    def blocked_by(self) -> str:
        """What the first blocking check of the Iceberg table says that fails; empty where none does."""
        path, settings = self.things.iceberg_path, self.connections.settings
        for check in checks_of(self.spec, settings).values():
            if check.blocking and check.asset == path:
                try:
                    result = run_check(check.name, self.spec, self.connections)
                except RetryError:  # what can't be looked at holds nothing back
                    continue
                if result.failed:
                    return f"{check.name}: {result.text.splitlines()[0]}"
        return ""

    def drifts(self) -> Iterator[Drift]:
        """A drift for each target; none where neither the table nor an entry of it is there."""
        path = self.things.iceberg_path
        table = self.known[path] if path in self.known else self._loaded()
        targets = targets_of(self.spec, self.connections.settings)
        if isinstance(table, AtRest):
            yield from (self._at_rest(target, table) for target in targets)
            return
        rows = self._rows(table) if self.counts and not isinstance(table, FrazilError) else None
        before: dict[AssetPath, Drift] = {}
        for target in targets:
            seen = self.seen[target.path]
            drift = self._drift(target, seen, table, before.get(target.upstream))
            if drift and rows is not None and not isinstance(table, FrazilError):
                drift = self._counted(drift, seen, table, rows)
            if drift:
                before[target.path] = drift
                yield drift

    def _loaded(self) -> Table | FrazilError:
        try:
            with catalog_errors(self.connections.settings):
                return handle_of(self.spec, self.connections).load()
        except Exception as e:  # noqa: BLE001 - it is why nothing can be compared
            return explain(e)

    def _in_step(self, target: Target) -> Drift:
        return Drift(str(self.things.table), target.word, target.relations[0], "in step")

    def _at_rest(self, target: Target, table: AtRest) -> Drift:
        """Of a target that shows a table as Frazil put it there: what it tells people may differ."""
        seen, location = self.seen[target.path], table.metadata_location
        assert isinstance(seen, Shown)
        drift = replace(self._in_step(target), iceberg_metadata=location, shown_metadata=location)
        return self._changed(drift, target, None, seen)

    def _drift(
        self, target: Target, seen: Seen, table: Table | FrazilError, before: Drift | None
    ) -> Drift | None:
        drift = self._in_step(target)
        if isinstance(seen, FrazilError):
            return _without_state(drift, seen)
        if isinstance(table, NotYetError):
            return self._left_over(drift, seen)
        if isinstance(table, FrazilError):
            return _without_state(drift, table)
        drift = replace(drift, iceberg_metadata=table.metadata_location)
        if seen is None:
            return self._published(target, self._missing(drift, table), "missing", before)
        drift = replace(drift, shown_metadata=seen.metadata_location)
        if is_foreign(table, seen):
            return self._foreign(drift, table, seen)
        if not is_in_step(table, seen.metadata_location):
            return self._published(target, self._late(drift, target, table, seen), "behind", before)
        return self._changed(drift, target, target.columns(table), seen)

    def _changed(self, drift: Drift, target: Target, columns: Sequence[Column] | None, seen: Shown) -> Drift:
        """One that shows the current metadata, with the first thing in which it differs all the same.

        `columns` are those that it should list; None where there are none to compare.
        """
        role = self.connections.settings.snowflake.role
        differing: dict[State, tuple[str, ...]] = {
            "columns": differences(seen.columns, columns),
            "policies": seen.unmasked,
            "grants": (f"role {role} lacks {', '.join(seen.lacks)}",) if seen.lacks else (),
            "labels": label_differences(seen.labels, target.labels()),
        }
        for state, lines in differing.items():
            if lines:
                return replace(drift, state=state, why="; ".join(lines), todo=self._sync)
        return drift

    def _rows(self, table: Table) -> int | FrazilError:
        """The rows of the table, or why nobody knows."""
        try:
            return live_rows(self.connections, self.things.table, table.current_snapshot())
        except Exception as e:  # noqa: BLE001 - it is why nobody knows
            return explain(e)

    def _counted(self, drift: Drift, seen: Seen, table: Table, rows: int | FrazilError) -> Drift:
        """A drift with its rows; one that differs in nothing else differs if these do."""
        if isinstance(rows, FrazilError):
            return _without_state(drift, rows)
        try:
            shown = rows_shown(seen, table, rows, self.connections) if isinstance(seen, Shown) else None
        except Exception as e:  # noqa: BLE001 - it is why nobody knows
            return _without_state(drift, explain(e))
        at = seen.refreshed if isinstance(seen, Shown) else None
        drift = replace(drift, rows=rows, rows_shown=shown, refreshed=at)
        if drift.differs or shown in (None, rows):
            return drift
        head = table.current_snapshot()
        since = made_at(head) if head else None
        why = f"it shows the current metadata, and {shown:,} rows of {rows:,}"
        todo = f"Look whether a row access policy hides some; `frazil check {drift.table}` counts the rows."
        seconds = None if since is None else self.now - since
        return replace(drift, state="rows", why=why, todo=todo, since=since, seconds=seconds)

    def _left_over(self, drift: Drift, seen: Shown | None) -> Drift | None:
        if seen is None or seen.put == "":  # an entry of somebody else's
            return None
        todo = f"`frazil reset {drift.table}` removes what shows it."
        why = "the Iceberg table is gone, or was never made"
        left = replace(drift, state="left over", why=why, todo=todo)
        return replace(left, shown_metadata=seen.metadata_location, snapshots=None, seconds=None)

    def _published(self, target: Target, drift: Drift, state: State, before: Drift | None) -> Drift:
        """What publishing brings in step, unless a check, or the target that it follows, keeps it back."""
        if before and before.state not in ("in step", *REPAIRED):
            return replace(drift, state=before.state, why=f"it follows {before.name}", todo=before.todo)
        if target.maker:
            return replace(drift, state=state, why=f"{target.maker} keeps it", todo=target.maker.todo)
        if self.blocked_by:
            todo = f"`frazil check {drift.table}` shows what to do."
            return replace(drift, state="held", why=self.blocked_by, todo=todo)
        why = "it has no such table" if state == "missing" else "nothing keeps it back"
        return replace(drift, state=state, why=why, todo=self._sync)

    def _late(self, drift: Drift, target: Target, table: Table, seen: Shown) -> Drift:
        reader = pointer_of(target, seen, table)
        shown = metadata_shown(table, seen.metadata_location)
        line = [snapshot.snapshot_id for snapshot in ancestors(table.metadata)]
        at = shown.current_snapshot_id if shown else None
        known = len(line) if shown and at is None else line.index(at) if at in line else None
        seconds = reader.lag(self.now) if reader else None
        return replace(drift, snapshots=known, seconds=seconds, since=reader.since if reader else None)

    def _missing(self, drift: Drift, table: Table) -> Drift:
        line = [made_at(snapshot) for snapshot in ancestors(table.metadata)]
        since = line[-1] if line else None
        seconds = None if since is None else self.now - since
        return replace(drift, snapshots=len(line), seconds=seconds, since=since)

    def _foreign(self, drift: Drift, table: Table, seen: Shown) -> Drift:
        why = f"it shows {seen.metadata_location or 'no metadata'}, which Frazil did not put there"
        name, rule = drift.table, self.spec.foreign_commits
        todo = ways_on(name) if rule == "alarm" else self._sync
        return replace(drift, state="foreign", why=why, todo=todo, snapshots=None, seconds=None)

    @property
    def _sync(self) -> str:
        return f"`frazil drift {self.things.table} --repair` publishes it."


def _without_state(drift: Drift, error: FrazilError) -> Drift:
    state: State = "down" if isinstance(error, RetryError) else "refused"
    return replace(
        drift, state=state, why=error.what, todo=error.todo, error=error, snapshots=None, seconds=None
    )
