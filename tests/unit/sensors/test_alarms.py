"""The alarms sensor from tick to tick: what it tells, and what it remembers in its cursor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import dagster as dg
import pytest

from assets.checks.attention import KEY as LATE_AND_BROKEN
from assets.derived import DerivedTable
from assets.description import PipelineTable, TopicTable
from assets.mistakes import broken_definitions
from frazil.errors import SpecError
from frazil.pipelines.file import Pipeline
from frazil.pipelines.folder import Broken, Pipelines
from frazil.settings.profile import Settings
from frazil.spec.derived import DerivedSpec
from frazil.spec.topic import TableSpec
from kit.logins.receivers import Receiver, web_receiver
from resources.connections import FrazilConnections, spark_resource
from sensors.alarms import alarms_sensor

KEY = dg.AssetKey(["iceberg", "local", "flags"])


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    """A webhook that the settings name."""
    with web_receiver() as receiver:
        monkeypatch.setenv("FRAZIL_ALARMS__WEBHOOK", receiver.url)
        yield receiver


@pytest.fixture
def flags(tmp_path: Path) -> PipelineTable:
    """A table made of others, which asks Kafka nothing."""
    query = tmp_path / "flags.sql"
    query.write_text("SELECT * FROM trades")
    return DerivedTable(DerivedSpec(table="flags", sql=query), Settings.load())


def tick(
    instance: dg.DagsterInstance,
    tables: Sequence[PipelineTable],
    cursor: str | None,
    pipelines: Pipelines = Pipelines(),  # noqa: B008 - it is frozen
    definitions: dg.Definitions | None = None,
) -> tuple[str, str]:
    """What the sensor says, and its cursor behind that."""
    settings = Settings.load()
    frazil = FrazilConnections(spark=spark_resource(settings))
    sensor = alarms_sensor(tables, settings, pipelines)
    with dg.build_sensor_context(
        instance, cursor, definitions=definitions, resources={"frazil": frazil}
    ) as context:
        decided = sensor.evaluate_tick(context)
    return str(decided.skip_message), str(decided.cursor)


def alarms_of(web: Receiver) -> list[tuple[str, str]]:
    return [(alarm["state"], alarm["key"]) for post in web.posts for alarm in post["alarms"]]


def tell_check(instance: dg.DagsterInstance, *, passed: bool, text: str = "7, not 8.") -> None:
    instance.report_runless_asset_event(
        dg.AssetCheckEvaluation(KEY, "row_count", passed=passed, metadata={}, description=text)
    )


def test_a_failed_check_is_told_once_and_its_end_once(
    web: Receiver, flags: PipelineTable, instance: dg.DagsterInstance
) -> None:
    cursor = None
    for passed in (False, False, True, True):
        tell_check(instance, passed=passed)
        message, cursor = tick(instance, [flags], cursor)

    key = "check row_count of local.flags: row_count"
    assert alarms_of(web) == [("new", key), ("over", key)]
    assert message == "0 causes are open: nothing new."


def test_a_webhook_that_is_down_is_told_when_it_is_back(
    web: Receiver, flags: PipelineTable, instance: dg.DagsterInstance
) -> None:
    tell_check(instance, passed=False)
    web.refuses = True

    first, cursor = tick(instance, [flags], None)
    web.refuses = False
    second, cursor = tick(instance, [flags], cursor)

    assert first == "1 causes are open: webhook not told: the answer was 503."
    assert second == "1 causes are open: webhook told 1."
    assert web.url not in cursor


def test_a_part_that_is_down_is_told_though_no_run_fails(
    web: Receiver, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FRAZIL_KAFKA__BOOTSTRAP_SERVERS", "127.0.0.1:1")
    monkeypatch.setenv("FRAZIL_REST__URI", "http://127.0.0.1:1")
    monkeypatch.setenv("FRAZIL_REST__SIGNING_NAME", "")
    monkeypatch.setenv("FRAZIL_REGISTRY__URL", "http://127.0.0.1:1")

    tick(instance, [TopicTable(TableSpec(topic="trades"), Settings.load())], None)

    assert alarms_of(web) == [
        ("new", f"part {part}: PartDownError") for part in ("catalog", "kafka", "registry")
    ]


def test_without_a_channel_it_says_what_to_set_and_forgets_what_is_over(
    flags: PipelineTable, instance: dg.DagsterInstance
) -> None:
    tell_check(instance, passed=False)
    failing, cursor = tick(instance, [flags], None)
    tell_check(instance, passed=True)
    passing, _ = tick(instance, [flags], cursor)

    assert failing.startswith("1 causes are open: ")
    assert "FRAZIL_ALARMS__WEBHOOK" in failing
    assert passing.startswith("0 causes are open: ")


def test_the_asset_of_all_that_is_open_hears_of_changes_only(
    flags: PipelineTable, instance: dg.DagsterInstance
) -> None:
    cursor = None
    for passed in (True, False, False, True, True):
        tell_check(instance, passed=passed)
        _, cursor = tick(instance, [flags], cursor)

    shown = instance.fetch_materializations(LATE_AND_BROKEN, limit=10).records
    counts = [record.asset_materialization.metadata["open"].value for record in shown]  # type: ignore[union-attr]
    assert counts == [0, 1, 0]


def test_a_broken_pipeline_is_told_and_that_it_is_mended(
    web: Receiver, instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    broken = Broken("crm", tmp_path / "crm", SpecError("crm/defs.yaml:5: no."))
    mended = Pipeline("crm", tmp_path / "crm")

    _, cursor = tick(instance, [], None, Pipelines(broken=(broken,)))
    _, cursor = tick(instance, [], cursor, Pipelines(broken=(broken,)))
    tick(instance, [], cursor, Pipelines(sound=(mended,)))

    key = "check can_be_used of pipelines/crm: can_be_used"
    assert alarms_of(web) == [("new", key), ("over", key)]


def test_a_mistake_that_somebody_materializes_is_told_by_its_check_only(
    web: Receiver, instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    error = SpecError("crm/defs.yaml:5: no.")
    broken = Broken("crm", tmp_path / "crm", error)
    mistakes = broken_definitions([broken])
    mistakes.resolve_implicit_global_asset_job_def().execute_in_process(
        instance=instance, asset_selection=[dg.AssetKey(broken.path)], raise_on_error=False
    )

    _, cursor = tick(instance, [], None, Pipelines(broken=(broken,)))
    message, cursor = tick(instance, [], cursor, Pipelines(sound=(Pipeline("crm", tmp_path / "crm"),)))

    key = "check can_be_used of pipelines/crm: can_be_used"
    assert alarms_of(web) == [("new", key), ("over", key)]
    assert message.startswith("0 causes are open")


def test_what_is_told_of_a_step_that_is_there_no_more_is_over(
    web: Receiver, flags: PipelineTable, instance: dg.DagsterInstance
) -> None:
    @dg.asset
    def brittle() -> None:
        raise ValueError("no")

    @dg.asset
    def sound() -> None: ...

    before, after = dg.Definitions(assets=[brittle, sound]), dg.Definitions(assets=[sound])
    before.resolve_implicit_global_asset_job_def().execute_in_process(instance=instance, raise_on_error=False)

    _, cursor = tick(instance, [flags], None, definitions=before)
    _, cursor = tick(instance, [flags], cursor, definitions=before)
    message, cursor = tick(instance, [flags], cursor, definitions=after)

    key = "run brittle: FaultError"
    assert alarms_of(web) == [("new", key), ("over", key)]
    assert message.startswith("0 causes are open")


def test_no_secret_of_the_settings_is_told(
    web: Receiver, flags: PipelineTable, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FRAZIL_REGISTRY__USER_INFO", "me:a-planted-secret")
    tell_check(instance, passed=False, text="GET http://me:a-planted-secret@registry: 401")

    _, cursor = tick(instance, [flags], None)

    assert web.posts[0]["alarms"][0]["text"] == "GET http://***@registry: 401"
    assert "a-planted-secret" not in cursor


def test_what_is_told_of_a_table_that_the_pipelines_have_no_more_is_over(
    web: Receiver, flags: PipelineTable, instance: dg.DagsterInstance
) -> None:
    tell_check(instance, passed=False)
    _, cursor = tick(instance, [flags], None)

    tick(instance, [], cursor)

    assert [state for state, _ in alarms_of(web)] == ["new", "over"]
