"""What Prometheus reads: numbers of every table, what is down, and a dashboard that asks for nothing else."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.schema import Schema

from frazil.checks.layers.ages import Age
from frazil.checks.layers.history import Delay, Delays
from frazil.checks.layers.report import Layer
from frazil.clients import Clients
from frazil.derive.positions.state import DerivedState
from frazil.kafka.clients import admin_client
from frazil.landing.position.state import TableState, known_states, look_at_parts
from frazil.settings.profile import Settings
from frazil.spec.freshness import Allowed
from frazil.spec.topic import TableSpec
from frazil.telemetry.metrics import NAMES, OF_FRESHNESS, Look, registry_of, rows_of

DOCS = Path(__file__).parents[2] / "docs"
TRADES = TableState(
    "local.trades", "trades", "append", 7, rows=90, files=3, bytes=4096, position={0: 100}, lag=5,
    freshness=12.5, state="behind", landed_at=1000.0, dead_letters=2, delete_files=1, landed=98,
)  # fmt: skip
FLAGS = DerivedState(
    "local.flags", "rows", (), 8, rows=40, files=1, bytes=512, lag=0, freshness=0.0, state="current",
    derived_at=2000.0,
)  # fmt: skip


def registry(*states: TableState | DerivedState, silent: tuple[str, ...] = ()) -> CollectorRegistry:
    return registry_of(lambda: Look(states, {"kafka": True, "catalog": False}, silent))


def test_each_number_of_a_table_is_a_metric() -> None:
    metrics = registry(TRADES)

    values = {
        name.removeprefix("frazil_table_"): metrics.get_sample_value(name, {"table": "local.trades"})
        for name in NAMES
        if name not in ("frazil_up", "frazil_table_state")
    }

    assert values == {
        "up": 1, "lag": 5, "freshness_seconds": 12.5, "rows": 90, "files": 3, "bytes": 4096,
        "delete_files": 1, "dead_letters": 2, "stopped": 0, "landed_records": 98,
        "last_commit_timestamp_seconds": 1000,
    }  # fmt: skip


def test_a_table_made_of_others_has_no_number_of_landed_records() -> None:
    metrics = registry(FLAGS)

    assert metrics.get_sample_value("frazil_table_rows", {"table": "local.flags"}) == 40
    assert metrics.get_sample_value("frazil_table_landed_records", {"table": "local.flags"}) is None


@pytest.mark.parametrize("state", ["suspended", "records lost", "topic changed"])
def test_a_table_that_waits_for_a_person_is_stopped(state: Any) -> None:
    metrics = registry(replace(TRADES, state=state))

    assert metrics.get_sample_value("frazil_table_stopped", {"table": "local.trades"}) == 1
    assert metrics.get_sample_value("frazil_table_state", {"table": "local.trades", "state": state}) == 1


def test_what_kafka_does_not_tell_is_no_number_and_the_rest_is_there() -> None:
    metrics = registry(replace(TRADES, state="unknown", lag=0, freshness=0.0), silent=("local.trades",))
    label = {"table": "local.trades"}

    assert metrics.get_sample_value("frazil_table_lag", label) is None
    assert metrics.get_sample_value("frazil_table_freshness_seconds", label) is None
    assert metrics.get_sample_value("frazil_table_rows", label) == 90
    assert metrics.get_sample_value("frazil_table_up", label) == 0


def test_each_system_is_up_or_not() -> None:
    rows = [row for row in rows_of(registry()) if row["metric"] == "frazil_up"]

    assert rows == [
        {"metric": "frazil_up", "system": "kafka", "value": 1.0},
        {"metric": "frazil_up", "system": "catalog", "value": 0.0},
    ]


def test_the_dashboard_asks_for_metrics_that_there_are() -> None:
    dashboard = json.loads((DOCS / "monitoring" / "frazil-dashboard.json").read_text())
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    asked.append(dashboard["templating"]["list"][1]["query"])

    named = {name for expression in asked for name in re.findall(r"frazil_\w+", expression)}
    assert {name.removesuffix("_bucket") for name in named} == {*NAMES, *OF_FRESHNESS}


def test_each_metric_stands_in_the_docs() -> None:
    text = (DOCS / "monitoring.md").read_text()

    assert [name for name in (*NAMES, *OF_FRESHNESS) if f"| `{name}` |" not in text] == []


def test_how_fresh_each_layer_is_comes_as_prometheus_parser_reads_it() -> None:
    allowed = Allowed(warn=timedelta(minutes=1))
    kept = Delays(tuple(Delay(0.0, seconds) for seconds in (0.5, 1.0, 7.0, 100_000.0)))
    layers = [
        Layer("local.trades", "iceberg", Age(12.5, ""), allowed, kept),
        Layer("local.trades", "glue", Age.unknown("Glue is down"), None, Delays(None)),
    ]
    look = Look([], {}, [], layers=layers)

    text = generate_latest(registry_of(lambda: look)).decode()

    samples = {
        (sample.name.removeprefix("frazil_layer_"), *reversed(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name.startswith("frazil_layer_")
    }
    bounds = {key: n for key, n in samples.items() if key[0] == "delay_seconds_bucket"}
    buckets = {bound: n for key, n in bounds.items() for bound in key if bound[0] in "0123456789+"}
    assert samples["behind_seconds", "local.trades", "iceberg"] == 12.5
    assert samples["allowed_seconds", "local.trades", "warn", "iceberg"] == 60
    assert [buckets[bound] for bound in ("1.0", "5.0", "10.0", "86400.0", "+Inf")] == [2, 2, 3, 3, 4]
    assert samples["delay_seconds_gsum", "local.trades", "iceberg"] == 100_008.5
    assert not [key for key in samples if "glue" in key]


@dataclass
class Lake:
    """A catalog in a file, and a Kafka that does not answer."""

    settings: Settings
    catalog: Catalog

    @property
    def admin(self) -> Any:
        return admin_client(self.settings)


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    catalog = load_catalog(
        "metrics", type="sql", uri=f"sqlite:///{tmp_path}/catalog", warehouse=f"file://{tmp_path}"
    )
    catalog.create_namespace("local")
    yield Lake(Settings.load(kafka={"bootstrap_servers": "127.0.0.1:1"}), catalog)
    catalog.close()


def test_a_broken_table_and_a_kafka_that_is_down_do_not_hide_the_other_tables(lake: Lake) -> None:
    for name in ("broken", "whole"):
        lake.catalog.create_table(f"local.{name}", Schema())
    lake.catalog.load_table("local.broken")
    Path(lake.catalog.load_table("local.broken").metadata_location.removeprefix("file://")).unlink()

    states, down = known_states([TableSpec(topic=name) for name in ("broken", "whole")], lake)  # type: ignore[arg-type]

    assert [(state.identifier, state.state) for state in states] == [("local.whole", "unknown")]
    assert "Kafka" in down["local.whole"].what
    assert "no longer in the bucket" in down["local.broken"].what


def test_a_catalog_that_hangs_is_down() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes connections, and never answers
        rest = {"uri": f"http://127.0.0.1:{silent.getsockname()[1]}", "signing_name": ""}
        settings = Settings.load(
            kafka={"bootstrap_servers": "127.0.0.1:1"}, rest=rest, registry={"url": "http://127.0.0.1:1"}
        )
        errors = look_at_parts([TableSpec(topic="trades")], Clients(settings), seconds=0.5)

    assert {part: type(error).__name__ for part, error in errors.items()} == {
        "kafka": "PartDownError", "catalog": "PartDownError", "registry": "PartDownError",
    }  # fmt: skip
