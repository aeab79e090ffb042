"""What the alarms sensor takes from real runs: who failed at what, and what is in order again."""

# No `from __future__ import annotations`: Dagster compares the type of `context`, not its name.
import time
from collections.abc import Callable, Iterator
from typing import Any

import dagster as dg
import pytest

from assets.description import TopicTable
from assets.outcome import engine_errors, failure
from frazil.alarms.journal import Cause, Findings, Subject
from frazil.errors import OffsetsLostError, PartDownError
from frazil.settings.profile import Settings
from frazil.spec.topic import TableSpec
from sensors.failures import look_at_checks, look_at_runs, watched_checks

A, B = (TopicTable(TableSpec(topic=name), Settings.load()) for name in ("a", "b"))
KEYS = [dg.AssetKey(table.things.iceberg_path) for table in (A, B)]
LOST = OffsetsLostError("Records are gone.", where="partition 3", todo="Land more often.")

Work = Callable[[dg.AssetExecutionContext], None]


def fail_for_a(context: dg.AssetExecutionContext) -> None:
    raise failure(context, "could not be landed", {"local.a": LOST}, 2)


def fail_for_nobody_foresaw(context: dg.AssetExecutionContext) -> None:
    raise failure(context, "could not be landed", {"local.b": ZeroDivisionError("oh")}, 2)


def refuse(_: object) -> None:
    with engine_errors():
        raise LOST


def time_out(_: object) -> None:
    with engine_errors():
        raise PartDownError("Kafka does not answer.")


def stumble(_: object) -> None:
    with engine_errors():
        _ = 1 / 0


def run(instance: dg.DagsterInstance, work: Work, keys: list[dg.AssetKey] = KEYS) -> None:
    """One run of a landing step that does this."""

    @dg.multi_asset(name="landing", specs=[dg.AssetSpec(key) for key in KEYS], can_subset=True)
    def landing(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult[Any]]:
        work(context)
        yield from (dg.MaterializeResult(asset_key=key) for key in context.selected_asset_keys)

    definitions = dg.Definitions(assets=[landing], executor=dg.in_process_executor)
    job = definitions.resolve_implicit_global_asset_job_def()
    job.execute_in_process(instance=instance, asset_selection=keys, raise_on_error=False)


def look(instance: dg.DagsterInstance) -> Findings:
    return look_at_runs(instance, [A, B], time.time() - 60, None)[0]


def causes(instance: dg.DagsterInstance) -> dict[Subject, Cause]:
    return {subject: cause for subject, cause in look(instance).items() if cause}


def test_a_step_that_failed_for_one_table_says_which_and_why(instance: dg.DagsterInstance) -> None:
    run(instance, fail_for_a)

    by_subject = look(instance)

    assert by_subject[Subject("run", "landing", "local.a")] == Cause("OffsetsLostError", str(LOST))
    assert by_subject[Subject("run", "landing", "local.b")] is None


@pytest.mark.parametrize(
    ("work", "subject", "cause"),
    [
        (fail_for_nobody_foresaw, Subject("run", "landing", "local.b"), "FaultError"),
        (refuse, Subject("run", "landing"), "OffsetsLostError"),
        (stumble, Subject("run", "landing"), "FaultError"),
    ],
)
def test_the_cause_is_a_class_of_error_that_the_runbook_knows(
    instance: dg.DagsterInstance, work: Work, subject: Subject, cause: str
) -> None:
    run(instance, work)

    assert {s: c.name for s, c in causes(instance).items()} == {subject: cause}


def test_what_was_tried_again_in_vain_keeps_its_own_error(
    instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assets.outcome.SECONDS_BETWEEN", 0)
    run(instance, time_out)

    assert causes(instance) == {Subject("run", "landing"): Cause("PartDownError", "Kafka does not answer.")}


def test_a_later_run_of_the_table_puts_it_in_order(instance: dg.DagsterInstance) -> None:
    run(instance, fail_for_a)
    run(instance, lambda _: None, KEYS[:1])

    assert causes(instance) == {}


def test_a_later_run_of_another_table_does_not(instance: dg.DagsterInstance) -> None:
    run(instance, fail_for_a)
    run(instance, lambda _: None, KEYS[1:])

    assert list(causes(instance)) == [Subject("run", "landing", "local.a")]


def test_a_run_that_died_without_a_word_is_told_by_its_job(
    graph: dg.Definitions, instance: dg.DagsterInstance
) -> None:
    job = graph.resolve_job_def("expiry")
    died = instance.create_run_for_job(job, status=dg.DagsterRunStatus.FAILURE)

    assert died.run_id in causes(instance)[Subject("run", "expiry")].text


def tell_check(instance: dg.DagsterInstance, *, passed: bool, severity: str) -> None:
    evaluation = dg.AssetCheckEvaluation(
        asset_key=KEYS[0],
        check_name="freshness",
        passed=passed,
        metadata={},
        severity=dg.AssetCheckSeverity(severity),
        description="9 records wait.",
    )
    instance.report_runless_asset_event(evaluation)


@pytest.mark.parametrize(
    ("passed", "severity", "least", "is_cause"),
    [
        (False, "ERROR", "WARN", True),
        (False, "ERROR", "ERROR", True),
        (False, "WARN", "WARN", True),
        (False, "WARN", "ERROR", False),
        (True, "ERROR", "WARN", False),
    ],
)
def test_a_check_is_told_by_its_newest_verdict_if_it_is_bad_enough(
    instance: dg.DagsterInstance, passed: bool, severity: str, least: Any, is_cause: bool
) -> None:
    tell_check(instance, passed=not passed, severity="ERROR")
    tell_check(instance, passed=passed, severity=severity)

    cause = Cause("freshness", "9 records wait.", severity) if is_cause else None  # type: ignore[arg-type]
    assert look_at_checks(instance, watched_checks([A, B], ()), least) == {
        Subject("check", "freshness", "local.a"): cause
    }


def test_a_blocking_check_that_fails_a_run_is_no_second_alarm(instance: dg.DagsterInstance) -> None:
    @dg.asset(key=KEYS[0])
    def table() -> None:
        """Does nothing."""

    @dg.asset_check(asset=KEYS[0], blocking=True)
    def row_count() -> dg.AssetCheckResult:
        return dg.AssetCheckResult(passed=False, description="7 rows, 8 expected.")

    definitions = dg.Definitions(assets=[table], asset_checks=[row_count], executor=dg.in_process_executor)
    job = definitions.resolve_implicit_global_asset_job_def()
    done = job.execute_in_process(instance=instance, raise_on_error=False)

    assert not done.success
    assert causes(instance) == {}
    assert look_at_checks(instance, watched_checks([A], ()), "ERROR") == {
        Subject("check", "row_count", "local.a"): Cause("row_count", "7 rows, 8 expected.")
    }


def test_a_check_that_a_failed_run_never_came_to_tells_nothing(instance: dg.DagsterInstance) -> None:
    @dg.asset(key=KEYS[0])
    def table() -> None:
        raise LOST

    @dg.asset_check(asset=KEYS[0])
    def row_count() -> dg.AssetCheckResult:
        return dg.AssetCheckResult(passed=True)

    definitions = dg.Definitions(assets=[table], asset_checks=[row_count], executor=dg.in_process_executor)
    job = definitions.resolve_implicit_global_asset_job_def()
    job.execute_in_process(instance=instance, raise_on_error=False)

    assert look_at_checks(instance, watched_checks([A], ()), "WARN") == {}


def test_a_check_of_no_single_table_is_told_by_its_name(instance: dg.DagsterInstance) -> None:
    key = dg.AssetCheckKey(dg.AssetKey(["kafka", "a"]), "kafka_access")
    evaluation = dg.AssetCheckEvaluation(
        key.asset_key, key.name, passed=False, metadata={}, description="An ACL."
    )
    instance.report_runless_asset_event(evaluation)

    assert look_at_checks(instance, watched_checks([A], [key]), "ERROR") == {
        Subject("check", "kafka_access"): Cause("kafka_access", "An ACL.")
    }
