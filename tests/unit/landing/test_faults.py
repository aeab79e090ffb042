"""What a landing says where its Spark job failed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from pyiceberg.catalog.memory import InMemoryCatalog
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyspark.errors import PySparkException

from frazil.errors import FrazilError, OffsetsLostError, OvertakenError, PartDownError, RetryError
from frazil.landing.faults import landing_job
from frazil.landing.ledger import Ledger
from frazil.landing.plan import Plan
from frazil.tables.faults import Job, branch_gone, spark_job

PLAN = Plan("orders", "id", {0: (5, 9), 1: (0, 0)}, capped=False)


@pytest.fixture
def table(tmp_path: Path) -> Table:
    catalog = InMemoryCatalog("memory", warehouse=f"file://{tmp_path}")
    catalog.create_namespace("sales")
    return landed(catalog.create_table(("sales", "orders"), Schema()), {0: (0, 5)})


def landed(table: Table, spans: Mapping[int, tuple[int, int]]) -> Table:
    """What another process would commit; the table as it was loaded knows nothing of it."""
    fresh = table.catalog.load_table(table.name())
    said = Ledger("orders", "id", spans, {}).properties()
    with fresh.transaction() as tx, tx.update_snapshot(snapshot_properties=said).fast_append():
        pass
    return fresh


def told(job: Job, text: str) -> FrazilError:
    with pytest.raises(FrazilError) as told, spark_job(job):
        raise PySparkException(text)
    return told.value


def test_records_that_vanish_while_they_are_read_are_lost_whatever_else_is_said() -> None:
    text = "KafkaIllegalStateException: KAFKA_DATA_LOSS ... CommitFailedException"

    assert isinstance(told(landing_job(PLAN), text), OffsetsLostError)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("org.apache.kafka.common.errors.TimeoutException: Timeout of 60000ms", "Kafka"),
        ("RESTException: java.util.concurrent.TimeoutException", "catalog"),
    ],
)
def test_a_silent_kafka_is_told_from_a_silent_catalog(text: str, part: str) -> None:
    error = told(landing_job(PLAN), text)

    assert isinstance(error, PartDownError)
    assert part in error.what


def test_a_branch_is_gone_because_another_landing_moved_the_position(table: Table) -> None:
    landed(table, {0: (5, 7)})

    error = branch_gone(landing_job(PLAN, table, "landing_1_a"))

    assert isinstance(error, OvertakenError)
    assert "position now {0: 7}" in error.where


def test_a_branch_is_gone_for_its_age_where_the_position_stands_still(table: Table) -> None:
    error = branch_gone(landing_job(PLAN, table, "landing_1_a"))

    assert isinstance(error, RetryError)
    assert "quicker" not in str(error)


def test_no_landing_is_quicker_than_a_redrive(table: Table) -> None:
    landed(table, {0: (5, 7)})

    error = branch_gone(landing_job(PLAN, table, "redrive_1_a"))

    assert isinstance(error, RetryError)
    assert "redrive" in error.what
