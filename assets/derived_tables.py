"""The component that a pipeline's defs.yaml names: tables become other tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import dagster as dg
from pydantic import Field
from typing_extensions import TypeAliasType

from assets.checks.comparisons import table_checks
from assets.component import PipelineComponent, as_written, only_a_list
from assets.derived import DerivedTable, derived_asset
from assets.downstream import downstream_assets
from frazil.spec.derived import DerivedSpec

Specs = TypeAliasType("Specs", Sequence[DerivedSpec])
"""An alias, because Dagster asks of every model that it sees to have fields of Dagster's own kinds."""


class DerivedTables(PipelineComponent):
    """Iceberg tables that are made of other tables, shown wherever their specs say."""

    _kind = DerivedSpec
    tables: Annotated[Specs, as_written(DerivedSpec)] = Field(
        description="One entry per table.", json_schema_extra=only_a_list
    )

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """Assets and checks of all tables, but for those that wait for a broken pipeline."""
        loaded = self.loaded()
        written = self.written(self.tables, context)
        every = [
            DerivedTable(spec, loaded.settings, origin, loaded.columns or {}) for spec, origin in written
        ]
        tables = [table for table in every if loaded.columns is None or table.things.table in loaded.columns]
        return dg.Definitions(
            assets=[asset for t in tables for asset in (derived_asset(t), *downstream_assets(t))],
            asset_checks=list(map(table_checks, tables)),
        )
