"""Dead-letter tables as assets: what could not be decoded, and why."""

from __future__ import annotations

from typing import Any

import dagster as dg

from assets.automation import after_upstream
from assets.described import TopicTable, asset_spec, op_name
from assets.outcome import engine_errors
from frazil.catalogs.iceberg import catalog_errors
from frazil.landing.dead_letters import keep_dead_letters, letters_schema, survey
from resources.connections import FrazilConnections
from resources.metadata import column_schema, dead_letters_metadata

__all__ = ["dead_letter_asset"]

_ABOUT = """Dead letters of `{table}`: records that could not be decoded, as they came, with the \
reason. A landing writes them; materializing this asset counts them. `frazil redrive {table}` makes \
rows of those that decode by now, or after a repair; they stay here as history."""


def dead_letter_asset(table: TopicTable) -> dg.AssetsDefinition:
    """The dead-letter table of one table, looked at after each landing."""
    names = table.things
    spec = asset_spec(
        table,
        names.dead_letters_path,
        kinds={"iceberg"},
        about=_ABOUT.format(table=names.table),
        code=keep_dead_letters,
        upstream=names.iceberg_path,
        columns=column_schema(letters_schema()),
        automation=after_upstream(),
    )

    @dg.multi_asset(name=op_name(names.dead_letters_path), specs=[spec])
    def letters(frazil: FrazilConnections) -> dg.MaterializeResult[Any]:
        connections = frazil.connections
        with engine_errors(), catalog_errors(connections.settings):
            found = survey(connections.catalog, names.table)
        return dg.MaterializeResult(metadata=dead_letters_metadata(found, str(names.table.dead_letters)))

    return letters
