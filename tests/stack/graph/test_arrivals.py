"""The arrivals sensor: which tables it lands, when it waits, what it says."""

from __future__ import annotations

import time

import dagster as dg
import pytest

from frazil.landing.land import land
from kit.graphs import Graph, MakeGraph
from kit.targets import glue_path, snowflake_path
from resources.reporting import held_key
from sensors.runs import ARRIVALS


def run_of(
    graph: Graph,
    instance: dg.DagsterInstance,
    status: dg.DagsterRunStatus,
    tags: dict[str, str] | None = None,
) -> dg.DagsterRun:
    """A run that lands the first table, in the given status."""
    job = graph.definitions.resolve_implicit_global_asset_job_def()
    return instance.create_run_for_job(
        job,
        status=status,
        tags=tags,
        asset_selection=frozenset({dg.AssetKey(graph.things.iceberg_path)}),
    )


@pytest.fixture
def waiting(make_graph: MakeGraph, instance: dg.DagsterInstance) -> Graph:
    """A pipeline of two tables; four records wait for the first one, nobody made the other's topic."""
    graph = make_graph({}, {"publish": []})
    graph.run(instance, [graph.things.kafka_path])
    graph.topics[0].trades(4)
    return graph


def test_a_topic_that_moved_is_landed_and_shown_in_one_run(
    waiting: Graph, instance: dg.DagsterInstance
) -> None:
    names = waiting.things

    (request,) = waiting.tick("arrivals", instance).run_requests

    wanted = (names.iceberg_path, glue_path(names), snowflake_path(names))
    assert request.asset_selection == list(map(dg.AssetKey, wanted))


def test_a_landing_runs_the_checks_that_cost_nothing(waiting: Graph, instance: dg.DagsterInstance) -> None:
    (request,) = waiting.tick("arrivals", instance).run_requests

    assert {key.name for key in request.asset_check_keys} == {
        "row_count", "schema", "freshness", "file_health", "glue_pointer", "snowflake_current",
    }  # fmt: skip


def test_a_small_landing_needs_no_run_where_the_sensor_makes_it(
    make_graph: MakeGraph, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FRAZIL_SMALL_LANDINGS", "sensor")
    graph = make_graph({})
    graph.run(instance, [graph.things.kafka_path])
    graph.topics[0].trades(4)

    decided = graph.tick("arrivals", instance)

    assert not decided.run_requests
    assert len(graph.topics[0].rows()) == 4
    names = graph.things
    for path in (names.iceberg_path, glue_path(names), snowflake_path(names)):
        assert len(instance.fetch_materializations(dg.AssetKey(path), limit=5).records) == 1
    told = instance.event_log_storage.get_latest_asset_check_execution_by_key(
        [dg.AssetCheckKey(dg.AssetKey(names.iceberg_path), check) for check in ("row_count", "schema")]
    )
    assert [record.status.value for record in told.values()] == ["SUCCEEDED", "SUCCEEDED"]
    assert "records waiting: 0" in graph.tick("arrivals", instance).skip_message


def test_where_nothing_waits_the_sensor_says_what_it_looked_at(
    waiting: Graph, instance: dg.DagsterInstance
) -> None:
    land(waiting.topics[0].spec, waiting.topics[0].connections)

    decided = waiting.tick("arrivals", instance)

    assert not decided.run_requests
    assert "Tables looked at: 2; records waiting: 0" in decided.skip_message
    assert f"topics missing: {waiting.topics[1].name}" in decided.skip_message


@pytest.mark.parametrize(("more", "requests"), [(1, 0), (6, 1)])
def test_a_table_waits_until_its_threshold_is_reached(
    make_graph: MakeGraph, instance: dg.DagsterInstance, more: int, requests: int
) -> None:
    graph = make_graph({"land_when": {"records": 5, "age": "1h"}})
    graph.run(instance, [graph.things.kafka_path])
    graph.topics[0].trades(1)
    land(graph.topics[0].spec, graph.topics[0].connections)
    graph.topics[0].trades(more)

    assert len(graph.tick("arrivals", instance).run_requests) == requests


def evaluations(instance: dg.DagsterInstance, graph: Graph) -> list[tuple[bool, str]]:
    """Each verdict on the first table's freshness that Dagster was told of, the newest first."""
    key = dg.AssetCheckKey(dg.AssetKey(graph.things.iceberg_path), "freshness")
    history = instance.event_log_storage.get_asset_check_execution_history(key, limit=10)
    events = [record.event for record in history if record.event]
    found = [event.dagster_event.event_specific_data for event in events if event.dagster_event]
    return [(evaluation.passed, evaluation.severity.value) for evaluation in found]


def test_a_quiet_table_is_fresh_and_one_that_stands_still_is_told_once(
    waiting: Graph, instance: dg.DagsterInstance
) -> None:
    topic = waiting.topics[0]
    land(topic.spec, topic.connections)
    for _ in range(2):
        waiting.tick("arrivals", instance)
    quiet = evaluations(instance, waiting)
    topic.trades(4)
    topic.delete_records_before(6)
    for _ in range(2):
        waiting.tick("arrivals", instance)
    stopped = evaluations(instance, waiting)
    land(topic.spec, topic.connections, accept_loss={0: (4, 6)})
    waiting.tick("arrivals", instance)

    assert quiet == [(True, "WARN")]
    assert stopped == [(False, "ERROR"), *quiet]
    assert evaluations(instance, waiting) == [(True, "WARN"), *stopped]


def test_no_second_run_is_asked_for_while_one_is_queued(waiting: Graph, instance: dg.DagsterInstance) -> None:
    run_of(waiting, instance, dg.DagsterRunStatus.NOT_STARTED, {ARRIVALS: "earlier"})

    decided = waiting.tick("arrivals", instance)

    assert not decided.run_requests
    assert "waits to be started" in decided.skip_message


def test_a_table_that_somebody_lands_right_now_is_left_out(
    waiting: Graph, instance: dg.DagsterInstance
) -> None:
    run_of(waiting, instance, dg.DagsterRunStatus.STARTED)

    decided = waiting.tick("arrivals", instance)

    assert not decided.run_requests
    assert "1 left out" in decided.skip_message


def test_a_table_that_frazil_run_lands_is_left_to_it_and_its_freshness_told(
    waiting: Graph, instance: dg.DagsterInstance
) -> None:
    key = held_key(waiting.things.iceberg_path)
    land(waiting.topics[0].spec, waiting.topics[0].connections)
    waiting.topics[0].trades(4)
    instance.daemon_cursor_storage.set_cursor_values({key: str(time.time() + 60)})

    decided = waiting.tick("arrivals", instance)

    assert not decided.run_requests
    assert "1 are landed by `frazil run`" in decided.skip_message
    assert evaluations(instance, waiting) == [(True, "WARN")]


def test_a_table_whose_landing_failed_a_moment_ago_rests(
    waiting: Graph, instance: dg.DagsterInstance
) -> None:
    run_of(waiting, instance, dg.DagsterRunStatus.FAILURE, {ARRIVALS: "earlier"})

    assert not waiting.tick("arrivals", instance).run_requests


def test_the_same_facts_ask_for_the_same_run(waiting: Graph, instance: dg.DagsterInstance) -> None:
    (first,), (again,) = (waiting.tick("arrivals", instance).run_requests for _ in range(2))
    waiting.topics[0].trades(1)
    (moved,) = waiting.tick("arrivals", instance).run_requests

    assert first.run_key == again.run_key
    assert moved.run_key != first.run_key


def test_a_run_that_ended_does_not_stand_in_the_way_of_its_repetition(
    waiting: Graph, instance: dg.DagsterInstance
) -> None:
    (first,) = waiting.tick("arrivals", instance).run_requests
    run_of(waiting, instance, dg.DagsterRunStatus.CANCELED, first.tags)

    (again,) = waiting.tick("arrivals", instance).run_requests

    assert again.run_key != first.run_key


def test_a_stack_that_is_down_is_a_reason_to_skip(
    waiting: Graph, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FRAZIL_KAFKA__BOOTSTRAP_SERVERS", "127.0.0.1:1")

    decided = waiting.tick("arrivals", instance)

    assert not decided.run_requests
    assert "Kafka does not answer" in decided.skip_message
