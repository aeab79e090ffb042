"""What is told of a Spark job that failed, whatever it was part of."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException

from frazil.derive.write import derivation_job
from frazil.errors import (
    CommitConflictError,
    ConfigureError,
    FrazilError,
    NotAllowedError,
    PartDownError,
)
from frazil.landing.faults import landing_job
from frazil.landing.plan import Plan
from frazil.spec.names import TableName
from frazil.tables.spark.faults import Job, spark_job

NAME = TableName("sales", "orders")
JOBS = {
    "landing": landing_job(Plan("orders", "id", {0: (0, 10)}, capped=False)),
    "derivation": derivation_job(NAME),
    "compaction": Job("compaction", str(NAME), "No row is lost or doubled.", "Try again."),
}


def error_of(job: Job, text: str) -> FrazilError:
    with pytest.raises(FrazilError) as raised, spark_job(job):
        raise PySparkException(text)
    return raised.value


@pytest.mark.parametrize(
    "sign",
    [
        "CommitFailedException: Cannot commit: stale table metadata",
        "Malformed request: can't add snapshot with sequence number 3",
        "[INSERT_COLUMN_ARITY_MISMATCH.EXTRA_COLUMNS] Cannot write",
        "[INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_FIND_DATA] Cannot find data for the output column",
        "Cannot expire 5. Still referenced by refs: [main]",
    ],
)
@pytest.mark.parametrize("work", JOBS)
def test_every_job_takes_the_same_refusals_for_conflicts(work: str, sign: str) -> None:
    error = error_of(JOBS[work], f"org.apache.iceberg.exceptions.{sign}")

    assert isinstance(error, CommitConflictError)
    assert work in error.what
    assert error.meaning == JOBS[work].unseen


GONE = [
    "FileNotFoundError: [Errno 2] Path does not exist 'warehouse/n/t/data/a.parquet'.",
    "OSError: When reading information for key 'a': AWS Error NO_SUCH_KEY during GetObject operation",
]


@pytest.mark.parametrize("sign", GONE)
@pytest.mark.parametrize("reader", ["frazil/tables/reading/columns.py", "frazil/tables/writing/transfer.py"])
@pytest.mark.parametrize("work", JOBS)
def test_a_file_that_expired_while_tasks_read_it_is_a_conflict(work: str, reader: str, sign: str) -> None:
    error = error_of(JOBS[work], f'Traceback (most recent call last):\n  File "/x/{reader}", line 7\n{sign}')

    assert isinstance(error, CommitConflictError)
    assert "A file went" in error.what


@pytest.mark.parametrize("sign", GONE)
def test_a_file_that_a_users_function_misses_is_no_conflict(sign: str) -> None:
    error = error_of(JOBS["derivation"], f'Traceback (most recent call last):\n  File "/x/mine.py"\n{sign}')

    assert not isinstance(error, CommitConflictError)


@pytest.mark.parametrize("work", JOBS)
def test_a_catalog_that_does_not_say_what_became_of_a_commit_is_no_other_commit(work: str) -> None:
    error = error_of(JOBS[work], "org.apache.iceberg.exceptions.CommitStateUnknownException: 500")

    assert isinstance(error, CommitConflictError)
    assert "did not say" in error.what
    assert "Another commit" not in str(error)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("<_InactiveRpcError of RPC that terminated with: status = StatusCode.UNAVAILABLE>", "Spark"),
        ("[INVALID_HANDLE.SESSION_NOT_FOUND] The handle 12 is invalid. Session not found.", "Spark"),
        ("[RETRIES_EXCEEDED] The maximum number of retries has been exceeded.", "Spark"),
        ("Job aborted: software.amazon.awssdk.services.s3.model.S3Exception: 503", "storage"),
        ("org.apache.iceberg.exceptions.RESTException: Connection refused", "catalog"),
        ("org.apache.hc.core5.http.ConnectionClosedException: Premature end of Content-Length", "storage"),
        ("OSError: AWS Error NETWORK_CONNECTION during PutObject operation: curlCode: 7", "storage"),
        ("OSError: AWS Error SLOW_DOWN during CreateMultipartUpload operation: SlowDown", "storage"),
        ("OSError: AWS Error UNKNOWN (HTTP status 503) during HeadObject operation: No body.", "storage"),
    ],
)
@pytest.mark.parametrize("work", JOBS)
def test_a_part_that_does_not_answer_is_named_and_nothing_is_visible(work: str, text: str, part: str) -> None:
    error = error_of(JOBS[work], text)

    assert isinstance(error, PartDownError)
    assert part in error.what
    assert error.meaning.startswith(JOBS[work].unseen)
    assert "Files may have been written" in error.meaning


@pytest.mark.parametrize(
    "text",
    [
        "software.amazon.awssdk.services.s3.model.S3Exception: Access Denied (Service: S3, Status Code: 403)",
        "s3.model.S3Exception: The provided token has expired. (Service: S3, Status Code: 400)",
        "software.amazon.awssdk.core.exception.SdkClientException: Unable to load credentials from any",
        "sts.model.StsException: User: arn:aws:iam::1:user/a is not authorized to perform: sts:AssumeRole on",
        "glue.model.GlueException: The security token included in the request is invalid",
        "org.apache.iceberg.exceptions.ForbiddenException: Forbidden: no right",
        "OSError: AWS Error ACCESS_DENIED during PutObject operation: Access Denied.",
    ],
)
@pytest.mark.parametrize("work", JOBS)
def test_a_refused_identity_of_spark_is_no_part_that_is_down(work: str, text: str) -> None:
    error = error_of(JOBS[work], text)

    assert isinstance(error, NotAllowedError)
    assert "FRAZIL_AWS__" in error.todo
    assert error.meaning == JOBS[work].unseen


@pytest.mark.parametrize(
    ("text", "todo"),
    [
        (
            "s3.model.S3Exception: Your key is too long (Service: S3, Status Code: 400, Request ID: 1)"
            "\nSuppressed: s3.model.AccessDeniedException: Access Denied. (Service: S3, Status Code: 403)",
            "truncate",
        ),
        (
            "OSError: When initiating multiple part upload for key 'a' in bucket 'b': AWS Error UNKNOWN "
            "(HTTP status 400) during CreateMultipartUpload operation: Unable to parse ExceptionName: "
            "KeyTooLongError Message: Your key is too long",
            "partition_by",
        ),
        ("s3.model.S3Exception: Invalid Argument (Service: S3, Status Code: 400, Request ID: 1)", "docs/"),
        ("OSError: AWS Error INVALID_PARAMETER_VALUE during PutObject operation: Message: no", "docs/"),
    ],
)
@pytest.mark.parametrize("work", JOBS)
def test_what_the_storage_will_never_take_is_no_silence(work: str, text: str, todo: str) -> None:
    error = error_of(JOBS[work], text)

    assert type(error) is ConfigureError
    assert "refuses" in error.what
    assert todo in error.todo
    assert error.meaning == JOBS[work].unseen


@pytest.mark.parametrize(
    "text",
    [
        "s3.model.S3Exception: Please reduce your request rate. (Service: S3, Status Code: 503, SlowDown)",
        "s3.model.S3Exception: Your socket was idle: RequestTimeout (Service: S3, Status Code: 400)",
        "s3.model.S3Exception: null (Service: S3, Status Code: 500)",
    ],
)
def test_what_the_storage_takes_a_second_time_is(text: str) -> None:
    assert isinstance(error_of(JOBS["landing"], text), PartDownError)


@pytest.mark.parametrize("work", JOBS)
@pytest.mark.parametrize("text", ["Job aborted due to stage failure\n\tat java.lang", ""])
def test_any_other_failure_says_its_first_line_and_never_that_something_is_visible(
    work: str, text: str
) -> None:
    error = error_of(JOBS[work], text)

    assert type(error) is FrazilError
    assert error.where.endswith("stage failure" if text else "no message")
    assert error.meaning == JOBS[work].unseen


def test_of_a_python_workers_trace_the_line_is_told_that_names_the_error() -> None:
    line = "OSError: AWS Error INTERNAL_FAILURE during CreateMultipartUpload operation"
    trace = (
        f"An exception was thrown from the Python worker.\nTraceback (most recent call last):\n  f()\n{line}"
    )

    assert line in error_of(JOBS["landing"], trace).where


def test_what_is_no_refusal_of_spark_passes_as_it_is() -> None:
    with pytest.raises(ZeroDivisionError), spark_job(JOBS["landing"]):
        _ = 1 / 0
