"""The sensor that looks whether targets show tables as they are: one alarm per cause, and its end."""

from __future__ import annotations

import dagster as dg
import pytest

from assets.description import TopicTable
from frazil.checks.layers.watch import PATIENCE
from frazil.spec.topic import TableSpec
from kit.readers.mirrored import NAME, Mirror, Standing, one_record
from kit.runs.continuous import Clock
from kit.wires.wire import Wire
from resources.connections import FrazilConnections, spark_resource
from sensors.in_step import answering, in_step_sensor

SPEC = TableSpec(
    topic="orders", namespace=NAME.namespace, publish=["glue"], fresh_within={"glue": {"error": "1h"}}
)


@pytest.fixture
def mirror(standing: Standing) -> Mirror:
    """A row, which Glue shows."""
    return standing.shown(SPEC, 1, one_record)


class Ticks:
    """The sensor of one table, tick by tick."""

    def __init__(self, mirror: Mirror, instance: dg.DagsterInstance) -> None:
        self.instance, self.clock = instance, Clock()
        settings = mirror.connections.settings
        self.path = dg.AssetKey(["glue", mirror.folder.name, NAME.table])
        self.access = dg.AssetCheckKey(self.path, "glue_access")
        table = TopicTable(SPEC, settings)
        self.sensor = in_step_sensor([table], answering({"glue_access": self.access}), self.clock)
        self.frazil = FrazilConnections(spark=spark_resource(settings))

    def __call__(self, later: float = 60.0) -> str:
        """What it says."""
        self.clock.now += later
        with dg.build_sensor_context(self.instance, resources={"frazil": self.frazil}) as context:
            return str(self.sensor.evaluate_tick(context).skip_message)

    def verdicts(self, check: str) -> list[str]:
        """Whether each verdict on the target passed, the first one first."""
        key = dg.AssetCheckKey(self.path, check)
        records = self.instance.event_log_storage.get_asset_check_execution_history(key, limit=50)
        return ["passed" if r.evaluation and r.evaluation.passed else "failed" for r in reversed(records)]

    def text(self, check: str) -> str:
        """What the newest verdict says."""
        key = dg.AssetCheckKey(self.path, check)
        (record,) = self.instance.event_log_storage.get_asset_check_execution_history(key, limit=1)
        assert record.evaluation
        return str(record.evaluation.description)


@pytest.fixture
def ticks(mirror: Mirror, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch) -> Ticks:
    monkeypatch.setattr(FrazilConnections, "connections", property(lambda _: mirror.connections))
    return Ticks(mirror, instance)


def test_what_is_in_step_is_told_of_its_limit_only(ticks: Ticks) -> None:
    messages = [ticks(), ticks()]

    assert messages[1] == "Tables looked at: 1; compared in full: 0; none is out of step."
    assert (ticks.verdicts("glue_pointer"), ticks.verdicts("glue_fresh")) == ([], ["passed"])


def test_a_target_that_does_not_follow_fails_once_and_passes_once(ticks: Ticks, mirror: Mirror) -> None:
    ticks()
    mirror.land()
    for _ in range(2):
        ticks()
    patient = ticks.verdicts("glue_pointer")
    messages = [ticks(PATIENCE) for _ in range(4)]
    text = ticks.text("glue_pointer")
    mirror.sync()
    for _ in range(3):
        ticks()

    assert (patient, "targets not in step: 1" in messages[0]) == ([], True)
    assert ticks.verdicts("glue_pointer") == ["failed", "passed"]
    assert "is not in step: behind. nothing keeps it back" in text
    assert "frazil drift unit.orders --repair" in text


def test_a_table_that_a_check_holds_is_told_by_that_check(ticks: Ticks, mirror: Mirror) -> None:
    ticks()
    mirror.ledger = lambda number: one_record(number + 5)
    mirror.land()
    messages = [ticks(PATIENCE) for _ in range(3)]

    assert "targets not in step: 1" in messages[-1]
    assert ticks.verdicts("glue_pointer") == []


def test_a_glue_that_is_down_is_one_failed_check_of_no_table_until_it_answers(
    ticks: Ticks, mirror: Mirror, wire: Wire
) -> None:
    ticks()
    mirror.land()
    wire.always("unsent", lambda asked: True)
    messages = [ticks(PATIENCE) for _ in range(3)]
    text = ticks.text("glue_access")
    wire.calm()
    mirror.sync()
    for _ in range(2):
        ticks()

    assert "glue does not tell of 1" in messages[0]
    assert "Glue does not tell of 1 tables. Glue does not answer." in text
    assert ticks.verdicts("glue_access") == ["failed", "passed"]
    assert ticks.verdicts("glue_pointer") == []


def test_what_the_doctor_found_is_not_over_because_glue_answers(
    ticks: Ticks, instance: dg.DagsterInstance
) -> None:
    instance.report_runless_asset_event(
        dg.AssetCheckEvaluation(ticks.path, "glue_access", passed=False, metadata={})
    )
    ticks()

    assert ticks.verdicts("glue_access") == ["failed"]
