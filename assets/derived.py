"""Derived tables as assets: a step for each, which runs after its inputs by itself."""

# No `from __future__ import annotations`: Dagster compares the types of arguments, not their names.
import time
from typing import Any

import dagster as dg
from pydantic import Field

from assets.automation import after_upstream
from assets.derivations import DerivedTable
from assets.described import asset_spec, op_name
from assets.outcome import engine_errors
from frazil.connections import Connections
from frazil.derive.derive import derive
from frazil.derive.report import DeriveReport
from frazil.derive.state import derived_states
from frazil.errors import OvertakenError
from frazil.tables.catalog import load_table
from frazil.upkeep.census.table import census_of
from resources.connections import FrazilConnections
from resources.metadata import census_metadata, derive_metadata, table_metadata

__all__ = ["DeriveConfig", "derived_asset"]

_ABOUT = """Iceberg table `{table}`, made of {inputs} (kind `{kind}`). Materializing it reads what is new in \
them since the snapshots that the table itself records, and adds each row once. `rebuild: true` in the \
launchpad makes all of it anew."""


class DeriveConfig(dg.Config):
    """How to derive."""

    rebuild: bool = Field(False, description="Make all rows anew from the whole inputs, in one commit.")


def derived_asset(table: DerivedTable) -> dg.AssetsDefinition:
    """The Iceberg table that is made of others."""
    names = table.things

    @dg.multi_asset(name=op_name(names.iceberg_path), specs=[_spec(table)])
    def derived(
        context: dg.AssetExecutionContext, config: DeriveConfig, frazil: FrazilConnections
    ) -> dg.MaterializeResult[Any]:
        connections, run = frazil.connections, context.run.run_id
        with engine_errors():
            try:
                report = derive(table.spec, connections, rebuild=config.rebuild, run_id=run)
            except OvertakenError as e:
                context.log.warning(str(e))
                report = None
            return _derived(table, report, connections)

    return derived


def _spec(table: DerivedTable) -> dg.AssetSpec:
    spec, names, inputs = table.spec, table.things, table.inputs.values()
    about = {"table": names.table, "kind": spec.kind, "inputs": ", ".join(f"`{name}`" for name in inputs)}
    return asset_spec(
        table,
        names.iceberg_path,
        kinds={"iceberg", "spark", "sql" if spec.sql else "python"},
        about=_ABOUT.format_map(about),
        code=derive,
        upstream=[("iceberg", *name.identifier) for name in inputs],
        columns=table.columns,
        lineage=table.lineage,
        automation=after_upstream(),
        freshness=table.freshness,
    )


def _derived(
    table: DerivedTable, report: DeriveReport | None, connections: Connections
) -> dg.MaterializeResult[Any]:
    """The table as it stands, and what this run brought; nothing, if another was quicker."""
    spec, names = table.spec, table.things
    current = load_table(connections.catalog, names.table)
    lineage = table.lineage
    return dg.MaterializeResult(
        asset_key=dg.AssetKey(names.iceberg_path),
        metadata={
            **(derive_metadata(report) if report else {"rows_added": 0}),
            "overtaken": report is None,
            **table_metadata(current, derived_states([spec], connections)[0]),
            **census_metadata(census_of(spec, connections, time.time())),
            **({"dagster/column_lineage": lineage} if lineage else {}),
        },
    )
