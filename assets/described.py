"""How the four assets of a topic are described: what all kinds of asset have in common."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import dagster as dg

from frazil.naming import Things, things
from frazil.pipelines import Pipeline
from frazil.settings import Settings
from frazil.spec import TableSpec

__all__ = ["Path", "TopicTable", "asset_spec", "op_name", "tables_of"]

Path = tuple[str, ...]
"""An asset key, as the engine's `Things` give it."""


@dataclass(frozen=True, slots=True)
class TopicTable:
    """One table of a pipeline: what the user wrote, where, and what its things are called."""

    spec: TableSpec
    things: Things
    pipeline: Pipeline
    line: int


def tables_of(pipeline: Pipeline, settings: Settings) -> tuple[TopicTable, ...]:
    """The tables of one pipeline under one profile."""
    return tuple(
        TopicTable(spec, things(spec, settings), pipeline, line)
        for spec, line in zip(pipeline.tables, pipeline.lines, strict=True)
    )


def asset_spec(
    table: TopicTable,
    path: Path,
    *,
    kinds: set[str],
    about: str,
    code: Callable[..., Any],
    upstream: Path | None = None,
    columns: dg.TableSchema | None = None,
    automation: dg.AutomationCondition[Any] | None = None,
    freshness: dg.FreshnessPolicy | None = None,
) -> dg.AssetSpec:
    """One of the four assets of a table.

    Args:
        table: What the user wrote.
        path: The asset's key.
        kinds: Shown as icons.
        about: What materializing the asset does.
        code: The engine's function that does it.
        upstream: What it is made from.
        columns: Where they are known before the first run.
        automation: When it runs by itself.
        freshness: How old it may be.
    """
    spec, pipeline = table.spec, table.pipeline
    return dg.AssetSpec(
        key=dg.AssetKey(path),
        deps=[dg.AssetKey(upstream)] if upstream else [],
        description="\n\n".join(filter(None, (spec.description, about))),
        group_name=pipeline.group,
        owners=list(spec.owners or pipeline.owners),
        tags={"frazil/mode": spec.mode, "frazil/layer": path[0], **spec.tags},
        kinds=kinds,
        metadata={
            "dagster/code_references": _code(table, code),
            "topic": spec.topic,
            **({"dagster/column_schema": columns} if columns else {}),
        },
        automation_condition=automation,
        freshness_policy=freshness,
    )


def op_name(path: Path) -> str:
    """Name of the step that makes an asset."""
    return dg.AssetKey(path).to_python_identifier()


def _code(table: TopicTable, code: Callable[..., Any]) -> dg.CodeReferencesMetadataValue:
    """The user's lines, and the engine's."""
    own = inspect.unwrap(code)
    return dg.CodeReferencesMetadataValue(
        code_references=[
            dg.LocalFileCodeReference(
                file_path=str(table.pipeline.file), line_number=table.line, label="spec"
            ),
            dg.LocalFileCodeReference(
                file_path=own.__code__.co_filename,
                line_number=own.__code__.co_firstlineno,
                label=own.__name__,
            ),
        ]
    )
