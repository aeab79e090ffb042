"""The asset graph of the checkout's own pipelines, as it has to be."""

from __future__ import annotations

import dagster as dg

from assets.checks.attention import KEY as LATE_AND_BROKEN

__all__ = ["DERIVED", "EVERYTHING", "GROUPS", "TOPICS", "edges", "layers_of"]

GROUPS = {
    "stock_trades": "trading", "users": "trading", "skyone": "airline", "sunset": "airline",
    "skyone_avro": "airline", "sunset_avro": "airline", "shipments": "shipping",
}  # fmt: skip
TOPICS = tuple(GROUPS)
DERIVED = {
    "stock_trades_with_totals": ["stock_trades"],
    "stock_trade_totals": ["stock_trades"],
    "flagged_stock_trades": ["stock_trades"],
    "anomalous_stock_trades": ["flagged_stock_trades"],
    "users_latest": ["users"],
    "flight": ["skyone", "sunset"],
    "flight_avro": ["skyone_avro", "sunset_avro"],
    "flyer_stats": ["flight"],
}
"""The tables of the checkout that are made of others, and what each is made of."""


def layers_of(topic: str) -> tuple[str, ...]:
    """The assets of one topic of the checkout, each made from the one before."""
    return (
        f"kafka/{topic}",
        f"iceberg/local/{topic}",
        f"glue/local/{topic}",
        f"snowflake/frazil/local/{topic}",
    )


EVERYTHING = sorted(
    [
        *(key for topic in TOPICS for key in layers_of(topic)),
        *(key for table in DERIVED for key in layers_of(table)[1:]),
        *(f"iceberg/local/{table}__dead_letters" for table in ("flight", "flight_avro")),
    ]
)


def edges(graph: dg.Definitions) -> dict[str, list[str]]:
    return {
        spec.key.to_user_string(): sorted(d.asset_key.to_user_string() for d in spec.deps)
        for spec in graph.resolve_all_asset_specs()
        if spec.key != LATE_AND_BROKEN  # it is in each graph, and follows from nothing
    }
