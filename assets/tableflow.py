"""Iceberg tables that Confluent's Tableflow lands, as assets: materializing one looks at it."""

# No `from __future__ import annotations`: Dagster compares the type of `context`, not its name.
from typing import Any

import dagster as dg

from assets.description import TopicTable, asset_spec, op_name
from assets.outcome import engine_errors
from frazil.landing.tableflow.position import ledger_of_files
from frazil.tables.catalogs.catalog import catalog_errors
from resources.connections import FrazilConnections
from resources.metadata import table_metadata

_ABOUT = """Iceberg table `{table}`, which Confluent's Tableflow lands from topic `{topic}` and keeps in \
order. Materializing it changes nothing: it tells rows, files, position, lag and freshness."""

_EVERY = "*/5 * * * *"
"""Tableflow commits about every five minutes."""


def observed_table(table: TopicTable) -> dg.AssetsDefinition:
    """One table. It is looked at by the clock: what follows from it then follows by automation."""
    names = table.things
    clock = dg.AutomationCondition.cron_tick_passed(_EVERY) & ~dg.AutomationCondition.in_progress()
    clock = clock.with_label("every five minutes, as Tableflow commits")
    spec = asset_spec(
        table,
        names.iceberg_path,
        kinds={"iceberg", "confluent"},
        about=_ABOUT.format(table=names.table, topic=names.topic),
        code=ledger_of_files,
        upstream=[names.kafka_path],
        columns=table.columns,
        automation=clock,
    )

    @dg.multi_asset(name=op_name(names.iceberg_path), specs=[spec])
    def observed(frazil: FrazilConnections) -> dg.MaterializeResult[Any]:
        connections = frazil.of(table.spec)
        with engine_errors(), catalog_errors(connections.settings):
            return dg.MaterializeResult(metadata=table_metadata(table.spec, connections))

    return observed
