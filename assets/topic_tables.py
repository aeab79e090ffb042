"""The component that a pipeline's defs.yaml names: topics become tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import dagster as dg
from pydantic import Field

from assets.checks import table_checks
from assets.dead_letters import dead_letter_asset
from assets.described import TopicTable, tables_of
from assets.iceberg import landing
from assets.kafka import topic_asset
from assets.targets import target_asset
from frazil.errors import SpecError
from frazil.pipelines.file import load_pipeline
from frazil.settings import Settings

__all__ = ["TopicTables"]


class TopicTables(dg.Component, dg.Model, dg.Resolvable):
    """Kafka topics that become Iceberg tables, shown wherever their specs say.

    The engine reads the file again and validates it: so the command line sees the same tables, and
    a mistake is told in the same words, with its line.
    """

    tables: Sequence[Mapping[str, Any]] = Field(description="One entry per topic: TableSpec.")
    group: str | None = Field(None, description="Group of the assets; default: the folder's name.")
    owners: Sequence[str] = Field((), description="Owners of tables that name none.")

    @classmethod
    def get_code_references_for_yaml(cls, *_: object, **__: object) -> Sequence[Any]:
        """None of the whole file: each asset refers to its own lines of it."""
        return []

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """Assets and checks of all tables."""
        pipeline = load_pipeline(Path(context.path))
        if pipeline is None:
            raise SpecError(f"{context.path}: its defs.yaml names no TopicTables")
        tables = tables_of(pipeline, Settings.load())
        return dg.Definitions(
            assets=[landing(f"{pipeline.name}_landing", tables), *_assets(tables)],
            asset_checks=[check for table in tables for check in table_checks(table)],
        )


def _assets(tables: Sequence[TopicTable]) -> Iterable[dg.AssetsDefinition]:
    for topic in dict.fromkeys(table.spec.topic for table in tables):
        yield topic_asset([table for table in tables if table.spec.topic == topic])
    for table in tables:
        if table.keeps_dead_letters:
            yield dead_letter_asset(table)
        yield from (target_asset(table, target) for target in table.targets)
