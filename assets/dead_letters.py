"""Dead-letter tables as assets: what could not be decoded, or is no row of a derived table, and why."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import dagster as dg

from assets.automation import after_upstream
from assets.derivations import DerivedTable
from assets.described import PipelineTable, TopicTable, asset_spec, op_name
from assets.outcome import engine_errors
from frazil.derive.dead_letters import survey_letters
from frazil.derive.derive import derive
from frazil.landing.dead_letters import DeadLetters, keep_dead_letters, letters_schema, survey
from frazil.spec.names import TableName
from frazil.tables.catalog import catalog_errors
from resources.connections import FrazilConnections
from resources.metadata import column_schema, dead_letters_metadata

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

__all__ = ["dead_letter_asset", "derived_dead_letter_asset"]

_OF_TOPICS = """Dead letters of `{table}`: records that could not be decoded, as they came, with the \
reason. A landing writes them; materializing this asset counts them. `frazil redrive {table}` makes \
rows of those that decode by now, or after a repair; they stay here as history."""

_OF_DERIVED = """Dead letters of `{table}`: rows that its query calls bad, or that came when their window \
was closed, as JSON, with the reason. A derivation writes them; materializing this asset counts them."""

Survey = Callable[["Catalog", TableName], DeadLetters]


def dead_letter_asset(table: TopicTable) -> dg.AssetsDefinition:
    """The dead-letter table of a topic's table, looked at after each landing."""
    columns = column_schema(letters_schema())
    return _asset(table, _OF_TOPICS, keep_dead_letters, survey, columns)


def derived_dead_letter_asset(table: DerivedTable) -> dg.AssetsDefinition:
    """The dead-letter table of a derived one, looked at after each derivation."""
    return _asset(table, _OF_DERIVED, derive, survey_letters)


def _asset(
    table: PipelineTable,
    about: str,
    code: Callable[..., Any],
    look: Survey,
    columns: dg.TableSchema | None = None,
) -> dg.AssetsDefinition:
    names = table.things
    spec = asset_spec(
        table,
        names.dead_letters_path,
        kinds={"iceberg"},
        about=about.format(table=names.table),
        code=code,
        upstream=[names.iceberg_path],
        columns=columns,
        automation=after_upstream(),
    )

    @dg.multi_asset(name=op_name(names.dead_letters_path), specs=[spec])
    def letters(frazil: FrazilConnections) -> dg.MaterializeResult[Any]:
        connections = frazil.connections
        with engine_errors(), catalog_errors(connections.settings):
            found = look(connections.catalog, names.table)
        return dg.MaterializeResult(metadata=dead_letters_metadata(found, str(names.table.dead_letters)))

    return letters
