"""Iceberg tables as assets: one step lands all chosen tables of a pipeline, a few at a time."""

# No `from __future__ import annotations`: Dagster compares the type of `context`, not its name.
import time
from collections.abc import Iterator, Sequence
from typing import Any

import dagster as dg

from assets.described import TopicTable, asset_spec
from assets.outcome import engine_errors
from frazil.connections import Connections
from frazil.errors import FrazilError, OvertakenError
from frazil.landing.land import LandingReport, land
from frazil.landing.many import land_many
from frazil.landing.state import table_states
from frazil.tables.catalog import load_table
from frazil.upkeep.census import census_of
from resources.connections import FrazilConnections
from resources.metadata import census_metadata, column_lineage, landing_metadata, table_metadata

__all__ = ["landing"]

_ABOUT = """Iceberg table `{table}`: every record of topic `{topic}` exactly once. Materializing it \
lands what the topic holds beyond the table's position, which the snapshots themselves record."""


def landing(name: str, tables: Sequence[TopicTable]) -> dg.AssetsDefinition:
    """The landing step of a pipeline. It never starts by itself: the arrivals sensor watches Kafka.

    A table that can't be landed does not keep the others from landing, but fails the step; what
    hangs on the others then follows by automation. The step is not tried again: publishing does that
    by itself, and the sensor comes back.
    """
    by_key = {dg.AssetKey(t.things.iceberg_path): t for t in tables}

    @dg.multi_asset(name=name, specs=[_spec(t) for t in tables], can_subset=True)
    def land_tables(
        context: dg.AssetExecutionContext, frazil: FrazilConnections
    ) -> Iterator[dg.MaterializeResult[Any]]:
        chosen = [t for k, t in by_key.items() if k in context.selected_asset_keys]
        specs = [t.spec for t in chosen]
        failed: dict[str, Exception] = {}
        for spec, outcome in land_many(specs, frazil.connections, run_id=context.run.run_id):
            table = next(t for t in chosen if t.spec is spec)
            if isinstance(outcome, OvertakenError):
                context.log.warning(str(outcome))
            elif isinstance(outcome, Exception):
                failed[str(table.things.table)] = outcome
                if not isinstance(outcome, FrazilError):
                    context.log.error("%s", table.things.table, exc_info=outcome)
                continue
            with engine_errors():
                result = _landed(table, outcome, frazil.connections)
            yield result
        if failed:
            raise _failure(failed, len(chosen))

    return land_tables


def _spec(table: TopicTable) -> dg.AssetSpec:
    names = table.things
    return asset_spec(
        table,
        names.iceberg_path,
        kinds={"iceberg", "spark"},
        about=_ABOUT.format(table=names.table, topic=names.topic),
        code=land,
        upstream=[names.kafka_path],
        columns=table.columns,
        freshness=table.freshness,
    )


def _landed(
    table: TopicTable, outcome: LandingReport | OvertakenError, connections: Connections
) -> dg.MaterializeResult[Any]:
    """The table as it stands, and what this landing brought; nothing, if another was quicker."""
    spec, names = table.spec, table.things
    own = {"rows_landed": 0} if isinstance(outcome, OvertakenError) else landing_metadata(outcome)
    current = load_table(connections.catalog, names.table)
    columns = [field.name for field in current.schema().fields]
    return dg.MaterializeResult(
        asset_key=dg.AssetKey(names.iceberg_path),
        metadata={
            **own,
            "overtaken": isinstance(outcome, OvertakenError),
            **table_metadata(current, table_states([spec], connections)[0]),
            **census_metadata(census_of(spec, connections, time.time())),
            "dagster/column_lineage": column_lineage(columns, dg.AssetKey(names.kafka_path)),
        },
    )


def _failure(failed: dict[str, Exception], chosen: int) -> dg.Failure:
    told = "\n\n".join(f"{name}: {_words(error)}" for name, error in sorted(failed.items()))
    return dg.Failure(
        description=f"{len(failed)} of {chosen} tables could not be landed.\n\n{told}",
        metadata={"failed": len(failed), "landed": chosen - len(failed)},
        allow_retries=False,
    )


def _words(error: Exception) -> str:
    return str(error) or type(error).__name__
