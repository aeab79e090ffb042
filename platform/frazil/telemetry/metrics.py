"""How the tables stand, as Prometheus reads it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, cast

from prometheus_client import CollectorRegistry, Metric
from prometheus_client.core import GaugeHistogramMetricFamily, GaugeMetricFamily

from frazil.checks.layers.history import Part
from frazil.checks.layers.report import Layer
from frazil.derive.positions.state import DerivedState
from frazil.landing.position.state import BLOCKED, TableState

State = TableState | DerivedState


@dataclass(frozen=True, slots=True)
class Look:
    """One look at all tables.

    Args:
        up: Whether each system answers.
        silent: Tables of which nothing can be told.
        costs: What tables cost, where that was asked for.
        layers: How fresh each layer of the tables is, where that was asked for.
    """

    states: Sequence[State]
    up: Mapping[str, bool]
    silent: Sequence[str]
    costs: Sequence[TableCost] = ()
    layers: Sequence[Layer] = ()


@dataclass(frozen=True, slots=True)
class TableCost:
    """What one table took in a time, as far as it is measured.

    Args:
        stored: Bytes of its files, those that only older snapshots hold among them.
        task_seconds: CPU of its tasks; None: no commit told.
    """

    table: str
    stored: float
    task_seconds: float | None
    money: float
    currency: str


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

OF_COST = ("frazil_table_stored_bytes", "frazil_table_task_seconds", "frazil_table_cost")
"""Metrics that are there where costs are asked for."""

OF_FRESHNESS = ("frazil_layer_behind_seconds", "frazil_layer_allowed_seconds", "frazil_layer_delay_seconds")
"""Metrics that are there where freshness is asked for."""

_BOUNDS = (1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 900.0, 3600.0, 21600.0, 86400.0)
"""Of the histogram of delays, in seconds."""

NAMES = ("frazil_up", "frazil_table_up", "frazil_table_state", *(f"frazil_table_{name}" for name in _GAUGES))
"""Every other metric."""


class _TableMetrics:
    """Looks at all tables at each scrape; at one scrape at a time."""

    def __init__(self, look: Callable[[], Look]) -> None:
        self._look = look
        self._looking = threading.Lock()

    def collect(self) -> Iterator[Metric]:
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
        if seen.costs:
            yield from _cost_gauges(seen.costs)
        if seen.layers:
            yield from _layer_metrics(seen.layers)


def _cost_gauges(costs: Sequence[TableCost]) -> Iterator[GaugeMetricFamily]:
    about = "Bytes of the table's files, those of older snapshots, too."
    yield _gauge("frazil_table_stored_bytes", about, "table", ((c.table, c.stored) for c in costs))
    about = "CPU seconds of the tasks that wrote files of the table in the time that is asked for."
    yield _gauge("frazil_table_task_seconds", about, "table", ((c.table, c.task_seconds) for c in costs))
    money = GaugeMetricFamily(
        "frazil_table_cost",
        "What is measured of that time, by the list of prices.",
        labels=["table", "currency"],
    )
    for each in costs:
        money.add_metric([each.table, each.currency], each.money)
    yield money


def _layer_metrics(layers: Sequence[Layer]) -> Iterator[Metric]:
    labels = ["table", "layer"]
    behind = GaugeMetricFamily(
        "frazil_layer_behind_seconds",
        "For how long the layer has lacked what the one before it has; 0 where it lacks nothing.",
        labels=labels,
    )
    allowed = GaugeMetricFamily(
        "frazil_layer_allowed_seconds", "What fresh_within allows.", labels=[*labels, "severity"]
    )
    # Snapshots expire, so that counts go back: to Prometheus no counters, and no histogram of them.
    delays = GaugeHistogramMetricFamily(
        "frazil_layer_delay_seconds",
        "How long records took to the table, and commits to a layer.",
        labels=labels,
    )
    for each in layers:
        of = [each.table, each.layer]
        if each.age.seconds is not None:
            behind.add_metric(of, each.age.seconds)
        for severity, limit in _limits(each):
            allowed.add_metric([*of, severity], limit)
        if each.delays.known is not None:
            parts = each.delays.parts
            delays.add_metric(of, _buckets(parts), sum(seconds * number for seconds, number in parts))
    yield from (behind, allowed, delays)


def _limits(layer: Layer) -> Iterator[tuple[str, float]]:
    for severity in ("warn", "error"):
        if limit := getattr(layer.allowed, severity, None):
            yield severity, limit.total_seconds()


def _buckets(parts: Sequence[Part]) -> list[tuple[str, float]]:
    """For each bound how many are not above it."""
    sums = ((at, sum(number for seconds, number in parts if seconds <= at)) for at in (*_BOUNDS, inf))
    return [("+Inf" if at == inf else str(at), float(round(number))) for at, number in sums]


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
