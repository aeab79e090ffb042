"""Events of assets that no step of theirs made: upkeep's own, and what it showed to readers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import dagster as dg

from frazil.publishing.target import Shown
from frazil.spec.names import Things
from frazil.upkeep.work import WorkReport
from resources.metadata import shown_metadata, upkeep_metadata

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


def shown_materializations(schema: Schema, shown: Iterable[Shown]) -> Iterator[dg.AssetMaterialization]:
    """Targets show the table as it is now."""
    for each in shown:
        yield dg.AssetMaterialization(dg.AssetKey(each.path), metadata=shown_metadata(each, schema))
