"""Tells a Dagster instance what the command line did: runless events, as if an asset had run."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from frazil.checks.result import CheckResult
from frazil.clients import Clients
from frazil.connections import Connections
from frazil.derive.derive import DeriveReport
from frazil.derive.state import DerivedState
from frazil.landing.report import LandingReport
from frazil.landing.state import TableState
from frazil.publishing.target import Shown
from frazil.settings import Settings
from frazil.spec.derived import DerivedSpec
from frazil.spec.names import Things
from frazil.spec.table import AnyTable
from frazil.spec.topic import TableSpec
from frazil.upkeep.work import WorkReport
from resources.metadata import Metadata

if TYPE_CHECKING:
    import dagster as dg


__all__ = ["DagsterReporter"]


class DagsterReporter:
    """Reports to the instance of `$DAGSTER_HOME`, or of the profile's `dagster_home`.

    Dagster is imported when there is something to report: `frazil status` need not wait for it.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    @property
    def listens(self) -> bool:
        """Whether there is an instance: a home with a dagster.yaml."""
        return self._home is not None

    def landed(self, spec: TableSpec, things: Things, report: LandingReport) -> None:
        """A materialization of the Iceberg asset."""
        from frazil.landing.state import table_states
        from resources.metadata import landing_metadata

        state = table_states([spec], self._connections)[0]
        self._grown(spec, things, landing_metadata(report), state)

    def derived(self, spec: DerivedSpec, things: Things, report: DeriveReport) -> None:
        """A materialization of the Iceberg asset."""
        from frazil.derive.state import derived_states
        from resources.metadata import derive_metadata

        state = derived_states([spec], self._connections)[0]
        self._grown(spec, things, derive_metadata(report), state)

    def synced(self, spec: AnyTable, things: Things, shown: Sequence[Shown]) -> None:
        """Materializations of the targets' assets."""
        from frazil.tables.catalog import load_table
        from resources.metadata import shown_materializations

        schema = load_table(self._connections.catalog, things.table).schema()
        with self._instance() as instance:
            for event in shown_materializations(schema, shown):
                instance.report_runless_asset_event(event)

    def kept_up(self, spec: AnyTable, things: Things, report: WorkReport) -> None:
        """An observation of the Iceberg asset."""
        from resources.metadata import upkeep_observation

        with self._instance() as instance:
            instance.report_runless_asset_event(upkeep_observation(things, report))

    def checked(self, spec: AnyTable, things: Things, result: CheckResult) -> None:
        """An evaluation of the asset check of that name; none where it was skipped."""
        from resources.metadata import check_evaluation

        if result.status == "skipped":
            return
        with self._instance() as instance:
            instance.report_runless_asset_event(check_evaluation(result))

    @cached_property
    def _home(self) -> Path | None:
        named = os.environ.get("DAGSTER_HOME")
        home = Path(named) if named else self._settings.dagster_home
        return home if home and (home / "dagster.yaml").is_file() else None

    @cached_property
    def _connections(self) -> Connections:
        return Clients(self._settings)

    @contextmanager
    def _instance(self) -> Iterator[dg.DagsterInstance]:
        import dagster as dg

        with dg.DagsterInstance.from_config(str(self._home)) as instance:
            yield instance

    def _grown(
        self, spec: AnyTable, things: Things, brought: Metadata, state: TableState | DerivedState
    ) -> None:
        """Reports what was brought into an Iceberg table, and the table as it stands."""
        import dagster as dg

        from frazil.tables.catalog import load_table
        from frazil.upkeep.census import census_of
        from resources.metadata import table_metadata

        table = load_table(self._connections.catalog, things.table)
        census = census_of(spec, self._connections, time.time())
        metadata = {**brought, **table_metadata(table, state, census)}
        with self._instance() as instance:
            instance.report_runless_asset_event(
                dg.AssetMaterialization(asset_key=dg.AssetKey(things.iceberg_path), metadata=metadata)
            )
