"""Assets that follow a table by themselves: its dead letters, and the targets that show it."""

# No `from __future__ import annotations`: Dagster compares the type of `context`, not its name.
from collections.abc import Callable, Iterator
from typing import Any

import dagster as dg

from assets.checks.comparisons import check_results, check_specs
from assets.derived import DerivedTable
from assets.description import PipelineTable, after_upstream, asset_spec, op_name
from assets.outcome import engine_errors
from frazil.connections import Connections
from frazil.derive.dead_letters import survey_letters
from frazil.derive.derive import derive
from frazil.landing.repairs.dead_letters import DeadLetters, keep_dead_letters, letters_schema, survey
from frazil.publishing.target import Shown, Target
from frazil.spec.names import AssetPath
from frazil.tables.catalogs.catalog import catalog_errors
from frazil.tables.catalogs.handle import TableHandle
from resources.connections import FrazilConnections
from resources.facts import link_to_page
from resources.metadata import Metadata, column_schema, dead_letters_metadata, shown_metadata

_OF_TOPICS = """Dead letters of `{table}`: records that could not be decoded, as they came, with the \
reason. A landing writes them; materializing this asset counts them. `frazil redrive {table}` makes \
rows of those that decode by now, or after a repair; they stay here as history."""

_OF_DERIVED = """Dead letters of `{table}`: rows that its query calls bad, or that came when their window \
was closed, as JSON, with the reason. A derivation writes them; materializing this asset counts them."""

Survey = Callable[[TableHandle], DeadLetters]


def downstream_assets(table: PipelineTable) -> Iterator[dg.AssetsDefinition]:
    """The dead-letter table, where it keeps one, and the table in each of its targets."""
    if table.keeps_dead_letters and isinstance(table, DerivedTable):
        yield _dead_letters(table, _OF_DERIVED, derive, survey_letters)
    elif table.keeps_dead_letters:
        columns = column_schema(letters_schema())
        yield _dead_letters(table, _OF_TOPICS, keep_dead_letters, survey, columns)
    yield from (_target(table, target) for target in table.targets)


def _dead_letters(
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

    def letters(connections: Connections) -> tuple[Metadata, list[Shown]]:
        letters_there = look(TableHandle(connections.catalog, names.table))
        return dead_letters_metadata(letters_there, str(names.table.dead_letters)), []

    return _step(table, names.dead_letters_path, spec, letters)


def _target(table: PipelineTable, target: Target) -> dg.AssetsDefinition:
    """The table in one target. It follows the asset that the target looks at."""
    spec = asset_spec(
        table,
        target.path,
        kinds={target.word, target.icon},
        about=target.about,
        code=type(target).sync,
        upstream=[target.upstream],
        columns=table.columns,
        automation=after_upstream(),
    ).merge_attributes(metadata=link_to_page(target.page))

    def shown(connections: Connections) -> tuple[Metadata, list[Shown]]:
        now = target.sync(connections)
        schema = TableHandle(connections.catalog, table.things.table).load().schema()
        return shown_metadata(now, schema), [now]

    return _step(table, target.path, spec, shown)


def _step(
    table: PipelineTable,
    path: AssetPath,
    spec: dg.AssetSpec,
    work: Callable[[Connections], tuple[Metadata, list[Shown]]],
) -> dg.AssetsDefinition:
    """An asset together with its checks, which can be run alone, too; `work` also tells what is shown now."""

    @dg.multi_asset(name=op_name(path), specs=[spec], check_specs=check_specs(table, path), can_subset=True)
    def step(
        context: dg.AssetExecutionContext, frazil: FrazilConnections
    ) -> Iterator[dg.MaterializeResult[Any] | dg.AssetCheckResult]:
        connections = frazil.of(table.spec)
        if spec.key in context.selected_asset_keys:
            with engine_errors(), catalog_errors(connections.settings):
                try:
                    metadata, shown = work(connections)
                except Exception as e:
                    if path in {target.path for target in table.targets}:
                        frazil.send_failure(context.run, table.spec, "publish", e, path)
                    raise
            yield dg.MaterializeResult(asset_key=spec.key, metadata=metadata)
            frazil.send_lineage(context.run, [(table.spec, shown)])
        yield from check_results(context, table, frazil)

    return step
