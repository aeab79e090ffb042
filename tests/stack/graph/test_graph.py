"""The asset graph on real servers: from a topic that is not there yet to rows in Snowflake."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster._core.definitions.data_version import CachingStaleStatusResolver
from dagster._core.errors import DagsterExecutionInterruptedError
from dagster._core.loader import LoadingContextForTest

from assets import iceberg
from frazil.checks.run import run_check
from frazil.connections import Connections
from frazil.landing.land import land
from frazil.spec.names import Things
from frazil.tables.catalogs.handle import TableHandle
from kit.graph.graphs import Graph, MakeGraph, all_paths, failures, materialized, verdicts
from kit.lineage.collecting import Collecting, sending
from kit.readers.targets import glue_path, snowflake_path, sync_glue, sync_snowflake
from kit.records.producing import BESIDE
from kit.records.topics import create_topic
from kit.runs.waiting import PATIENCE
from resources.reporting import DagsterReporter

GROUPED = ("landing", "table", "upkeep")
"""Metadata in which facts that nobody plots stand together."""


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collecting]:
    with sending(monkeypatch) as server:
        yield server


def assertions(event: dict[str, Any]) -> list[dict[str, Any]]:
    assertions_read: list[dict[str, Any]] = event["inputs"][0]["inputFacets"]["dataQualityAssertions"][
        "assertions"
    ]
    return assertions_read


def user_key(path: tuple[str, ...]) -> str:
    return "/".join(path)


def test_one_selection_takes_a_topic_all_the_way_and_sends_it_as_lineage(
    make_graph: MakeGraph, instance: dg.DagsterInstance, collector: Collecting
) -> None:
    graph = make_graph({"partitions": 2, "first_rows": 3})
    names = graph.things
    assert graph.run(instance, [names.kafka_path]).success
    graph.topics[0].trades(30, partition=1)

    result = graph.run(instance, all_paths(names))

    metadata = materialized(result)
    assert result.success
    assert all(verdicts(result).values())
    assert len([name for name in verdicts(result) if not name.endswith("_access")]) == 6
    assert metadata[user_key(names.kafka_path)]["end_offsets"] == 30 + BESIDE
    assert metadata[user_key(names.iceberg_path)]["rows_landed"] == 30
    assert metadata[user_key(names.iceberg_path)]["dagster/row_count"] == 30
    assert [r.data["quantity"] for r in metadata[user_key(names.iceberg_path)]["first_rows"].records] == list(
        "012"
    )
    assert metadata[user_key(snowflake_path(names))]["dagster/row_count"] == 30
    assert [row["quantity"] for row in graph.topics[0].rows()] == list(range(30))
    assert collector.refused == []
    jobs = [event["job"]["name"] for event in collector.ended()]
    assert {f"land.{names.table}", *(f"publish.{of}.{names.table}" for of in ("glue", "snowflake"))} < {*jobs}
    assert {event["run"]["facets"]["parent"]["run"]["runId"] for event in collector.events} == {result.run_id}
    checks = (a["assertion"] for event in collector.ended("check") for a in assertions(event))
    assert {*checks} == {name for name in verdicts(result) if not name.endswith("_access")}


@pytest.mark.plain(why="gaps would be news")
def test_what_is_plotted_is_a_number(make_graph: MakeGraph, instance: dg.DagsterInstance) -> None:
    graph = make_graph()
    graph.run(instance, [graph.things.kafka_path])
    graph.topics[0].trades(5)

    metadata = materialized(graph.run(instance, [graph.things.iceberg_path]))

    landed = metadata[user_key(graph.things.iceberg_path)]
    numbers = {
        "rows_landed", "rows_per_second", "total_rows", "total_bytes", "total_files", "lag", "seconds",
        "freshness_seconds", "dagster/row_count", "small_files", "manifests", "snapshots",
    }  # fmt: skip
    assert {n for n in numbers if isinstance(landed[n], int | float)} == numbers
    assert not landed.keys() & {"dead_letters", "skipped", "gaps", "conflicts"}, "none is no news"
    snapshot = TableHandle(graph.topics[0].connections.catalog, graph.things.table).load().current_snapshot()
    facts = {r.data["fact"]: r.data["value"] for group in GROUPED for r in landed[group].records}
    assert (facts["files"], facts["files after compaction"]) == ("1", "1")
    assert facts["bytes"].endswith((" KiB", " KB"))
    assert landed["snapshot_id"] == str(snapshot and snapshot.snapshot_id)
    assert landed["dagster/table_name"] == str(graph.things.table)
    assert "quantity" in [c.name for c in landed["dagster/column_schema"].columns]
    smallest = landed["files_by_size"].records[0].data
    assert (smallest["size"], smallest["files"]) == ("< 1 MiB", 1)


@pytest.mark.plain(why="each offset is a record")
def test_a_landing_tells_of_its_topic_and_is_in_step_with_it(
    make_graph: MakeGraph, instance: dg.DagsterInstance
) -> None:
    graph = make_graph({"publish": []})
    graph.topics[0].register(graph.topics[0].schema)
    create_topic(graph.topics[0].connections.admin, graph.topics[0].name, 1, {})
    graph.topics[0].trades(5)
    kafka, table = (dg.AssetKey(path) for path in (graph.things.kafka_path, graph.things.iceberg_path))

    first = materialized(graph.run(instance, [graph.things.iceberg_path]))
    graph.run(instance, [graph.things.kafka_path])
    graph.topics[0].trades(2)
    graph.run(instance, [graph.things.iceberg_path])

    assert first[user_key(graph.things.kafka_path)]["end_offsets"] == 5
    seen = instance.fetch_observations(kafka, limit=1).records[0].asset_observation
    assert seen
    assert seen.metadata["end_offsets"].value == 7
    newest = instance.get_latest_materialization_event(kafka)
    assert newest
    assert "partitions" in (newest.asset_materialization or seen).metadata
    assets = graph.definitions.resolve_asset_graph()
    statuses = CachingStaleStatusResolver(instance, assets, LoadingContextForTest(instance))
    assert [statuses.get_status(key).value for key in (kafka, table)] == ["FRESH", "FRESH"]


def test_the_asset_of_a_topic_with_several_record_types_registers_the_schema_of_each(
    make_graph: MakeGraph, instance: dg.DagsterInstance, fresh_name: str
) -> None:
    both = {"topic": fresh_name, "subject_names": "topic_record", "publish": []}
    graph = make_graph({**both, "record_type": "shop.Order"}, {**both, "record_type": "shop.Refund"})

    metadata = materialized(graph.run(instance, [graph.things.kafka_path]))

    subjects = metadata[user_key(graph.things.kafka_path)]["subject"]
    assert subjects == f"{fresh_name}-shop.Order, {fresh_name}-shop.Refund"


@pytest.mark.nightly
def test_a_second_run_lands_only_what_is_new(make_graph: MakeGraph, instance: dg.DagsterInstance) -> None:
    graph = make_graph({"publish": []})
    graph.run(instance, [graph.things.kafka_path])
    graph.topics[0].trades(10)
    graph.run(instance, [graph.things.iceberg_path])
    graph.topics[0].trades(3)

    metadata = materialized(graph.run(instance, [graph.things.iceberg_path]))

    landed = metadata[user_key(graph.things.iceberg_path)]
    assert (landed["rows_landed"], landed["total_rows"], landed["lag"]) == (3, 13, 0)


@pytest.fixture
def half_broken(make_graph: MakeGraph, instance: dg.DagsterInstance) -> Graph:
    """A pipeline of two tables; nobody made the second one's topic."""
    graph = make_graph({}, {})
    graph.run(instance, [graph.things.kafka_path])
    graph.topics[0].trades(4)
    return graph


def test_a_table_that_fails_does_not_keep_the_others_from_landing(
    half_broken: Graph, instance: dg.DagsterInstance
) -> None:
    good, bad = (topic.things for topic in half_broken.topics)

    result = half_broken.run(instance, [good.iceberg_path, bad.iceberg_path])

    assert not result.success
    assert list(materialized(result)) == [user_key(good.iceberg_path)]
    assert "1 of 2 tables could not be landed" in failures(result)
    assert str(bad.table) in failures(result)


def test_a_table_that_a_record_stops_shows_what_was_published_and_why_it_stands_still(
    make_graph: MakeGraph, instance: dg.DagsterInstance
) -> None:
    graph = make_graph({"publish": []})
    (topic,), names = graph.topics, graph.things
    graph.run(instance, [names.kafka_path])
    topic.trades(5)
    topic.send([b"bad"])

    result = graph.run(instance, [names.iceberg_path])

    key = dg.AssetKey(names.iceberg_path)
    event = instance.get_latest_materialization_event(key)
    assert event
    assert event.asset_materialization
    values = {name: value.value for name, value in event.asset_materialization.metadata.items()}
    check = dg.AssetCheckKey(key, "freshness")
    record = instance.event_log_storage.get_latest_asset_check_execution_by_key([check])[check]
    event_read = record.event
    assert not result.success
    assert asyncio.run(record.targets_latest_materialization(LoadingContextForTest(instance)))
    assert (values["rows_landed"], values["dagster/row_count"], values["lag"]) == (5, 5, 1 + BESIDE)
    assert event_read
    evaluation = event_read.dagster_event.event_specific_data
    assert (evaluation.passed, evaluation.severity) == (False, dg.AssetCheckSeverity.ERROR)
    assert f"partition 0, offset {5 + BESIDE}" in evaluation.description


def test_a_run_that_is_terminated_tells_what_it_committed(
    make_graph: MakeGraph, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What terminateRun does: it interrupts the step, which waits for landings; one was in its commit."""
    graph = make_graph({}, {"publish": []})
    graph.run(instance, [topic.things.kafka_path for topic in graph.topics])
    done, idle = graph.topics
    done.trades(5)
    real = iceberg.land_many

    def interrupted(*given: Any, **named: Any) -> Iterator[Any]:
        list(real(*given, **named))
        raise DagsterExecutionInterruptedError
        yield

    monkeypatch.setattr(iceberg, "land_many", interrupted)
    before = evaluate(graph, instance, done.things)
    ended = graph.run(instance, [topic.things.iceberg_path for topic in graph.topics])

    event = instance.get_latest_materialization_event(dg.AssetKey(done.things.iceberg_path))
    asked = evaluate(graph, instance, done.things, before.cursor)
    assert not ended.success
    assert event
    assert event.asset_materialization
    assert event.asset_materialization.metadata["rows_landed"].value == 5
    assert asked.get_num_requested(dg.AssetKey(glue_path(done.things))) == 1
    assert instance.get_latest_materialization_event(dg.AssetKey(idle.things.iceberg_path)) is None


@pytest.mark.nightly
def test_a_table_that_lands_and_can_not_be_described_keeps_no_other_from_landing(
    make_graph: MakeGraph, instance: dg.DagsterInstance, connections: Connections
) -> None:
    graph = make_graph({}, {})
    paths = [topic.things.kafka_path for topic in graph.topics]
    graph.run(instance, paths)
    bad, good = graph.topics
    bad.trades(1)
    land(bad.spec, connections)
    table = connections.catalog.load_table(bad.things.table.identifier)
    head = table.current_snapshot()
    assert head
    table.io.delete(head.manifest_list)
    good.trades(4)

    result = graph.run(instance, [topic.things.iceberg_path for topic in graph.topics])

    assert list(materialized(result)) == [user_key(good.things.iceberg_path)]
    assert "1 of 2 tables could not be landed" in failures(result)
    assert f"{bad.things.table}: A file that a table needs is no longer in the bucket." in failures(result)


def test_what_such_a_run_left_behind_follows_by_automation(
    half_broken: Graph, instance: dg.DagsterInstance
) -> None:
    good, bad = (topic.things for topic in half_broken.topics)
    before = evaluate(half_broken, instance, good)
    half_broken.run(instance, [*all_paths(good)[1:], bad.iceberg_path])

    asked = evaluate(half_broken, instance, good, before.cursor)

    assert before.total_requested == 0
    assert asked.get_num_requested(dg.AssetKey(glue_path(good))) == 1
    assert asked.get_num_requested(dg.AssetKey(snowflake_path(good))) == 1


@pytest.mark.nightly
def test_a_run_that_showed_everything_leaves_nothing_to_automation(
    make_graph: MakeGraph, instance: dg.DagsterInstance
) -> None:
    graph = make_graph()
    graph.run(instance, [graph.things.kafka_path])
    graph.topics[0].trades(4)
    before = evaluate(graph, instance, graph.things)

    graph.run(instance, all_paths(graph.things)[1:])

    assert evaluate(graph, instance, graph.things, before.cursor).total_requested == 0


def evaluate(
    graph: Graph, instance: dg.DagsterInstance, names: Things, cursor: Any = None
) -> dg.EvaluateAutomationConditionsResult:
    selection = dg.AssetSelection.assets(*map(dg.AssetKey, all_paths(names)))
    return dg.evaluate_automation_conditions(
        graph.definitions, instance, asset_selection=selection, cursor=cursor
    )


def test_what_a_blocking_check_refuses_is_not_shown(
    make_graph: MakeGraph, instance: dg.DagsterInstance
) -> None:
    graph = make_graph({"publish": ["glue"]})
    graph.run(instance, [graph.things.kafka_path])
    graph.topics[0].trades(6)
    graph.run(instance, [graph.things.iceberg_path])
    table = graph.topics[0].connections.catalog.load_table(graph.things.table.identifier)
    table.delete("quantity = 3")

    result = graph.run(instance, [graph.things.iceberg_path, glue_path(graph.things)])

    assert not result.success
    assert verdicts(result)["row_count"] is False
    assert list(materialized(result)) == [user_key(graph.things.iceberg_path)]


@pytest.mark.nightly
def test_a_shell_needs_no_more_than_the_virtual_environment(
    make_graph: MakeGraph, instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    graph = make_graph({"publish": ["glue"]})
    graph.run(instance, [graph.things.kafka_path])
    graph.topics[0].trades(2)
    command = [str(Path(sys.executable).with_name("dagster")), "asset", "materialize"]
    which = ["-m", "frazil.definitions", "--select", f'key:"iceberg/*/{graph.things.table.table}"+']

    done = subprocess.run(
        [*command, *which], env={**os.environ, "DAGSTER_HOME": str(tmp_path)},
        cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert len(graph.topics[0].rows()) == 2
    assert run_check("glue_pointer", graph.topics[0].spec, graph.topics[0].connections).passed


@pytest.mark.nightly  # by day commands themselves tell it: cli/test_commands.py and cli/test_accept.py
def test_dagster_hears_of_what_the_command_line_did(
    make_graph: MakeGraph, instance: dg.DagsterInstance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = make_graph()
    (spec, names), connections = (graph.topics[0].spec, graph.things), graph.topics[0].connections
    graph.run(instance, [names.kafka_path])
    graph.topics[0].trades(7)
    home = tmp_path / "dagster-home"
    home.mkdir()
    (home / "dagster.yaml").touch()
    monkeypatch.setenv("DAGSTER_HOME", str(home))
    reporter = DagsterReporter(connections.settings)

    reporter.tell(spec, land(spec, connections))
    reporter.tell(spec, [sync_glue(connections, names), sync_snowflake(connections, names)])
    reporter.tell(spec, run_check("row_count", spec, connections))

    check = dg.AssetCheckKey(dg.AssetKey(names.iceberg_path), "row_count")
    with dg.DagsterInstance.get() as own_instance:
        rows = [rows_told(own_instance, path) for path in (names.iceberg_path, snowflake_path(names))]
        executed = own_instance.event_log_storage.get_latest_asset_check_execution_by_key([check])
    assert reporter.listens
    assert rows == [7, 7]
    assert executed[check].status.value == "SUCCEEDED"


def rows_told(instance: dg.DagsterInstance, path: tuple[str, ...]) -> object:
    event = instance.get_latest_materialization_event(dg.AssetKey(path))
    assert event is not None
    assert event.asset_materialization is not None
    return event.asset_materialization.metadata["dagster/row_count"].value


def test_nobody_listens_where_there_is_no_instance(
    connections: Connections, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path))

    assert not DagsterReporter(connections.settings).listens
