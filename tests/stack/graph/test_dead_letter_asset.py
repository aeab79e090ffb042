"""The dead-letter table in the asset graph: counted after each landing, and a check on its rate."""

from __future__ import annotations

from typing import Any

import dagster as dg
import pytest

from frazil.checks.run import run_check
from frazil.connections import Connections
from frazil.landing.land import land
from frazil.landing.repairs.redrive import redrive
from kit.graph.graphs import Graph, MakeGraph, evaluation_of, materialized, verdicts
from kit.records.topics import Topic, create_topic

KEPT = {"on_bad_record": "dead_letter", "publish": []}


@pytest.fixture
def graph(make_graph: MakeGraph, connections: Connections) -> Graph:
    """A topic of eight good records and two bad ones."""
    graph = make_graph(KEPT)
    (topic,) = graph.topics
    create_topic(connections.admin, topic.name, 1, {})
    topic.trades(8)
    topic.send([b"bad", None])
    return graph


def rate(topic: Topic, **changed: Any) -> tuple[bool, str]:
    spec = topic.spec.model_copy(update=changed)
    result = run_check("dead_letter_rate", spec, topic.connections)
    assert result.severity == "WARN"
    return result.passed, result.text


def test_a_landing_with_bad_records_is_followed_by_a_count_and_a_warning(
    graph: Graph, instance: dg.DagsterInstance
) -> None:
    names = graph.things

    result = graph.run(instance, [names.iceberg_path, names.dead_letters_path])

    metadata = materialized(result)["/".join(names.dead_letters_path)]
    assert result.success
    assert (metadata["dagster/row_count"], metadata["reason/too_short"], metadata["reason/null_value"]) == (
        2,
        1,
        1,
    )
    assert metadata["newest"] > 0
    assert verdicts(result)["dead_letter_rate"] is False
    assert verdicts(result)["row_count"] is True


def test_the_check_knows_the_limit_the_newest_landing_and_what_was_redriven(graph: Graph) -> None:
    (topic,) = graph.topics
    land(topic.spec, topic.connections)
    one_landing, generous = rate(topic), rate(topic, max_dead_letter_rate=0.2)
    topic.trades(10)
    land(topic.spec, topic.connections)
    two_landings = rate(topic, max_dead_letter_rate=0.1)
    good = topic.encode({"side": "BUY", "quantity": 1, "symbol": "Z"})
    redrive(topic.spec, topic.connections, repair=lambda _: good)

    assert one_landing == (
        False,
        "2 of 10 records are dead letters (20.00%), 2 of 10 of the newest landing (20.00%); "
        f"1.00% allowed: see {topic.things.table.dead_letters} for the reasons.",
    )
    assert generous[0] is True
    assert two_landings[0] is True
    assert "2 of 20 records are dead letters (10.00%), 0 of 10 of the newest" in two_landings[1]
    assert rate(topic)[0] is True
    assert "0 of 20 records are dead letters" in rate(topic)[1]


def test_only_tables_that_keep_dead_letters_have_the_asset(make_graph: MakeGraph) -> None:
    graph = make_graph(KEPT, {"publish": []})
    keeping, suspending = (topic.things for topic in graph.topics)
    keys = {spec.key for spec in graph.definitions.resolve_all_asset_specs()}
    resolved = graph.definitions.resolve_asset_graph()

    key = dg.AssetKey(keeping.dead_letters_path)
    assert key in keys
    assert dg.AssetKey(suspending.dead_letters_path) not in keys
    assert resolved.get(key).parent_keys == {dg.AssetKey(keeping.iceberg_path)}
    assert dg.AssetCheckKey(key, "dead_letter_rate") in resolved.asset_check_keys
    assert resolved.get(key).automation_condition is not None


@pytest.mark.parametrize("on_failure", ["warn", "stop"])
def test_a_landing_reports_the_checks_of_the_user_s_own_with_their_numbers(
    make_graph: MakeGraph, connections: Connections, instance: dg.DagsterInstance, on_failure: str
) -> None:
    many = {"name": "many", "expect": "count(*) > 100", "on_failure": on_failure}
    few = {"name": "few", "expect": "quantity < 6"}
    graph = make_graph({**KEPT, "checks": [many, few]})
    (topic,) = graph.topics
    create_topic(connections.admin, topic.name, 1, {})
    topic.trades(8)

    result = graph.run(instance, [graph.things.iceberg_path])

    assert result.success is (on_failure == "warn")
    asset = dg.AssetKey(graph.things.iceberg_path)
    keys = {name: dg.AssetCheckKey(asset, name) for name in ("check_many", "check_few")}
    evaluations = {name: evaluation_of(instance, key) for name, key in keys.items()}
    assert [each.passed for each in evaluations.values()] == [False, False]
    numbers = {name: value.value for name, value in evaluations["check_few"].metadata.items()}
    assert (numbers["failing"], numbers["rows"]) == (2, 8)
    assert "partition 0, offset 6" in str(numbers["first_failing"])
    assert evaluations["check_many"].metadata["count(1)"].value == 8
    grave = {"warn": dg.AssetCheckSeverity.WARN, "stop": dg.AssetCheckSeverity.ERROR}
    assert evaluations["check_many"].severity == grave[on_failure]
