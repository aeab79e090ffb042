"""The component that a pipeline's defs.yaml names: topics become tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import dagster as dg
from pydantic import Field
from typing_extensions import TypeAliasType

from assets.checks.comparisons import table_checks
from assets.component import PipelineComponent, as_written, only_a_list
from assets.description import TopicTable
from assets.downstream import downstream_assets
from assets.iceberg import landing
from assets.kafka import topic_asset
from assets.tableflow import observed_table
from frazil.settings.profile import Settings
from frazil.spec.names import legal
from frazil.spec.topic import TableSpec

Specs = TypeAliasType("Specs", Sequence[TableSpec])
"""An alias, because Dagster asks of every model that it sees to have fields of Dagster's own kinds."""


class TopicTables(PipelineComponent):
    """Kafka topics that become Iceberg tables, shown wherever their specs say."""

    tables: Annotated[Specs, as_written(TableSpec)] = Field(
        description="One entry per topic.", json_schema_extra=only_a_list
    )

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """Assets and checks of all tables."""
        settings = Settings.load()
        tables = [TopicTable(spec, settings, origin) for spec, origin in self.written(self.tables, context)]
        step = f"{legal(Path(context.path).stem)}_landing"
        landed = [table for table in tables if not table.spec.is_read_only]
        return dg.Definitions(
            assets=[*([landing(step, landed)] if landed else []), *_assets(tables)],
            asset_checks=[check for table in tables for check in table_checks(table)],
        )


def _assets(tables: Sequence[TopicTable]) -> Iterable[dg.AssetsDefinition]:
    for topic in dict.fromkeys(table.things.kafka_path for table in tables):
        yield topic_asset([table for table in tables if table.things.kafka_path == topic])
    for table in tables:
        if table.spec.is_read_only:
            yield observed_table(table)
        yield from downstream_assets(table)
