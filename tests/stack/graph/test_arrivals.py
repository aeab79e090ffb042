"""The arrivals sensor: which tables it lands, when it waits, what it says."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

import dagster as dg
import pytest

from frazil.landing.land import land
from frazil.upkeep.compaction.run import compact
from frazil.upkeep.kind import Order
from kit.graph.graphs import Graph, MakeGraph, failures, verdicts
from kit.readers.opened import table_of
from kit.readers.targets import glue_path, snowflake_path
from kit.records.topics import TRADE
from kit.runs.waiting import wait_for
from resources.reporting import reservation_key
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
    executions = instance.event_log_storage.get_latest_asset_check_execution_by_key(
        [dg.AssetCheckKey(dg.AssetKey(names.iceberg_path), check) for check in ("row_count", "schema")]
    )
    assert [record.status.value for record in executions.values()] == ["SUCCEEDED", "SUCCEEDED"]
    assert "records waiting: 0" in graph.tick("arrivals", instance).skip_message


@pytest.mark.each_time("sensor")
@pytest.mark.parametrize("by", ["run", "sensor"])
def test_a_table_that_a_schema_suspended_is_taken_up_again_once_the_registry_was_mended(
    make_graph: MakeGraph, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    """As by `frazil run`. A failed run rests, and the registry is asked twice a minute: not so here."""
    monkeypatch.setattr("sensors.runs._REST", timedelta(0))
    monkeypatch.setattr("frazil.landing.arrivals._COMPARES_EVERY", 0.0)
    monkeypatch.setenv("FRAZIL_SMALL_LANDINGS", by)
    graph = make_graph({"publish": [], "land_when": {"records": 1}})
    (topic,) = graph.topics
    registry, subject = topic.connections.registry, f"{topic.name}-value"
    graph.run(instance, [graph.things.kafka_path])
    topic.trades(3)
    land(topic.spec, topic.connections)
    topic.trades(1)
    registry.set_compatibility(subject, level="NONE")
    topic.register(with_quantity("string"))

    (refused,) = graph.tick("arrivals", instance).run_requests
    failed = graph.carry_out(instance, refused)
    meanwhile = [graph.tick("arrivals", instance) for _ in range(2)]
    registry.delete_version(subject, 2)
    topic.schema = TRADE
    topic.trades(1)
    again = graph.tick("arrivals", instance).run_requests
    runs = [graph.carry_out(instance, request) for request in again]
    quiet = graph.tick("arrivals", instance)

    assert not failed.success
    assert "can't become string" in failures(failed)
    assert [decided.run_requests for decided in meanwhile] == [[], []]
    assert "suspended" in meanwhile[-1].skip_message
    assert [run.success for run in runs] == ([True] if by == "run" else [])
    assert [row["quantity"] for row in topic.rows()] == [0, 1, 2, 3, 4]
    assert "records waiting: 0" in quiet.skip_message


def with_quantity(kind: str) -> dict[str, Any]:
    """The trades' schema, with another type of one field."""
    fields: Any = TRADE["fields"]
    return {**TRADE, "fields": [{**f, "type": kind} if f["name"] == "quantity" else f for f in fields]}


def test_where_nothing_waits_the_sensor_says_what_it_looked_at(
    waiting: Graph, instance: dg.DagsterInstance
) -> None:
    land(waiting.topics[0].spec, waiting.topics[0].connections)

    decided = waiting.tick("arrivals", instance)

    assert not decided.run_requests
    assert "Tables looked at: 2; records waiting: 0" in decided.skip_message
    assert f"topics missing: {waiting.topics[1].name}" in decided.skip_message


@pytest.mark.plain(why="offsets that wait are counted")
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
    evaluations_read = [event.dagster_event.event_specific_data for event in events if event.dagster_event]
    return [(evaluation.passed, evaluation.severity.value) for evaluation in evaluations_read]


@pytest.mark.plain(why="lost offsets are named")
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
    key = reservation_key(waiting.things.iceberg_path)
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


@pytest.mark.nightly
def test_of_a_run_that_failed_only_what_failed_rests_and_is_still_looked_at(
    make_graph: MakeGraph, instance: dg.DagsterInstance
) -> None:
    """A check that blocks one table fails the run that landed others, too: those are sound, and go on."""
    graph = make_graph({"publish": [], "freshness": "1s"}, {"publish": [], "freshness": "1s"})
    bad, good = graph.topics
    graph.run(instance, [topic.things.kafka_path for topic in graph.topics])
    for topic in graph.topics:
        topic.trades(4)
        land(topic.spec, topic.connections)
    table_of(bad).delete("quantity = 3")
    for topic in graph.topics:
        topic.trades(1)
    request = asked_for(graph, instance, 2)

    failed = graph.carry_out(instance, request)
    for topic in graph.topics:
        topic.trades(2)
    again = asked_for(graph, instance, 1)

    assert not failed.success
    assert again.asset_selection == [dg.AssetKey(good.things.iceberg_path)]
    key = dg.AssetCheckKey(dg.AssetKey(bad.things.iceberg_path), "freshness")

    def is_told() -> bool:
        graph.tick("arrivals", instance)
        newest = instance.event_log_storage.get_latest_asset_check_execution_by_key([key])
        return newest[key].status.value == "FAILED"

    wait_for(is_told, 60)  # it rests, and records wait


def asked_for(graph: Graph, instance: dg.DagsterInstance, tables: int) -> dg.RunRequest:
    """The run of so many tables that a tick asks for, once their freshness says so."""
    requests: list[dg.RunRequest] = []

    def is_asked() -> bool:
        requests[:] = graph.tick("arrivals", instance).run_requests
        return bool(requests) and len(requests[0].asset_selection or ()) >= tables

    wait_for(is_asked, 60)
    return requests[0]


@pytest.fixture
def no_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever commits must tell at once."""
    monkeypatch.setattr("sensors.unheard.GRACE", 0.0)


@pytest.mark.nightly
@pytest.mark.usefixtures("no_grace")
def test_a_landing_whose_process_was_killed_before_it_told_is_noticed_and_shown(
    waiting: Graph, instance: dg.DagsterInstance
) -> None:
    topic, names = waiting.topics[0], waiting.things
    land(topic.spec, topic.connections)

    (behind,) = waiting.tick("arrivals", instance).run_requests
    event = instance.get_latest_materialization_event(dg.AssetKey(names.iceberg_path))
    done = waiting.carry_out(instance, behind)

    assert event
    assert event.asset_materialization
    assert event.asset_materialization.metadata["rows_landed"].value == 4
    assert behind.asset_selection == [dg.AssetKey(glue_path(names)), dg.AssetKey(snowflake_path(names))]
    assert done.success
    assert verdicts(done) == {"glue_pointer": True, "snowflake_current": True}
    assert not waiting.tick("arrivals", instance).run_requests
    assert len(instance.fetch_materializations(dg.AssetKey(names.iceberg_path), limit=5).records) == 1


@pytest.mark.nightly
@pytest.mark.usefixtures("no_grace")
def test_what_dagster_was_told_of_is_told_once_whatever_upkeep_does(
    waiting: Graph, instance: dg.DagsterInstance
) -> None:
    topic, key = waiting.topics[0], dg.AssetKey(waiting.things.iceberg_path)
    waiting.run(instance, [waiting.things.iceberg_path])
    topic.trades(1)
    waiting.run(instance, [waiting.things.iceberg_path])
    compact(topic.spec, topic.connections, time.time(), Order(everything=True))

    for _ in range(3):
        waiting.tick("arrivals", instance)

    assert len(instance.fetch_materializations(key, limit=5).records) == 2


@pytest.mark.usefixtures("no_grace")
def test_a_target_that_did_not_follow_is_brought_in_step_and_its_check_says_so(
    waiting: Graph, instance: dg.DagsterInstance
) -> None:
    """As after an outage of Glue: its run failed, and nothing asks again before the next landing."""
    names = waiting.things
    waiting.run(instance, [names.iceberg_path])

    (behind,) = waiting.tick("arrivals", instance).run_requests
    key = dg.AssetCheckKey(dg.AssetKey(glue_path(names)), "glue_pointer")
    execution = instance.event_log_storage.get_latest_asset_check_execution_by_key([key])[key]

    assert behind.asset_selection == [dg.AssetKey(glue_path(names)), dg.AssetKey(snowflake_path(names))]
    assert execution.status.value == "FAILED"


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
