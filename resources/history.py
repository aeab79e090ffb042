"""What Dagster's event log has kept of how long commits took to be shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import dagster as dg

from frazil.checks.layers.history import Delay
from frazil.spec.names import AssetPath
from resources.metadata import WAITED

_MOST = 5000
"""Materializations of one asset that are read; `frazil run` tells of one a minute at most."""


def delays_of(instance: dg.DagsterInstance, path: AssetPath, since: float) -> list[Delay]:
    """Those of a target's asset, the newest first."""
    wanted = dg.AssetRecordsFilter(asset_key=dg.AssetKey(path), after_timestamp=since)
    return [*_delays(instance.fetch_materializations(wanted, limit=_MOST).records)]


def _delays(records: Sequence[dg.EventLogRecord]) -> Iterator[Delay]:
    for record in records:
        event = record.asset_materialization
        waited = event.metadata.get(WAITED) if event else None
        if waited is not None and isinstance(waited.value, int | float):
            yield Delay(record.timestamp, float(waited.value))
