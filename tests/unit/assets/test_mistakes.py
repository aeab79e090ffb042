"""What Dagster shows where some of several teams' pipelines are broken."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest

from assets.component import folder_definitions
from frazil.definitions import defs
from frazil.errors import SpecError
from kit.graph.checkout import edges
from kit.graph.mixed import BROKEN, write_mixed
from kit.runs.shell import TOPICS

SOUND = {"kafka/orders", "iceberg/local/orders", "kafka/g", "iceberg/local/g", "iceberg/local/own"}
KEY = dg.AssetKey(["pipelines", "key"])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = write_mixed(tmp_path / "teams")
    monkeypatch.setenv("FRAZIL_PIPELINES", str(folder))
    return folder


def run(key: dg.AssetKey, instance: dg.DagsterInstance, *, check: bool) -> dg.ExecuteInProcessResult:
    chosen = dg.AssetSelection.checks_for_assets(key) if check else dg.AssetSelection.assets(key)
    job = dg.define_asset_job("one", chosen)
    graph = dg.Definitions.merge(defs(), dg.Definitions(jobs=[job]))
    return graph.resolve_job_def("one").execute_in_process(instance=instance, raise_on_error=False)


def test_sound_pipelines_load_and_each_broken_one_is_one_asset(folder: Path) -> None:
    graph = defs()

    dg.Definitions.validate_loadable(graph)
    assert edges(graph).keys() == SOUND | {f"pipelines/{name}" for name in (*BROKEN, "wrong_type")}


def test_a_broken_pipeline_stands_in_a_group_of_its_name(folder: Path) -> None:
    groups = {s.key.to_user_string(): s.group_name for s in defs().resolve_all_asset_specs()}

    assert {groups[f"pipelines/{name}"] for name in BROKEN} == set(BROKEN)


def test_its_check_fails_with_the_mistake_and_its_line(folder: Path, instance: dg.DagsterInstance) -> None:
    (evaluation,) = run(KEY, instance, check=True).get_asset_check_evaluations()

    assert (evaluation.check_name, evaluation.passed) == ("can_be_used", False)
    assert BROKEN["key"][0] in (evaluation.description or "")


def test_its_materialization_fails_with_the_same_words(folder: Path, instance: dg.DagsterInstance) -> None:
    result = run(KEY, instance, check=False)

    (failed,) = (e.step_failure_data for e in result.all_events if e.is_step_failure)
    assert failed.user_failure_data is not None
    assert BROKEN["key"][0] in (failed.user_failure_data.description or "")


def test_the_check_is_asked_for_once_by_itself(folder: Path, instance: dg.DagsterInstance) -> None:
    graph, wanted = defs(), dg.AssetSelection.checks_for_assets(KEY)

    first = dg.evaluate_automation_conditions(graph, instance, asset_selection=wanted)
    second = dg.evaluate_automation_conditions(graph, instance, asset_selection=wanted, cursor=first.cursor)

    assert (first.total_requested, second.total_requested) == (1, 0)


def test_the_sensors_of_sound_tables_go_on(folder: Path) -> None:
    assert {sensor.name for sensor in defs().sensors or ()} == {
        "alarms", "arrivals", "publishing", "upkeep"
    }  # fmt: skip


def test_what_dagster_alone_finds_wrong_breaks_one_file(folder: Path) -> None:
    (folder / "report.py").write_text("import dagster as dg\n\n\n@dg.asset\ndef report() -> None: ...\n")
    (folder / "typo.py").write_text("import dagster as dg\n\ndg.aset()\n")
    (folder / "shop/defs.yaml").write_text(
        (folder / "shop/defs.yaml").read_text() + "post_processing: {assets: [{attributes: {kinds: 7}}]}\n"
    )

    descriptions = {s.key.to_user_string(): s.description or "" for s in defs().resolve_all_asset_specs()}

    assert "report" in descriptions
    assert "kafka/orders" not in descriptions
    assert "iceberg/local/g" in descriptions
    assert f"{folder}/typo.py:3: AttributeError" in descriptions["pipelines/typo"]
    assert f"{folder}/shop/defs.yaml" in descriptions["pipelines/shop"]
    dg.Definitions.validate_loadable(defs())


def test_a_folder_of_broken_pipelines_only_is_still_watched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "crm").mkdir()
    (tmp_path / "crm/defs.yaml").write_text("- no pipeline\n")
    monkeypatch.setenv("FRAZIL_PIPELINES", str(tmp_path))

    assert [sensor.name for sensor in defs().sensors or ()] == ["publishing", "alarms"]


def test_a_strict_profile_loads_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRAZIL_STRICT", "true")

    with pytest.raises(SpecError, match="freshnes: unknown name"):
        defs()


def test_a_strict_profile_refuses_what_dagster_alone_finds_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "typo.py").write_text("import dagster as dg\n\ndg.aset()\n")
    monkeypatch.setenv("FRAZIL_PIPELINES", str(tmp_path))
    monkeypatch.setenv("FRAZIL_STRICT", "true")

    with pytest.raises(SpecError, match=r"typo.py:3: AttributeError"):
        defs()


def test_a_file_that_dagster_can_not_load_is_loaded_once_it_is_mended(folder: Path) -> None:
    others = [path for path in folder.iterdir() if path.name != "wrong_type"]
    _, (broken,) = folder_definitions([folder], others)

    (folder / "wrong_type" / "defs.yaml").write_text(
        f"type: {TOPICS}\nattributes: {{tables: [{{topic: fixed, publish: []}}]}}\n"
    )

    assert broken.error.todo == "Fix the file; Dagster can load nothing of it."
    mended = {"kafka/fixed", "iceberg/local/fixed"}
    assert edges(defs()).keys() == SOUND | mended | {f"pipelines/{name}" for name in BROKEN}
