"""The component that a pipeline's defs.yaml names: tables become other tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated

import dagster as dg
from pydantic import Field
from typing_extensions import TypeAliasType

from assets.checks import table_checks
from assets.component import PipelineComponent, as_written
from assets.dead_letters import derived_dead_letter_asset
from assets.derivations import KNOWN, DerivedTable
from assets.derived import derived_asset
from assets.targets import target_asset
from frazil.settings import Settings
from frazil.spec.derived import DerivedSpec

__all__ = ["DerivedTables"]

Specs = TypeAliasType("Specs", Sequence[DerivedSpec])
"""An alias, because Dagster asks of every model that it sees to have fields of Dagster's own kinds."""


class DerivedTables(PipelineComponent):
    """Iceberg tables that are made of other tables, shown wherever their specs say."""

    tables: Annotated[Specs, as_written(DerivedSpec)] = Field(description="One entry per table.")

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """Assets and checks of all tables."""
        settings, known = Settings.load(), KNOWN.get()
        tables = [
            DerivedTable(spec, settings, origin, known) for spec, origin in self.written(self.tables, context)
        ]
        return dg.Definitions(
            assets=[asset for table in tables for asset in _assets(table)],
            asset_checks=[check for table in tables for check in table_checks(table)],
        )


def _assets(table: DerivedTable) -> Iterable[dg.AssetsDefinition]:
    yield derived_asset(table)
    if table.keeps_dead_letters:
        yield derived_dead_letter_asset(table)
    yield from (target_asset(table, target) for target in table.targets)
