"""The asset graph without Dagster, for whoever draws it."""

from __future__ import annotations

import dagster as dg

from frazil.graph import Asset, AssetGraph

__all__ = ["graph_of"]


def graph_of(definitions: dg.Definitions) -> AssetGraph:
    """Every asset of the definitions, and what it is made from."""
    graph = definitions.resolve_asset_graph()
    nodes = (graph.get(key) for key in sorted(graph.get_all_asset_keys()))
    return AssetGraph(
        tuple(
            Asset(
                path=tuple(node.key.path),
                kind=node.key.path[0],
                group=node.group_name or "default",
                upstream=tuple(tuple(key.path) for key in sorted(node.parent_keys)),
            )
            for node in nodes
        )
    )
