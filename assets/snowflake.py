"""Snowflake's Iceberg tables as assets: refreshed through Glue, with a view for people beside each."""

from __future__ import annotations

from typing import Any

import dagster as dg

from assets.automation import after_upstream
from assets.described import PipelineTable, asset_spec, op_name
from assets.outcome import engine_errors
from frazil.formats.columns import metadata_names
from frazil.publishing.snowflake.tables import publish_table
from frazil.tables.catalog import catalog_errors, load_table
from resources.connections import FrazilConnections
from resources.metadata import column_lineage, snowflake_metadata

__all__ = ["snowflake_asset"]

_ABOUT = """Snowflake's Iceberg table `{name}`, read in place. Materializing it makes external volume, \
catalog integration, table and view where they are missing, and refreshes the table to what Glue says."""


def snowflake_asset(table: PipelineTable) -> dg.AssetsDefinition:
    """The Snowflake table of one table. Its upstream is the Glue entry: that is where it looks."""
    names = table.things
    spec = asset_spec(
        table,
        names.snowflake_path,
        kinds={"snowflake", "iceberg"},
        about=_ABOUT.format(name=".".join(names.snowflake_path[1:])),
        code=publish_table,
        upstream=[names.glue_path],
        columns=table.columns,
        automation=after_upstream(),
    )

    @dg.multi_asset(name=op_name(names.snowflake_path), specs=[spec])
    def shown(frazil: FrazilConnections) -> dg.MaterializeResult[Any]:
        connections = frazil.connections
        with engine_errors(), catalog_errors(connections.settings):
            state = publish_table(connections, names, metadata_names(table.spec))
            schema = load_table(connections.catalog, names.table).schema()
        lineage = column_lineage((f.name for f in schema.fields), dg.AssetKey(names.glue_path))
        return dg.MaterializeResult(
            metadata={**snowflake_metadata(state, schema), "dagster/column_lineage": lineage}
        )

    return shown
