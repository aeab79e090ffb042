"""A week of freshness, lived through in seconds: Dagster's plots, the chart and Prometheus show the same."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster._core.test_utils import freeze_time
from dagster._core.workspace.context import WorkspaceProcessContext
from dagster._core.workspace.load_target import EmptyWorkspaceTarget
from dagster_graphql.schema import create_schema
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from frazil.checks.layers.report import Layer, Layers
from frazil.cli.views.freshness import chart_of
from frazil.landing.position.ledger import Ledger
from frazil.landing.report import LandingReport
from frazil.publishing.glue import Glue
from frazil.spec.topic import TableSpec
from frazil.tables.commits.stage import RECORD_TIMES
from frazil.telemetry.metrics import Look, registry_of
from kit.readers.mirrored import NAME, Mirror
from kit.wires.wire import Wire
from resources.events import shown_materializations
from resources.history import published_to
from resources.metadata import landing_metadata

QUARTER = 6 * 3600.0  # of a day, after which it is landed again
LANDINGS, RECORDS = 28, 100
SLOW_LANDING, SLOW_GLUE = 9, 20
TABLE = ("iceberg", "unit", "orders")
PLOTTED = """
query ($path: [String!]!) {
  assetOrError(assetKey: {path: $path}) {
    ... on Asset {
      assetMaterializations(limit: 100) {
        timestamp
        metadataEntries { label ... on FloatMetadataEntry { floatValue } }
      }
    }
  }
}
"""


@dataclass
class Week:
    """A week of landings and publications, of which one each is slow.

    Args:
        mirror: The table, and its Glue entry.
        dagster: What hears of them.
        began: In seconds since the epoch; the table was made just before.
        now: The time of all clocks.
    """

    mirror: Mirror
    dagster: dg.DagsterInstance
    began: float
    now: float

    @property
    def ended(self) -> float:
        return self.began + LANDINGS * QUARTER

    @property
    def glue(self) -> Glue:
        return Glue(self.mirror.spec, self.mirror.connections.settings)

    def late(self, number: int) -> int:
        """Seconds that the median record of a landing is old; its newest one is half as old."""
        return 600 if number == SLOW_LANDING else 20

    def waited(self, number: int) -> int:
        """Seconds until Glue shows a landing."""
        return 90 if number == SLOW_GLUE else 2

    def live(self) -> None:
        self.mirror.ledger = self._ledger
        for number in range(LANDINGS):
            self.now = self.began + number * QUARTER
            self._land(number)
            self.now += self.waited(number)
            self._show()
        self.now = self.ended

    def layers(self) -> list[Layer]:
        shown = {self.glue.path: published_to(self.dagster, self.glue.path, self.began).delays}
        return Layers(self.mirror.connections, {}, shown, self.began, self.ended).of([self.mirror.spec])

    def _ledger(self, number: int) -> dict[str, str]:
        at, late = int(self.now * 1000), self.late(number) * 1000
        spans = {0: (number * RECORDS, (number + 1) * RECORDS)}
        newest = at - late // 2
        whole = Ledger("orders", "one", spans, {0: 0}, records=RECORDS, max_timestamp=newest)
        return {**whole.properties(), RECORD_TIMES: f"{at - late},{at - 2 * late},{at - 3 * late}"}

    def _land(self, number: int) -> None:
        self.mirror.land()
        late = 1000 * self.late(number)
        newest, median = (int(self.now * 1000 - each) for each in (late / 2, late))
        report = LandingReport(
            "unit.orders", "orders", records=RECORDS, max_timestamp=newest, median_timestamp=median
        )
        self._tell(dg.AssetMaterialization(TABLE, metadata=landing_metadata(report)))

    def _show(self) -> None:
        shown = self.glue.sync(self.mirror.connections)
        for event in shown_materializations(self.mirror.table.schema(), [shown]):
            self._tell(event)

    def _tell(self, event: Any) -> None:
        with freeze_time(datetime.fromtimestamp(self.now, UTC)):
            self.dagster.report_runless_asset_event(event)


@pytest.fixture
def week(wire_and_url: tuple[Wire, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Week]:
    spec = TableSpec(topic="orders", namespace=NAME.namespace, publish=["glue"])
    mirror, began = Mirror(tmp_path, wire_and_url[1], spec), float(int(time.time()) + 60)
    home = tmp_path / "dagster"
    home.mkdir()
    with dg.DagsterInstance.local_temp(str(home)) as instance:
        week = Week(mirror, instance, began, began)
        monkeypatch.setattr("time.time", lambda: week.now)
        week.live()
        yield week


@pytest.fixture
def plotted(week: Week) -> Callable[[tuple[str, ...], str], list[tuple[float, float]]]:
    """The points of a plot in Dagster's pages, as these ask for them: when, and how much."""
    schema = create_schema()

    def points(path: tuple[str, ...], label: str) -> list[tuple[float, float]]:
        with WorkspaceProcessContext(week.dagster, EmptyWorkspaceTarget()) as process:
            context = process.create_request_context()
            asked = schema.execute_async(PLOTTED, variables={"path": list(path)}, context=context)
            answer = asyncio.run(asked)
        assert not answer.errors, answer.errors
        events = answer.data["assetOrError"]["assetMaterializations"]
        values = [(float(e["timestamp"]) / 1000, e["metadataEntries"]) for e in events]
        named = [(at, {m["label"]: m.get("floatValue") for m in of}) for at, of in values]
        return sorted((at, of[label]) for at, of in named)

    return points


def test_a_week_of_freshness_plots_in_dagster_and_the_chart_and_prometheus_say_the_same(
    week: Week, plotted: Callable[[tuple[str, ...], str], list[tuple[float, float]]]
) -> None:
    times = [week.began + number * QUARTER for number in range(LANDINGS)]
    late, waited = [*map(week.late, range(LANDINGS))], [*map(week.waited, range(LANDINGS))]
    shown = [at + wait for at, wait in zip(times, waited, strict=True)]

    for path, label, when, values in (
        (TABLE, "freshness_seconds", times, [seconds / 2 for seconds in late]),
        (TABLE, "median_freshness_seconds", times, late),
        (week.glue.path, "seconds_until_shown", shown, waited),
    ):
        points = plotted(path, label)
        assert [at for at, _ in points] == when, label
        assert [value for _, value in points] == pytest.approx(values, abs=0.01), label

    table, glue = week.layers()
    assert table.delays.quantiles() == pytest.approx((24, 60, 960), abs=0.01)
    assert glue.delays.quantiles() == pytest.approx((2, 2, 90), abs=0.01)
    for layer, slow in ((table, SLOW_LANDING), (glue, SLOW_GLUE)):
        chart = chart_of(layer, week.began, week.ended)
        assert chart.count("█") == 1
        assert chart.index("█") == slow * len(chart) // LANDINGS

    text = generate_latest(registry_of(lambda: Look([], {}, [], layers=[table, glue]))).decode()
    assert _quantile(text, "iceberg", 0.5) == (10, 30)
    assert _quantile(text, "iceberg", 0.99) == (900, 3600)
    assert _quantile(text, "glue", 0.95) == (1, 2.5)


def _quantile(text: str, layer: str, share: float) -> tuple[float, float]:
    """The bounds between which `histogram_quantile` of Prometheus, as the dashboard asks for it, lies."""
    buckets = sorted(
        (float(sample.labels["le"]), sample.value)
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == "frazil_layer_delay_seconds_bucket" and sample.labels["layer"] == layer
    )
    place = next(n for n, (_, count) in enumerate(buckets) if count >= share * buckets[-1][1])
    return (buckets[place - 1][0] if place else 0.0, buckets[place][0])
