"""Events of assets that no step of theirs made: upkeep's own, and what it showed to readers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import dagster as dg

from frazil.publishing.glue import GlueState
from frazil.publishing.snowflake.tables import SnowflakeState
from frazil.spec.names import Things
from frazil.upkeep.work import WorkReport
from resources.metadata import column_lineage, glue_metadata, snowflake_metadata, upkeep_metadata

if TYPE_CHECKING:
    from pyiceberg.schema import Schema


__all__ = ["shown_materializations", "upkeep_observation"]


def upkeep_observation(things: Things, report: WorkReport) -> dg.AssetObservation:
    """What was done to an Iceberg table. No materialization: its rows are as old as before."""
    return dg.AssetObservation(
        asset_key=dg.AssetKey(things.iceberg_path),
        description=report.text,
        metadata=upkeep_metadata(report),
    )


def shown_materializations(
    things: Things, schema: Schema, glue: GlueState | None, snowflake: SnowflakeState | None
) -> Iterator[dg.AssetMaterialization]:
    """Glue and Snowflake show the table as it is now; None where that was not done."""
    columns = [field.name for field in schema.fields]
    if glue:
        lineage = column_lineage(columns, dg.AssetKey(things.iceberg_path))
        metadata = {**glue_metadata(glue, schema), "dagster/column_lineage": lineage}
        yield dg.AssetMaterialization(asset_key=dg.AssetKey(things.glue_path), metadata=metadata)
    if snowflake:
        lineage = column_lineage(columns, dg.AssetKey(things.glue_path))
        metadata = {**snowflake_metadata(snowflake, schema), "dagster/column_lineage": lineage}
        yield dg.AssetMaterialization(asset_key=dg.AssetKey(things.snowflake_path), metadata=metadata)
