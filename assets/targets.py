"""Targets as assets: what other engines find a table by, in step with it by automation."""

from __future__ import annotations

from typing import Any

import dagster as dg

from assets.automation import after_upstream
from assets.described import PipelineTable, asset_spec, op_name
from assets.outcome import engine_errors
from frazil.publishing.target import Target
from frazil.tables.catalog import catalog_errors, load_table
from resources.connections import FrazilConnections
from resources.metadata import shown_metadata

__all__ = ["target_asset"]


def target_asset(table: PipelineTable, target: Target) -> dg.AssetsDefinition:
    """One table in one target. It follows the asset that the target looks at."""
    spec = asset_spec(
        table,
        target.path,
        kinds={target.word, "iceberg"},
        about=target.about,
        code=type(target).sync,
        upstream=[target.upstream],
        columns=table.columns,
        automation=after_upstream(),
    )

    @dg.multi_asset(name=op_name(target.path), specs=[spec])
    def shown(frazil: FrazilConnections) -> dg.MaterializeResult[Any]:
        connections = frazil.connections
        with engine_errors(), catalog_errors(connections.settings):
            now = target.sync(connections)
            schema = load_table(connections.catalog, table.things.table).schema()
        return dg.MaterializeResult(metadata=shown_metadata(now, schema))

    return shown
