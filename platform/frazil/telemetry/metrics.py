"""How the tables stand, as Prometheus reads it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily

from frazil.derive.positions.state import DerivedState
from frazil.landing.position.state import BLOCKED, TableState

State = TableState | DerivedState


@dataclass(frozen=True, slots=True)
class Look:
    """One look at all tables.

    Args:
        up: Whether each system answers.
        silent: Tables of which nothing can be told.
    """

    states: Sequence[State]
    up: Mapping[str, bool]
    silent: Sequence[str]


def _known(state: State, value: float | None) -> float | None:
    """Nothing, where Kafka does not tell what waits."""
    return None if state.state == "unknown" else value


def _at(state: State) -> float | None:
    return state.derived_at if isinstance(state, DerivedState) else state.landed_at


def _is_stopped(state: State) -> bool:
    return state.state in BLOCKED or state.state == "rebuild needed"


_Value = Callable[[State], float | None]

_GAUGES: Mapping[str, tuple[str, _Value]] = {
    "lag": ("Records that wait in the topic, or rows that wait in the inputs.", lambda s: _known(s, s.lag)),
    "freshness_seconds": (
        "0 where nothing waits, else the time since the last landing or the first waiting row.",
        lambda s: _known(s, s.freshness),
    ),
    "rows": ("Rows of the table.", lambda s: s.rows),
    "files": ("Data files of the table.", lambda s: s.files),
    "bytes": ("Bytes of these files.", lambda s: s.bytes),
    "delete_files": ("Delete files of the table, which each reader must apply.", lambda s: s.delete_files),
    "dead_letters": ("Dead letters that were not redriven.", lambda s: s.dead_letters),
    "stopped": ("Whether nothing gets on before a person acts.", _is_stopped),
    "last_commit_timestamp_seconds": ("When the last landing or derivation was published.", _at),
    "landed_records": (
        "Records landed since the first landing.",
        lambda s: s.landed if isinstance(s, TableState) else None,
    ),
}

NAMES = ("frazil_up", "frazil_table_up", "frazil_table_state", *(f"frazil_table_{name}" for name in _GAUGES))
"""Every metric."""


class _TableMetrics:
    """Looks at all tables at each scrape; at one scrape at a time."""

    def __init__(self, look: Callable[[], Look]) -> None:
        self._look = look
        self._looking = threading.Lock()

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """All metrics."""
        with self._looking:
            seen = self._look()
        yield _gauge("frazil_up", "Whether the system answers.", "system", seen.up.items())
        known = {**{s.identifier: True for s in seen.states}, **dict.fromkeys(seen.silent, False)}
        yield _gauge("frazil_table_up", "Whether all is known of the table.", "table", known.items())
        for name, (about, value) in _GAUGES.items():
            values = [(s.identifier, value(s)) for s in seen.states]
            yield _gauge(f"frazil_table_{name}", about, "table", values)
        state = GaugeMetricFamily("frazil_table_state", "1 for the table's state.", labels=["table", "state"])
        for each in seen.states:
            state.add_metric([each.identifier, each.state], 1.0)
        yield state


def _gauge(
    name: str, about: str, label: str, values: Iterable[tuple[str, float | None]]
) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, about, labels=[label])
    for labelled, value in values:
        if value is not None:
            family.add_metric([labelled], float(value))
    return family


def registry_of(look: Callable[[], Look]) -> CollectorRegistry:
    """What Prometheus' client serves."""
    registry = CollectorRegistry()
    registry.register(cast("Any", _TableMetrics(look)))
    return registry


def rows_of(registry: CollectorRegistry) -> list[dict[str, Any]]:
    """The same for scripts."""
    samples = (sample for family in registry.collect() for sample in family.samples)
    return [{"metric": s.name, **s.labels, "value": s.value} for s in samples]
