"""What a landing says where its Spark job failed."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException

from frazil.errors import FrazilError, OffsetsLostError, PartDownError
from frazil.landing.faults import landing_job
from frazil.landing.plan import Plan
from frazil.tables.spark.faults import Job, spark_job

PLAN = Plan("orders", "id", {0: (5, 9), 1: (0, 0)}, capped=False)


def error_of(job: Job, text: str) -> FrazilError:
    with pytest.raises(FrazilError) as raised, spark_job(job):
        raise PySparkException(text)
    return raised.value


def test_records_that_vanish_while_they_are_read_are_lost_whatever_else_is_said() -> None:
    text = "KafkaIllegalStateException: KAFKA_DATA_LOSS ... CommitFailedException"

    assert isinstance(error_of(landing_job(PLAN), text), OffsetsLostError)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("org.apache.kafka.common.errors.TimeoutException: Timeout of 60000ms", "Kafka"),
        ("RESTException: java.util.concurrent.TimeoutException", "catalog"),
    ],
)
def test_a_silent_kafka_is_told_from_a_silent_catalog(text: str, part: str) -> None:
    error = error_of(landing_job(PLAN), text)

    assert isinstance(error, PartDownError)
    assert part in error.what
