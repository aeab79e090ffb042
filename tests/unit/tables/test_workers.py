"""What is said where Spark's workers can't write data files by themselves."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from frazil.errors import FrazilError, PartDownError
from frazil.tables.workers import give_up

WORK = "decodes and writes these records"


class Session:
    """All that is asked of a Spark session."""

    def __init__(self) -> None:
        self.conf: Any = self
        self.said: dict[str, str] = {}

    def set(self, name: str, value: str) -> None:
        self.said[name] = value


def error(cause: str) -> FrazilError:
    failed = FrazilError("The Spark job of a landing failed.")
    failed.__cause__ = ValueError(cause)
    return failed


def test_a_warning_names_table_and_reason_and_comes_once(given_up: list[logging.LogRecord]) -> None:
    spark: Any = Session()
    for table, place in (("n.one", 7), ("n.one", 8), ("n.two", 9)):
        give_up(spark, error(f"ValueError: offset {place} is odd"), WORK, table)

    told = [record.getMessage() for record in given_up]
    given_up.clear()

    assert told == [
        f"The Arrow lane's tasks failed for table {table}: ValueError: offset {place} is odd; Spark {WORK}"
        for table, place in (("n.one", 7), ("n.two", 9))
    ]
    assert not spark.said


def test_another_reason_is_told_anew_and_workers_that_lack_something_are_left_alone(
    given_up: list[logging.LogRecord],
) -> None:
    spark: Any = Session()
    give_up(spark, error("ValueError: odd"), WORK, "n.three")
    give_up(spark, error("ModuleNotFoundError: No module named 'frazil'"), WORK, "n.three")

    told = [record.getMessage() for record in given_up]
    given_up.clear()

    assert [message.partition(" for table")[0] for message in told] == [
        "The Arrow lane's tasks failed", "Spark's workers lack what the Arrow lane needs",
    ]  # fmt: skip
    assert list(spark.said.values()) == ["closed"]


def test_what_spark_could_not_do_either_is_raised() -> None:
    spark: Any = Session()
    with pytest.raises(PartDownError):
        give_up(spark, PartDownError("Kafka does not answer."), WORK, "n.four")
