"""The steps of a pipeline: few, for each run of Dagster's makes all of them anew; each check is one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from assets.checks import comparisons
from frazil.checks.result import CheckResult
from frazil.definitions import defs
from frazil.errors import RepairError

PIPELINE = """type: assets.topic_tables.TopicTables
attributes:
  tables: [{topic: orders, on_bad_record: dead_letter}, {topic: bills}]
"""


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dg.Definitions:
    """A pipeline of two topics."""
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop/defs.yaml").write_text(PIPELINE)
    monkeypatch.setenv("FRAZIL_PIPELINES", str(tmp_path))
    return defs()


def names_of(shop: dg.Definitions) -> set[str]:
    job = shop.resolve_implicit_global_asset_job_def()
    return {node.name for node in job.nodes if not node.name.startswith("doctor_")}


def test_topics_and_landings_of_a_pipeline_are_a_step_each_and_the_checks_of_a_table(
    shop: dg.Definitions,
) -> None:
    assert names_of(shop) == {
        "shop_topics",
        "shop_landing",
        "iceberg__local__orders_checks",
        "iceberg__local__orders__dead_letters",
        "glue__local__orders",
        "snowflake__frazil__local__orders",
        "iceberg__local__bills_checks",
        "glue__local__bills",
        "snowflake__frazil__local__bills",
        "late_and_broken",
    }


def test_every_check_and_every_asset_can_be_run_alone(shop: dg.Definitions) -> None:
    graph = shop.resolve_asset_graph()

    for key in (*graph.asset_check_keys, *graph.materializable_asset_keys):
        if "late_and_broken" not in str(key):  # which the sensor of alarms reports, and no run makes
            assert graph.get_execution_set_asset_and_check_keys(key) == {key}


def run_of_checks(shop: dg.Definitions, instance: dg.DagsterInstance, table: str, *names: str) -> Any:
    keys = {dg.AssetCheckKey(dg.AssetKey(["iceberg", "local", table]), name) for name in names}
    job = shop.resolve_implicit_global_asset_job_def()
    alone = job.get_subset(asset_selection=set(), asset_check_selection=keys)
    return alone.execute_in_process(instance=instance, raise_on_error=False)


def result(name: str) -> CheckResult:
    return CheckResult(name, "local.orders", "passed", "ERROR", "Fine.", {}, ("iceberg", "local", "orders"))


def test_a_check_that_cannot_look_does_not_keep_the_others_and_fails_the_step(
    shop: dg.Definitions, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look(name: str, *_: object) -> CheckResult:
        if name == "schema":
            raise RepairError("The schema can't be read.", where="", meaning="", todo="")
        return result(name)

    monkeypatch.setattr(comparisons, "run_check", look)

    run = run_of_checks(shop, instance, "orders", "row_count", "schema", "freshness")

    assert not run.success
    assert {each.check_name for each in run.get_asset_check_evaluations()} == {"row_count", "freshness"}


def test_a_deep_check_that_is_asked_for_comes_last(
    shop: dg.Definitions, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparisons, "run_check", lambda name, *_: result(name))

    run = run_of_checks(shop, instance, "orders", "row_count_deep", "row_count", "freshness")

    names = [each.check_name for each in run.get_asset_check_evaluations()]
    assert sorted(names) == ["freshness", "row_count", "row_count_deep"]
    assert names[-1] == "row_count_deep"
