"""What runs by itself, and what must not: automation conditions over an instance without any server."""

from __future__ import annotations

from typing import Any

import dagster as dg
from dagster import EvaluateAutomationConditionsResult

ALL = (
    "kafka/stock_trades",
    "iceberg/local/stock_trades",
    "glue/local/stock_trades",
    "snowflake/frazil/local/stock_trades",
)
"""The assets of one topic of the checkout, each made from the one before."""


def materialized(instance: dg.DagsterInstance, *paths: str) -> None:
    for path in paths:
        key = dg.AssetKey.from_user_string(path)
        instance.report_runless_asset_event(dg.AssetMaterialization(key))


def observed(instance: dg.DagsterInstance, path: str) -> None:
    key = dg.AssetKey.from_user_string(path)
    instance.report_runless_asset_event(dg.AssetObservation(key))


def refused(instance: dg.DagsterInstance, path: str, check: str) -> None:
    key = dg.AssetKey.from_user_string(path)
    instance.report_runless_asset_event(
        dg.AssetCheckEvaluation(asset_key=key, check_name=check, passed=False, blocking=True)
    )


def evaluate(
    graph: dg.Definitions, instance: dg.DagsterInstance, cursor: Any = None
) -> EvaluateAutomationConditionsResult:
    keys = [dg.AssetKey.from_user_string(path) for path in ALL]
    return dg.evaluate_automation_conditions(
        graph, instance, asset_selection=dg.AssetSelection.assets(*keys), cursor=cursor
    )


def requested(graph: dg.Definitions, instance: dg.DagsterInstance, cursor: Any) -> set[str]:
    result = evaluate(graph, instance, cursor)
    return {p for p in ALL if result.get_num_requested(dg.AssetKey.from_user_string(p))}


def test_glue_and_snowflake_follow_a_landing_by_themselves(
    graph: dg.Definitions, instance: dg.DagsterInstance
) -> None:
    materialized(instance, *ALL)
    before = evaluate(graph, instance)
    materialized(instance, "iceberg/local/stock_trades")

    assert before.total_requested == 0
    assert requested(graph, instance, before.cursor) == set(ALL[2:])


def test_a_batch_that_tells_of_a_landing_with_what_followed_it_leaves_nothing_to_automation(
    graph: dg.Definitions, instance: dg.DagsterInstance
) -> None:
    materialized(instance, *ALL)
    before = evaluate(graph, instance)
    materialized(instance, *ALL[1:])
    first = evaluate(graph, instance, before.cursor)
    materialized(instance, *ALL[1:])

    assert first.total_requested == 0
    assert requested(graph, instance, first.cursor) == set()


def test_readers_are_not_shown_what_a_blocking_check_refuses(
    graph: dg.Definitions, instance: dg.DagsterInstance
) -> None:
    materialized(instance, *ALL)
    before = evaluate(graph, instance)
    materialized(instance, "iceberg/local/stock_trades")
    refused(instance, "iceberg/local/stock_trades", "row_count")

    assert requested(graph, instance, before.cursor) == set()


def test_upkeep_that_shows_what_it_did_leaves_nothing_to_automation(
    graph: dg.Definitions, instance: dg.DagsterInstance
) -> None:
    materialized(instance, *ALL)
    before = evaluate(graph, instance)
    observed(instance, "iceberg/local/stock_trades")
    nothing_shown = requested(graph, instance, before.cursor)
    materialized(instance, *ALL[2:])

    assert nothing_shown == set()
    assert requested(graph, instance, before.cursor) == set()


def test_a_snowflake_that_upkeep_could_not_refresh_follows_glue_by_itself(
    graph: dg.Definitions, instance: dg.DagsterInstance
) -> None:
    materialized(instance, *ALL)
    before = evaluate(graph, instance)
    observed(instance, "iceberg/local/stock_trades")
    materialized(instance, ALL[2])

    assert requested(graph, instance, before.cursor) == {ALL[3]}


def test_the_topic_and_the_landing_never_start_each_other(
    graph: dg.Definitions, instance: dg.DagsterInstance
) -> None:
    materialized(instance, *ALL)
    before = evaluate(graph, instance)
    materialized(instance, "kafka/stock_trades")

    assert requested(graph, instance, before.cursor) == set()


def test_each_condition_has_a_label(graph: dg.Definitions) -> None:
    assets = graph.resolve_asset_graph()
    conditions = [assets.get(key).automation_condition for key in assets.get_all_asset_keys()]
    conditions += [assets.get(key).automation_condition for key in assets.asset_check_keys]

    assert all(condition.get_label() for condition in conditions if condition)
