"""What Dagster loads, without any server: the definitions, and what runs by itself."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest
from click.testing import CliRunner
from dagster._cli import cli

import assets.deployments
from frazil.definitions import defs
from frazil.upkeep.kinds import KINDS
from kit.graph.checkout import EVERYTHING


def test_dagster_accepts_the_definitions(graph: dg.Definitions) -> None:
    dg.Definitions.validate_loadable(graph)


def test_nothing_is_asked_of_any_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """A closed port would fail at once, a black hole would hang."""
    monkeypatch.setenv("FRAZIL_KAFKA__BOOTSTRAP_SERVERS", "192.0.2.1:1")
    for name in ("REST__URI", "REGISTRY__URL", "GLUE__ENDPOINT"):
        monkeypatch.setenv(f"FRAZIL_{name}", "http://192.0.2.1:1")

    assert defs().resolve_all_asset_specs()


def test_the_one_that_comes_with_frazil_is_loaded_without_asking_anybody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A closed port would fail at once, a black hole would hang; nobody says who the administrator is."""
    for name in ("AWS__ENDPOINT", "CONFLUENT__ENDPOINT"):
        monkeypatch.setenv(f"FRAZIL_{name}", "http://192.0.2.1:1")
    monkeypatch.setenv("FRAZIL_DEPLOYMENTS", str(Path(assets.deployments.__file__).parent))
    monkeypatch.setenv("TABLEFLOW_BUCKET", "tableflow-kickstarter-4711")

    keys = {spec.key.to_user_string() for spec in defs().resolve_all_asset_specs()}

    kickstarter = {key for key in keys if "tableflow_kickstarter" in key.split("/")}
    assert len(kickstarter) > 60
    assert {
        "aws/tableflow_kickstarter/writer_role",
        "confluent/tableflow_kickstarter/tableflow/stock_trades",
        "snowflake/tableflow_kickstarter/volume",
    } <= kickstarter


def test_the_sensors_are_on_from_the_start(graph: dg.Definitions) -> None:
    sensors = {s.name: s.default_status for s in graph.sensors or ()}

    assert sensors == {
        "arrivals": dg.DefaultSensorStatus.RUNNING,
        "in_step": dg.DefaultSensorStatus.RUNNING,
        "publishing": dg.DefaultSensorStatus.RUNNING,
        "upkeep": dg.DefaultSensorStatus.RUNNING,
        "alarms": dg.DefaultSensorStatus.RUNNING,
    }


def test_the_target_of_arrivals_is_told_in_a_few_words_and_is_all_that_follows_from_topics(
    graph: dg.Definitions,
) -> None:
    assets, (sensor,) = graph.resolve_asset_graph(), [s for s in graph.sensors or () if s.name == "arrivals"]
    keys = {key for key in assets.get_all_asset_keys() if key.path[0] in ("iceberg", "glue", "snowflake")}
    from_topics = {key for key in keys if "frazil/made-of" in assets.get(key).tags}

    target = sensor.job.selection.to_serializable_asset_selection(assets)

    assert str(target) == 'tag:"frazil/made-of"="topic"'
    assert target.resolve(assets) == sensor.job.selection.resolve(assets) == from_topics
    assert dg.AssetKey(["iceberg", "local", "stock_trades"]) in from_topics


def test_each_kind_of_upkeep_is_a_job_that_starts_without_any_config(graph: dg.Definitions) -> None:
    for kind in KINDS:
        dg.validate_run_config(graph.resolve_job_def(kind))


def test_a_failed_table_keeps_its_own_words_in_the_run(
    graph: dg.Definitions, monkeypatch: pytest.MonkeyPatch, instance: dg.DagsterInstance
) -> None:
    monkeypatch.setenv("FRAZIL_KAFKA__BOOTSTRAP_SERVERS", "127.0.0.1:1")
    job = graph.resolve_implicit_global_asset_job_def()

    result = job.execute_in_process(
        instance=instance,
        asset_selection=[dg.AssetKey(["iceberg", "local", "stock_trades"])],
        raise_on_error=False,
    )

    (failure,) = (e.step_failure_data for e in result.all_events if e.is_step_failure)
    assert failure.user_failure_data is not None
    assert "1 of 1 tables could not be landed" in (failure.user_failure_data.description or "")
    assert "Kafka does not answer" in (failure.user_failure_data.description or "")


def test_assets_are_listed_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    # In this process: Dagster's own program takes four seconds.
    listed = CliRunner().invoke(cli, ["asset", "list", "-m", "frazil.definitions"])

    assert listed.exit_code == 0, listed.output
    assert listed.output.split() == sorted([*EVERYTHING, "late_and_broken"])
