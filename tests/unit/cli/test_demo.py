"""What the demo speaks of is there."""

from __future__ import annotations

import dagster as dg

from frazil.pipelines.folder import load_pipelines
from frazil_local.cli.demo import DERIVED, OTHERS, TABLE, selection_of
from frazil_local.generators import GENERATORS


def test_its_tables_come_with_frazil_and_its_topics_with_generators() -> None:
    pipelines = load_pipelines().all()

    assert {TABLE, *OTHERS} <= {spec.topic for p in pipelines for spec in p.tables} & set(GENERATORS)
    assert set(DERIVED) <= {spec.table for p in pipelines for spec in p.derived}


def test_it_materializes_every_layer_of_its_tables_and_nothing_else(graph: dg.Definitions) -> None:
    chosen = dg.AssetSelection.from_string(selection_of(TABLE, *DERIVED))

    keys = {key.to_user_string() for key in chosen.resolve(graph.resolve_asset_graph())}

    layers = ("iceberg/local", "glue/local", "snowflake/frazil/local")
    assert keys == {f"{layer}/{name}" for layer in layers for name in (TABLE, *DERIVED)} | {f"kafka/{TABLE}"}
