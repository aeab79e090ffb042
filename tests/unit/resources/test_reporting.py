"""What Dagster hears of work that a shell did, and that nobody waits for Dagster who has nothing to tell."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import dagster as dg
import pytest
from sqlalchemy.exc import OperationalError

from frazil.checks.result import CheckResult
from frazil.derive.report import DeriveReport
from frazil.errors import PartDownError
from frazil.landing.report import LandingReport
from frazil.publishing.target import Shown
from frazil.reporting import Done, is_news
from frazil.settings.profile import Settings
from frazil.spec.topic import TableSpec
from frazil.upkeep.work import WorkReport
from resources.reporting import DagsterReporter
from sensors.runs import reserved_tables

SPEC = TableSpec(topic="orders")
TABLE = ("iceberg", "local", "orders")
SHOWN = Shown(("glue", "local", "orders"), TABLE, "local.orders", "s3://lake/v1.metadata.json")


@pytest.fixture
def instance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dg.DagsterInstance]:
    """The instance that a shell's work is told."""
    (tmp_path / "dagster.yaml").touch()
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path))
    with dg.DagsterInstance.get() as own_instance:
        yield own_instance


def test_several_commands_at_once_may_be_the_first_to_tell_an_instance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "dagster.yaml").touch()
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path))
    done = WorkReport("local.orders", "expiry", done=True, text="Expired 3 snapshots.")

    with ThreadPoolExecutor(5) as pool:
        list(pool.map(lambda _: DagsterReporter(Settings()).tell(SPEC, done), range(5)))

    with dg.DagsterInstance.get() as instance:
        assert len(instance.fetch_observations(dg.AssetKey(TABLE), limit=9).records) == 5


def result(check: str, status: str) -> CheckResult:
    return CheckResult(check, "local.orders", status, "ERROR", "7 = 7", {"rows": 7}, TABLE)  # type: ignore[arg-type]


def test_a_shells_upkeep_and_checks_are_told_and_what_was_skipped_is_not(
    instance: dg.DagsterInstance,
) -> None:
    reporter, keys = DagsterReporter(Settings()), [dg.AssetCheckKey(dg.AssetKey(TABLE), n) for n in "ab"]

    reporter.tell(SPEC, WorkReport("local.orders", "expiry", done=True, text="Expired 3 snapshots."))
    reporter.tell(SPEC, result("a", "passed"))
    reporter.tell(SPEC, result("b", "skipped"))

    observed = instance.fetch_observations(dg.AssetKey(TABLE), limit=9).records
    known = instance.event_log_storage.get_latest_asset_check_execution_by_key(keys)
    assert [o.asset_observation and o.asset_observation.description for o in observed] == [
        "Expired 3 snapshots."
    ]
    assert {key.name: execution.status.value for key, execution in known.items()} == {"a": "SUCCEEDED"}


def test_what_a_storage_did_not_take_is_told_by_the_next_event(
    instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    reporter = DagsterReporter(Settings())
    expiry = WorkReport("local.orders", "expiry", done=True, text="Expired 3 snapshots.")

    def busy(*_: object) -> None:
        raise OperationalError("INSERT", {}, Exception("database is locked"))

    with monkeypatch.context() as patch:
        patch.setattr(dg.DagsterInstance, "report_runless_asset_event", busy)
        with pytest.raises(PartDownError, match="took no event: database is locked") as raised:
            reporter.tell(SPEC, expiry)
    before = instance.fetch_observations(dg.AssetKey(TABLE), limit=9).records
    reporter.tell(SPEC, replace(expiry, text="Expired 1 snapshot."))
    after = instance.fetch_observations(dg.AssetKey(TABLE), limit=9).records

    assert raised.value.todo == "Nothing: the next event of a table tells how it stands."
    assert (len(before), len(after)) == (0, 1)


def test_the_sensor_knows_which_tables_a_shell_lands_until_when(instance: dg.DagsterInstance) -> None:
    reporter, keys = DagsterReporter(Settings()), [dg.AssetKey(TABLE), dg.AssetKey("other")]
    before = reserved_tables(instance, keys)

    reporter.hold([SPEC], time.time() + 60)
    busy = reserved_tables(instance, keys)
    reporter.hold([SPEC], time.time() - 1)

    assert (before, busy, reserved_tables(instance, keys)) == (set(), {dg.AssetKey(TABLE)}, set())


def test_dagster_is_not_loaded_before_there_is_something_to_tell() -> None:
    code = "import sys, resources.reporting; print('dagster' in sys.modules)"

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True
    )

    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(
    ("news", "none"),
    [
        (LandingReport("local.orders", "orders", landings=1), LandingReport("local.orders", "orders")),
        (DeriveReport("local.sums", "totals", done=True), DeriveReport("local.sums", "totals")),
        ([SHOWN, replace(SHOWN, changed=True)], [SHOWN]),
    ],
)
def test_work_that_found_nothing_to_do_is_no_news(news: Done, none: Done) -> None:
    assert (is_news(news), is_news(none)) == (True, False)
