"""How far each layer is behind, how fast records come, and which upkeep is due and done."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from frazil.checks.layers.judge import severity_of
from frazil.checks.layers.report import Layer, Layers
from frazil.cli.costs.cost import costs_of
from frazil.cli.selection import Selection, select
from frazil.cli.views.freshness import kept_delays, row_of
from frazil.cli.views.tables import states_of
from frazil.connections import apart
from frazil.costs.report import lines_in
from frazil.costs.units import Period, grouped, total_of
from frazil.spec.table import AnyTable
from frazil.tables.catalogs.catalog import catalog_errors
from frazil.tables.catalogs.handle import handle_of
from frazil.upkeep.due import look_for_work
from frazil.upkeep.work import last_works

_HOUR, _WEEK = 3600.0, 7 * 86400.0


@dataclass(frozen=True, slots=True)
class LayerPage:
    """What the page shows, as rows.

    Args:
        late: How many layers are behind for longer than they may.
        rates: Records a minute of each table, in the last hour.
        due: Upkeep that should be done now, and why.
        done: The last work of each kind, newest first.
    """

    layers: tuple[dict[str, Any], ...]
    late: int
    rates: tuple[dict[str, Any], ...]
    due: tuple[dict[str, Any], ...]
    done: tuple[dict[str, Any], ...]


def read_layers() -> LayerPage:
    """All layers of all tables, at one moment.

    Raises:
        FrazilError: A server does not answer.
    """
    now, selection = time.time(), select((), every=True)
    states = _layers(selection, now)
    hour = costs_of(selection, Period(now - _HOUR, now))
    tables = grouped(lines_in(hour.reports), "table")
    rates = ((name, total_of(lines).get("records", 0) / 60) for name, lines in tables.items())
    return LayerPage(
        layers=tuple(map(_row, states)),
        late=sum(map(is_late, states)),
        rates=tuple({"table": name, "records a minute": round(rate, 1)} for name, rate in rates),
        due=tuple(_due(selection, now)),
        done=tuple(sorted(_done(selection), key=lambda row: row["time"], reverse=True)),
    )


def is_late(layer: Layer) -> bool:
    """Whether a layer is behind for longer than it may be."""
    known = layer.allowed is not None and layer.age.seconds is not None
    return known and severity_of(layer.allowed, layer.age.seconds) is not None  # type: ignore[arg-type]


def _layers(selection: Selection[AnyTable], now: float) -> list[Layer]:
    since = now - _WEEK
    shown, states = kept_delays(selection, since), states_of(selection).done
    return Layers(selection.connections, states, shown, since, now).of(selection.specs)


def _row(layer: Layer) -> dict[str, Any]:
    row = row_of(layer)
    names = {"seconds": "behind (s)", "warn": "warn (s)", "error": "error (s)", "p95": "p95 (s)"}
    return {
        "table": row["table"],
        "layer": row["layer"],
        **{shown: row[name] for name, shown in names.items()},
        "late": "yes" if is_late(layer) else "",
        "why": row["why"],
    }


def _due(selection: Selection[AnyTable], now: float) -> Iterator[dict[str, Any]]:
    for specs, connections in apart(selection.specs, selection.connections):
        for work in look_for_work(specs, connections, now).due:
            yield {"table": work.table, "upkeep": work.kind.title, "why": work.reason}


def _done(selection: Selection[AnyTable]) -> Iterator[dict[str, Any]]:
    for specs, connections in apart(selection.specs, selection.connections):
        with catalog_errors(connections.settings):
            tables = [handle_of(spec, connections).load_or_none() for spec in specs]
        for table in filter(None, tables):
            for kind, last in last_works(table.metadata).items():
                yield {
                    "time": datetime.fromtimestamp(last.at, UTC),
                    "table": ".".join(table.name()),
                    "upkeep": kind,
                    "what": last.text,
                }
