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
from assets.kafka import topic_assets
from assets.tableflow import observed_table
from frazil.spec.names import legal
from frazil.spec.topic import TableSpec

Specs = TypeAliasType("Specs", Sequence[TableSpec])
"""An alias, because Dagster asks of every model that it sees to have fields of Dagster's own kinds."""


class TopicTables(PipelineComponent):
    """Kafka topics that become Iceberg tables, shown wherever their specs say."""

    _kind = TableSpec
    tables: Annotated[Specs, as_written(TableSpec)] = Field(
        description="One entry per topic.", json_schema_extra=only_a_list
    )

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """Assets and checks of all tables."""
        loaded, written = self.loaded(), self.written(self.tables, context)
        tables = [TopicTable(spec, loaded.settings, origin, loaded.fields) for spec, origin in written]
        name = legal(Path(context.path).stem)
        landed = [table for table in tables if not table.spec.is_read_only]
        return dg.Definitions(
            assets=[
                *([topic_assets(f"{name}_topics", tables)] if tables else []),
                *([landing(f"{name}_landing", landed)] if landed else []),
                *_followers(tables),
            ],
            asset_checks=list(map(table_checks, tables)),
        )


def _followers(tables: Sequence[TopicTable]) -> Iterable[dg.AssetsDefinition]:
    for table in tables:
        if table.spec.is_read_only:
            yield observed_table(table)
        yield from downstream_assets(table)
