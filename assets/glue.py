"""Glue entries as assets: what AWS' engines, and Snowflake, find a table by."""

from __future__ import annotations

from typing import Any

import dagster as dg

from assets.automation import after_upstream
from assets.described import PipelineTable, asset_spec, op_name
from assets.outcome import engine_errors
from frazil.publishing.glue import sync_glue
from frazil.tables.catalog import catalog_errors, load_table
from resources.connections import FrazilConnections
from resources.metadata import column_lineage, glue_metadata

__all__ = ["glue_asset"]

_ABOUT = """Glue entry `{name}`, of type ICEBERG. Materializing it points the entry to the current \
metadata of Iceberg table `{table}`, under Glue's version check."""


def glue_asset(table: PipelineTable) -> dg.AssetsDefinition:
    """The Glue entry of one table, in step with it by automation."""
    names = table.things
    spec = asset_spec(
        table,
        names.glue_path,
        kinds={"glue"},
        about=_ABOUT.format(name=".".join(names.glue_path[1:]), table=names.table),
        code=sync_glue,
        upstream=[names.iceberg_path],
        columns=table.columns,
        automation=after_upstream(),
    )

    @dg.multi_asset(name=op_name(names.glue_path), specs=[spec])
    def entry(frazil: FrazilConnections) -> dg.MaterializeResult[Any]:
        connections = frazil.connections
        with engine_errors(), catalog_errors(connections.settings):
            state = sync_glue(connections, names)
            schema = load_table(connections.catalog, names.table).schema()
        lineage = column_lineage((f.name for f in schema.fields), dg.AssetKey(names.iceberg_path))
        return dg.MaterializeResult(
            metadata={**glue_metadata(state, schema), "dagster/column_lineage": lineage}
        )

    return entry
