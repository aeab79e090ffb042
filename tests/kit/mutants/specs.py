"""Into what each scenario lands: by its word."""

from __future__ import annotations

from typing import Any

from frazil.spec.topic import TableSpec

__all__ = ["DAY", "NAMESPACE", "PARTITIONS", "RICH", "SPECS", "WIDER", "spec_of"]

NAMESPACE = "mutants"

DAY = 24 * 3600

RICH: dict[str, Any] = {
    "type": "record",
    "name": "Rich",
    "fields": [
        {"name": "quantity", "type": "int"},
        {"name": "amount", "type": {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "seen", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "side", "type": {"type": "enum", "name": "Side", "symbols": ["BUY", "SELL"]}},
        {"name": "digest", "type": {"type": "fixed", "name": "Digest", "size": 12}},
        {"name": "counts", "type": {"type": "map", "values": "long"}},
        {"name": "either", "type": ["null", "long", "string"]},
        {"name": "symbol", "type": "string"},
    ],
}
"""Of every third record."""

WIDER = {**RICH, "fields": [*RICH["fields"], {"name": "note", "type": "string", "default": "none"}]}
"""Of the others."""

SPECS: dict[str, dict[str, Any]] = {
    "append": {"on_bad_record": "dead_letter", "metadata": "full", "partition_by": ["bucket(2, quantity)"]},
    "expiry": {"keep_rows_for": "1d"},
    "upsert": {"mode": "upsert", "key_format": "string", "partition_by": ()},
    "vectors": {
        "mode": "upsert", "key_format": "string", "partition_by": (), "format_version": 3,
        "write": {"delete": "vector", "target_file_size": 2000},
    },
    "cdc": {"mode": "cdc", "on_bad_record": "skip"},
}  # fmt: skip

PARTITIONS = {"append": 2, "expiry": 1, "upsert": 2, "vectors": 2, "cdc": 2}


def spec_of(mode: str, name: str) -> TableSpec:
    """The spec of a scenario's table, which is called like its topic."""
    return TableSpec(topic=name, namespace=NAMESPACE, **SPECS[mode])
