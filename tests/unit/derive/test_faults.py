"""What a derivation says where its Spark job failed."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException, PySparkException, PythonException
from pyspark.errors.exceptions.connect import ArithmeticException, SparkException

from frazil.derive.write import derivation_job
from frazil.errors import (
    CommitConflictError,
    FrazilError,
    RepairError,
    SpecError,
)
from frazil.spec.names import TableName
from frazil.tables.spark.faults import spark_job

NAME = TableName("sales", "sized")


def error_of(raised: PySparkException) -> FrazilError:
    with pytest.raises(FrazilError) as caught, spark_job(derivation_job(NAME)):
        raise raised
    return caught.value


def test_a_query_that_spark_does_not_understand_is_the_users_mistake() -> None:
    assert isinstance(error_of(AnalysisException("[UNRESOLVED_COLUMN] amuont")), SpecError)


@pytest.mark.parametrize(
    "raised",
    [
        ArithmeticException(
            "[DIVIDE_BY_ZERO] Division by zero", errorClass="DIVIDE_BY_ZERO", sql_state="22012"
        ),
        PythonException("\n  An exception was thrown from the Python worker."),
    ],
)
def test_a_value_that_the_query_can_not_work_on_is_a_row_to_look_at(raised: PySparkException) -> None:
    error = error_of(raised)

    assert isinstance(error, RepairError)
    assert "fails on a row" in error.what


def test_a_failure_of_spark_itself_blames_no_row() -> None:
    inside = SparkException("[INTERNAL_ERROR] a bug", errorClass="INTERNAL_ERROR", sql_state="XX000")

    assert "row" not in error_of(inside).what


@pytest.mark.parametrize(
    "text",
    ["org.apache.iceberg.exceptions.NotFoundException: Location does not exist", "Cannot find snapshot 5"],
)
def test_an_input_that_expired_while_it_was_read_is_told_as_that(text: str) -> None:
    error = error_of(PySparkException(text))

    assert isinstance(error, CommitConflictError)
    assert "was removed while it was read" in error.what
