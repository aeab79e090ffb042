"""What Dagster's event log has kept of publications: how long commits waited for them, and what they took."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import dagster as dg

from frazil.checks.layers.history import Delay
from frazil.publishing.target import Spent
from frazil.reporting import Published
from frazil.spec.names import AssetPath
from resources.metadata import WAITED

_MOST = 5000
"""Materializations of one asset that are read; `frazil run` tells of one a minute at most."""


def published_to(instance: dg.DagsterInstance, path: AssetPath, since: float) -> Published:
    """The materializations of a target's asset, asked for once."""
    wanted = dg.AssetRecordsFilter(asset_key=dg.AssetKey(path), after_timestamp=since)
    records = instance.fetch_materializations(wanted, limit=_MOST).records
    events = (record.asset_materialization for record in records)
    spent = sum((_spent(event.metadata) for event in events if event), Spent())
    return Published([*_delays(records)], spent)


def _spent(metadata: Mapping[str, dg.MetadataValue]) -> Spent:
    def number(name: str) -> float:
        value = metadata[name].value if name in metadata else None
        return float(value) if isinstance(value, int | float) else 0.0

    return Spent(int(number("statements")), int(number("refreshes")), number("warehouse_seconds"))


def _delays(records: Sequence[dg.EventLogRecord]) -> Iterator[Delay]:
    for record in records:
        event = record.asset_materialization
        waited = event.metadata.get(WAITED) if event else None
        if waited is not None and isinstance(waited.value, int | float):
            yield Delay(record.timestamp, float(waited.value))
