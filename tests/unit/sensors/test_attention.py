"""The asset `late_and_broken`: what it lists, and what a run of it says."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest
from dagster._core.definitions.run_request import InstigatorType
from dagster._core.remote_origin import (
    RegisteredCodeLocationOrigin,
    RemoteInstigatorOrigin,
    RemoteRepositoryOrigin,
)
from dagster._core.scheduler.instigation import InstigatorState, InstigatorStatus, SensorInstigatorData

from assets.checks.attention import CHECK, KEY, SENSOR, attention_asset, report_attention
from frazil.alarms.journal import Cause, Findings, Journal, Subject
from sensors.alarms import _Cursor

LATE = Subject("check", "freshness", "local.payments")
BROKEN = Subject("part", "kafka")


def journal(findings: Findings, now: float = 0.0) -> Journal:
    made = Journal()
    made.judge(findings, now)
    return made


def verdict(instance: dg.DagsterInstance) -> tuple[bool, str, str]:
    """Whether the check passes, its severity, and its sentence."""
    key = dg.AssetCheckKey(KEY, CHECK)
    (record,) = instance.event_log_storage.get_latest_asset_check_execution_by_key([key]).values()
    evaluation = record.evaluation
    assert isinstance(evaluation, dg.AssetCheckEvaluation)
    return evaluation.passed, evaluation.severity.value, evaluation.description or ""


def page(instance: dg.DagsterInstance) -> dict[str, object]:
    """The newest facts of its page."""
    event = instance.get_latest_materialization_event(KEY)
    assert event is not None
    assert event.asset_materialization is not None
    return {name: value.value for name, value in event.asset_materialization.metadata.items()}


def note(instance: dg.DagsterInstance, seen: Journal) -> None:
    """Keeps a cursor of the sensor in the instance, as Dagster's daemon does."""
    origin = RemoteInstigatorOrigin(
        RemoteRepositoryOrigin(RegisteredCodeLocationOrigin("frazil"), "__repository__"), SENSOR
    )
    data = SensorInstigatorData(cursor=_Cursor(journal=seen, runs_until=0.0).model_dump_json())
    state = InstigatorState(origin, InstigatorType.SENSOR, InstigatorStatus.RUNNING, data)
    instance.add_instigator_state(state)


def test_it_lists_what_is_late_or_broken_with_the_oldest_first(instance: dg.DagsterInstance) -> None:
    seen = journal({LATE: Cause("freshness", "40 s behind. Next: frazil land payments", "WARN")}, 60.0)
    seen.judge({BROKEN: Cause("PartDownError", "Kafka does not answer.")}, 120.0)

    report_attention(instance, seen)

    shown = page(instance)
    assert shown["open"] == 2
    table = shown["late_and_broken"]
    assert isinstance(table, dg.TableMetadataValue)
    columns = [column.name for column in table.schema.columns]
    assert [[record.data[name] for name in columns] for record in table.records] == [
        [
            "1970-01-01 00:01 UTC", "WARN", "check freshness of local.payments",
            "40 s behind. Next: frazil land payments",
        ],
        ["1970-01-01 00:02 UTC", "ERROR", "part kafka", "Kafka does not answer."],
    ]  # fmt: skip
    sentence = "2 open: check freshness of local.payments, part kafka. The asset's page says why."
    assert verdict(instance) == (False, "ERROR", sentence)


def test_only_warnings_make_a_warning_and_nothing_open_passes(instance: dg.DagsterInstance) -> None:
    seen = journal({LATE: Cause("freshness", "40 s behind.", "WARN")})
    report_attention(instance, seen)
    assert verdict(instance)[:2] == (False, "WARN")

    seen.judge({LATE: None}, 60.0)
    report_attention(instance, seen)

    assert page(instance) == {"open": 0}
    assert verdict(instance) == (True, "ERROR", "Nothing is late or broken.")


@pytest.mark.parametrize("cause", [None, Cause("freshness", "40 s behind.")])
def test_a_run_of_it_shows_what_the_sensor_saw_last(tmp_path: Path, cause: Cause | None) -> None:
    with dg.DagsterInstance.local_temp(str(tmp_path)) as instance:
        note(instance, journal({LATE: cause}))

        (check,) = dg.materialize([attention_asset()], instance=instance).get_asset_check_evaluations()

        assert check.passed is (cause is None)
        assert page(instance)["open"] == (0 if cause is None else 1)


def test_a_run_of_it_says_that_nobody_has_looked(instance: dg.DagsterInstance) -> None:
    (check,) = dg.materialize([attention_asset()], instance=instance).get_asset_check_evaluations()

    assert not check.passed
    assert "`alarms` has not looked yet" in (check.description or "")
