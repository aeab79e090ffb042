"""What Spark's source is asked for, and which consumers a reading finds in its executors."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import pytest

from frazil.kafka.facts import NO_ID
from frazil.landing.plan import Plan
from frazil.landing.source import planned_reading, read_slices
from frazil.settings.profile import Settings

PLAN = Plan("trades", "first-id", {0: (5, 9), 1: (3, 3)}, capped=False, leader_epochs={0: 4, 1: 2})
GROUP = "kafka.group.id"


@dataclass
class Spark:
    """Keeps what its source was told, reading by reading."""

    options_seen: list[dict[str, str]] = field(default_factory=list)

    @property
    def read(self) -> Any:
        return SimpleNamespace(format=lambda _: SimpleNamespace(options=self._options))

    def _options(self, **options: str) -> Any:
        self.options_seen.append(options)
        frame = SimpleNamespace(unionAll=lambda _: frame, selectExpr=lambda *_: frame)
        frame.coalesce = lambda _: frame
        return SimpleNamespace(load=lambda: frame)


@pytest.fixture(autouse=True)
def known_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("frazil.landing.source.leader_epochs", lambda *_: {0: [(0, 4)]})


def options_of(plan: Plan, settings: Settings | None = None) -> dict[str, str]:
    """What Spark's source is told where a plan is read."""
    spark = Spark()
    reading = planned_reading(SimpleNamespace(settings=settings or Settings(), spark=spark), plan)  # type: ignore[arg-type]
    assert reading.frame
    return spark.options_seen[0]


def test_only_what_was_committed_is_read_and_a_range_that_is_gone_is_an_error() -> None:
    options = options_of(PLAN)

    assert (options["kafka.isolation.level"], options["failOnDataLoss"]) == ("read_committed", "true")


def test_the_next_landing_of_the_same_log_finds_the_consumers_of_the_one_before() -> None:
    after = replace(PLAN, spans={0: (9, 9), 1: (3, 12)})

    assert options_of(PLAN)[GROUP] == options_of(after)[GROUP]


@pytest.mark.parametrize(
    "other",
    [
        {"topic_id": "second-id"},
        {"leader_epochs": {0: 5, 1: 2}},
        {"topic": "quotes"},
    ],
    ids=["recreated", "led anew", "another"],
)
def test_what_was_fetched_ahead_of_another_log_is_not_found(other: dict[str, Any]) -> None:
    assert options_of(PLAN)[GROUP] != options_of(replace(PLAN, **other))[GROUP]


@pytest.mark.parametrize(
    "untold", [{"topic_id": NO_ID}, {"leader_epochs": {0: -1, 1: 2}}, {"leader_epochs": {}}]
)
def test_where_kafka_does_not_tell_logs_apart_no_consumer_is_used_again(untold: dict[str, Any]) -> None:
    assert GROUP not in options_of(replace(PLAN, **untold))


def test_a_partition_that_nobody_leads_and_nobody_reads_does_not_matter() -> None:
    assert GROUP in options_of(replace(PLAN, leader_epochs={0: 4, 1: -1}))


def test_another_way_in_is_another_group_and_the_name_tells_no_secret() -> None:
    """Spark refuses to read where a group's settings are others than before."""

    def by(password: str) -> dict[str, str]:
        kafka = {"mechanism": "PLAIN", "username": "me", "password": password}
        return options_of(PLAN, Settings().with_changes(kafka=kafka))

    first, second = by("one-secret"), by("other-secret")

    assert first[GROUP] != second[GROUP]
    assert first[GROUP] == by("one-secret")[GROUP]
    assert "one-secret" in first["kafka.sasl.jaas.config"]
    assert "secret" not in first[GROUP]


def test_several_slices_of_a_partition_are_of_one_group() -> None:
    spark = Spark()
    logs = {("trades", 0): ("first-id", 4)}

    read_slices(spark, Settings(), [{("trades", 0): (0, 5)}, {("trades", 0): (5, 9)}], logs)  # type: ignore[arg-type]

    assert len({options[GROUP] for options in spark.options_seen}) == 1
    starts = [json.loads(options["startingOffsets"]) for options in spark.options_seen]
    assert starts == [{"trades": {"0": 0}}, {"trades": {"0": 5}}]
