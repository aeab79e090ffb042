"""Upkeep in the asset graph: what the sensor asks for, what its jobs do, what readers see of it."""

from __future__ import annotations

from typing import Any

import dagster as dg
import pytest

from frazil.checks.run import run_checks
from frazil.connections import Connections
from frazil.landing.land import land
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.commits.commit import set_properties
from frazil.upkeep.kinds import KINDS
from kit.graph.graphs import Graph, MakeGraph, all_paths, failures
from kit.readers.targets import read_glue, sync_glue
from kit.records.topics import Topic
from kit.tables.foreign import ROWS, file_count, foreign_table

AT_ONCE = {"upkeep": {"small_bytes": 1}, "publish": []}
"""Two small files are enough for a compaction."""


def compaction(graph: Graph, instance: dg.DagsterInstance) -> dg.RunRequest | None:
    """The run that a tick asks for, if it asks for a compaction."""
    asked = [r for r in graph.tick("upkeep", instance).run_requests if r.job_name == "compaction"]
    assert len(asked) <= 1
    return asked[0] if asked else None


def named(request: dg.RunRequest) -> list[str]:
    """The tables that a run is to work on."""
    ((_, step),) = request.run_config["ops"].items()
    return list(step["config"]["tables"])


def launch(graph: Graph, instance: dg.DagsterInstance, request: dg.RunRequest) -> dg.ExecuteInProcessResult:
    """Starts the run that was asked for, as Dagster's daemon does."""
    job = graph.definitions.resolve_job_def(str(request.job_name))
    return job.execute_in_process(
        run_config=request.run_config, instance=instance, tags=request.tags, raise_on_error=False
    )


def by_hand(
    graph: Graph, instance: dg.DagsterInstance, *tables: str, **config: Any
) -> dg.ExecuteInProcessResult:
    """Starts a compaction in the launchpad."""
    run_config = {"ops": {"compact_files": {"config": {"tables": list(tables), **config}}}}
    return launch(graph, instance, dg.RunRequest(job_name="compaction", run_config=run_config))


def observed(result: dg.ExecuteInProcessResult) -> dict[str, dict[str, Any]]:
    """Metadata values of each observation, by asset."""
    events = [e.asset_observation_data.asset_observation for e in result.all_events if e.is_asset_observation]
    return {e.asset_key.to_user_string(): {k: v.value for k, v in e.metadata.items()} for e in events}


def foreign(topic: Topic, count: int = 4) -> None:
    foreign_table(topic.connections.catalog, topic.things.table, count)


def files(topic: Topic) -> int:
    return file_count(topic.connections.catalog, topic.things.table)


def location(topic: Topic) -> str:
    return str(topic.connections.catalog.load_table(topic.things.table.identifier).metadata_location)


@pytest.fixture
def small(make_graph: MakeGraph) -> Graph:
    """A pipeline of one table that some other tool wrote, in four small files."""
    graph = make_graph(AT_ONCE)
    foreign(graph.topics[0])
    return graph


def test_small_files_are_compacted_in_a_run_of_the_sensor_and_readers_see_the_result(
    make_graph: MakeGraph, instance: dg.DagsterInstance
) -> None:
    graph = make_graph({"upkeep": {"small_bytes": 1}})
    (topic,) = graph.topics
    graph.run(instance, [graph.things.kafka_path])
    topic.trades(4)
    land(topic.spec, topic.connections)
    topic.trades(4)
    graph.run(instance, all_paths(graph.things)[1:])
    rows = topic.rows()

    asked = compaction(graph, instance)
    assert asked
    result = launch(graph, instance, asked)

    checks = {c.check: c.text for c in run_checks([topic.spec], topic.connections) if not c.passed}
    metadata = observed(result)["/".join(graph.things.iceberg_path)]
    assert result.success
    assert (files(topic), topic.rows(), checks) == (1, rows, {})
    assert metadata["compaction/done"] == 1
    assert metadata["compaction/seconds"] > 0
    assert compaction(graph, instance) is None


def test_the_first_tick_works_on_a_table_that_some_other_tool_wrote(
    small: Graph, instance: dg.DagsterInstance
) -> None:
    asked = compaction(small, instance)
    assert asked
    result = launch(small, instance, asked)

    head = small.topics[0].connections.catalog.load_table(small.things.table.identifier).current_snapshot()
    assert result.success
    assert files(small.topics[0]) == 1
    assert head.summary.additional_properties["frazil.upkeep"] == "compaction"
    assert head.summary.additional_properties["frazil.upkeep-reason"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_job_works_on_several_tables_in_one_run(
    make_graph: MakeGraph, instance: dg.DagsterInstance, kind: str
) -> None:
    graph = make_graph(AT_ONCE, AT_ONCE)
    names = [topic.things for topic in graph.topics]
    for topic in graph.topics:
        foreign(topic, 2)
    config = {"ops": {KINDS[kind].step: {"config": {"tables": [str(n.table) for n in names]}}}}

    result = launch(graph, instance, dg.RunRequest(job_name=kind, run_config=config))

    assert result.success, failures(result)
    assert set(observed(result)) == {"/".join(n.iceberg_path) for n in names}
    assert {config["upkeep"] for config in observed(result).values()} == {kind}


def test_a_suspended_table_is_kept_up(small: Graph, instance: dg.DagsterInstance) -> None:
    catalog = small.topics[0].connections.catalog
    set_properties(
        TableHandle(catalog, small.things.table), {"frazil.suspended": "partition 0, offset 7: too short"}
    )

    assert compaction(small, instance)


def test_a_tick_says_why_and_the_reason_reaches_the_run(small: Graph, instance: dg.DagsterInstance) -> None:
    asked = compaction(small, instance)

    assert asked
    config = asked.run_config["ops"]["compact_files"]["config"]
    name = str(small.things.table)
    assert config["tables"] == [name]
    assert "4" in config["reasons"][name]
    assert (asked.job_name, asked.tags["frazil/tables"]) == ("compaction", name)


def test_a_tick_over_many_tables_asks_for_one_run_per_kind(
    make_graph: MakeGraph, instance: dg.DagsterInstance
) -> None:
    graph = make_graph(*[AT_ONCE] * 5)
    for topic in graph.topics:
        foreign(topic, 2)

    asked = graph.tick("upkeep", instance).run_requests
    again = graph.tick("upkeep", instance).run_requests

    kinds = [r.job_name for r in asked]
    names = sorted(str(topic.things.table) for topic in graph.topics)
    assert len(kinds) == len(set(kinds))
    assert sorted(next(named(r) for r in asked if r.job_name == "compaction")) == names
    assert [r.run_key for r in asked] == [r.run_key for r in again]


@pytest.mark.parametrize("status", [dg.DagsterRunStatus.NOT_STARTED, dg.DagsterRunStatus.STARTED])
def test_a_run_in_flight_holds_back_the_second(
    small: Graph, instance: dg.DagsterInstance, status: dg.DagsterRunStatus
) -> None:
    asked = compaction(small, instance)
    assert asked
    job = small.definitions.resolve_job_def("compaction")
    instance.create_run_for_job(job, run_config=asked.run_config, tags=asked.tags, status=status)

    decided = small.tick("upkeep", instance)

    assert [r for r in decided.run_requests or () if r.job_name == "compaction"] == []


def test_a_table_that_fails_fails_the_run_but_not_the_others_and_rests(
    make_graph: MakeGraph, instance: dg.DagsterInstance
) -> None:
    graph = make_graph(AT_ONCE, AT_ONCE)
    good, bad = graph.topics
    foreign(good)

    result = by_hand(graph, instance, str(bad.things.table), str(good.things.table))
    foreign(bad)
    for _ in range(2):
        good.connections.catalog.load_table(good.things.table.identifier).append(ROWS)

    asked = compaction(graph, instance)
    assert not result.success
    assert f"There is no table {bad.things.table}" in failures(result)
    assert list(observed(result)) == ["/".join(good.things.iceberg_path)]
    assert (
        asked is None
        or str(bad.things.table) not in asked.run_config["ops"]["compact_files"]["config"]["tables"]
    )


def test_a_dry_run_in_the_launchpad_touches_nothing(small: Graph, instance: dg.DagsterInstance) -> None:
    before = location(small.topics[0])

    result = by_hand(small, instance, dry_run=True)

    metadata = observed(result)["/".join(small.things.iceberg_path)]
    assert result.success
    assert (metadata["dry_run"], metadata["compaction/done"]) == (True, 1)
    assert location(small.topics[0]) == before


def test_a_table_that_nobody_knows_is_named(small: Graph, instance: dg.DagsterInstance) -> None:
    result = by_hand(small, instance, "nowhere.nothing")

    assert "No pipeline has a table nowhere.nothing" in failures(result)


def test_upkeep_shows_readers_no_landing_that_its_checks_have_not_passed(
    make_graph: MakeGraph, instance: dg.DagsterInstance, connections: Connections
) -> None:
    graph = make_graph({"upkeep": {"small_bytes": 1}, "publish": ["glue"]})
    (topic,) = graph.topics
    graph.run(instance, [graph.things.kafka_path])
    topic.trades(2)
    land(topic.spec, connections)
    shown = sync_glue(connections, graph.things)
    topic.trades(2)
    land(topic.spec, connections)

    result = by_hand(graph, instance, str(graph.things.table))

    entry = read_glue(connections, graph.things)
    assert result.success
    assert files(topic) == 1
    assert entry
    assert entry.metadata_location == shown.metadata_location


def test_a_catalog_that_is_down_is_a_reason_to_skip(
    small: Graph, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FRAZIL_REST__URI", "http://127.0.0.1:1")

    decided = small.tick("upkeep", instance)

    assert not decided.run_requests
    assert "The Iceberg catalog does not answer" in decided.skip_message


def test_a_tick_over_quiet_tables_says_so(make_graph: MakeGraph, instance: dg.DagsterInstance) -> None:
    graph = make_graph({"publish": []})
    foreign(graph.topics[0], 1)

    decided = graph.tick("upkeep", instance)

    assert [r for r in decided.run_requests or () if r.job_name == "compaction"] == []
    assert decided.run_requests or "Tables looked at: 1" in decided.skip_message
