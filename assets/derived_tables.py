"""The component that a pipeline's defs.yaml names: tables become other tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import dagster as dg
from pydantic import Field

from assets.checks import table_checks
from assets.dead_letters import derived_dead_letter_asset
from assets.derivations import DerivedTable, Known, derived_of
from assets.derived import derived_asset
from assets.targets import target_asset
from frazil.errors import SpecError
from frazil.pipelines.file import load_pipeline
from frazil.settings import Settings

__all__ = ["DerivedTables"]


class DerivedTables(dg.Component, dg.Model, dg.Resolvable):
    """Iceberg tables that are made of other tables, shown wherever their specs say.

    The engine reads the file again and validates it, as it does for `TopicTables`.
    """

    tables: Sequence[Mapping[str, Any]] = Field(description="One entry per table: DerivedSpec.")
    group: str | None = Field(None, description="Group of the assets; default: the folder's name.")
    owners: Sequence[str] = Field((), description="Owners of tables that name none.")

    @classmethod
    def get_code_references_for_yaml(cls, *_: object, **__: object) -> Sequence[Any]:
        """None of the whole file: each asset refers to its own lines of it."""
        return []

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """Assets and checks of all tables."""
        pipeline, settings = load_pipeline(Path(context.path)), Settings.load()
        if pipeline is None:
            raise SpecError(f"{context.path}: its defs.yaml names no DerivedTables")
        tables = derived_of(pipeline, settings, Known(settings))
        return dg.Definitions(
            assets=[asset for table in tables for asset in _assets(table)],
            asset_checks=[check for table in tables for check in table_checks(table)],
        )


def _assets(table: DerivedTable) -> Iterable[dg.AssetsDefinition]:
    yield derived_asset(table)
    if table.keeps_dead_letters:
        yield derived_dead_letter_asset(table)
    yield from (target_asset(table, target) for target in table.targets)
