"""The doctor in the asset graph: a check for each system, once, and a job of them all."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest

from frazil.clients import Clients
from frazil.definitions import defs
from frazil.settings.profile import Settings
from resources.connections import FrazilConnections

ACCESS = {
    "kafka_access": "kafka", "registry_access": "kafka", "catalog_access": "iceberg",
    "spark_access": "iceberg", "glue_access": "glue", "snowflake_access": "snowflake",
}  # fmt: skip


def test_each_system_has_one_check_whatever_the_number_of_tables(graph: dg.Definitions) -> None:
    keys = [k for k in graph.resolve_asset_graph().asset_check_keys if k.name.endswith("_access")]

    assert {key.name: key.asset_key.path[0] for key in keys} == ACCESS
    assert len(keys) == len(ACCESS)


def test_none_runs_by_itself_or_keeps_others_waiting(graph: dg.Definitions) -> None:
    checks = [s for c in graph.asset_checks or () for s in c.check_specs if s.name.endswith("_access")]

    assert all(spec.automation_condition and not spec.blocking for spec in checks)
    assert {s.name for s in checks} == set(ACCESS)


def test_the_job_tells_what_is_missing_and_what_mends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, instance: dg.DagsterInstance
) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop/defs.yaml").write_text(
        "type: assets.topic_tables.TopicTables\nattributes:\n  tables: [{topic: orders}]\n"
    )
    monkeypatch.setenv("FRAZIL_PIPELINES", str(tmp_path))
    monkeypatch.setattr(FrazilConnections, "connections", Clients(Settings.load()))
    key = dg.AssetCheckKey(dg.AssetKey(["snowflake", "frazil", "local", "orders"]), "snowflake_access")

    job = defs().resolve_job_def("doctor").get_subset(asset_selection=set(), asset_check_selection={key})
    run = job.execute_in_process(instance=instance)

    (evaluation,) = run.get_asset_check_evaluations()
    assert run.success
    assert not evaluation.passed
    assert "The account of Snowflake is not said." in (evaluation.description or "")
    assert "Fix: Set FRAZIL_SNOWFLAKE" in (evaluation.description or "")
