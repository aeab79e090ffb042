"""What AWS does not allow is told with the statement that allows it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError, NoCredentialsError
from pyiceberg.io.pyarrow import PyArrowFileIO

from frazil.errors import ConfigureError, NotAllowedError
from frazil.settings.refusals import aws_refusal
from kit.wires.wire import wired

FILE = "s3://lake/warehouse/shop.db/orders/data/1.parquet"
OF_GLUE = (
    "User: arn:aws:sts::123456789012:assumed-role/frazil/one is not authorized to perform: glue:UpdateTable "
    "on resource: arn:aws:glue:eu-central-1:123456789012:table/shop/orders because no identity-based policy "
    "allows the glue:UpdateTable action"
)


def statement(refusal: ConfigureError | None) -> dict[str, Any]:
    assert isinstance(refusal, NotAllowedError)
    allowed: dict[str, Any] = json.loads(refusal.todo[refusal.todo.index("{") :])
    return allowed


def met(code: str, message: str, operation: str = "UpdateTable") -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": message}}, operation)


@pytest.fixture(scope="module")
def forbidding() -> Iterator[PyArrowFileIO]:
    """An S3 that allows nothing."""
    with wired({"s3": "http://127.0.0.1:1"}, lambda _: "forbidden") as (_, urls):
        yield PyArrowFileIO({
            "s3.endpoint": urls["s3"], "s3.access-key-id": "key", "s3.secret-access-key": "secret",
            "s3.region": "us-east-1",
        })  # fmt: skip


def test_action_and_resource_are_those_that_glue_names() -> None:
    assert statement(aws_refusal(met("AccessDeniedException", OF_GLUE))) == {
        "Effect": "Allow",
        "Action": "glue:UpdateTable",
        "Resource": "arn:aws:glue:eu-central-1:123456789012:table/shop/orders",
    }


def test_where_it_names_none_the_call_does() -> None:
    assert statement(aws_refusal(met("AccessDeniedException", "no", "GetTable")))["Action"] == "glue:GetTable"


@pytest.mark.parametrize(
    ("ask", "action"),
    [
        (lambda io: io.new_output(FILE).create(overwrite=True).close(), "s3:PutObject"),
        (lambda io: io.new_input(FILE).open(), "s3:GetObject"),
        (lambda io: io.delete(FILE), "s3:GetObject"),
    ],
    ids=["write", "read", "delete"],
)
def test_the_bucket_and_the_action_of_storage_are_named(
    forbidding: PyArrowFileIO, ask: Callable[[PyArrowFileIO], object], action: str
) -> None:
    with pytest.raises(OSError, match="ACCESS_DENIED") as refused:
        ask(forbidding)

    assert statement(aws_refusal(refused.value)) == {
        "Effect": "Allow",
        "Action": action,
        "Resource": "arn:aws:s3:::lake/*",
    }


@pytest.mark.parametrize("code", ["UnrecognizedClientException", "ExpiredTokenException"])
def test_whoever_is_not_known_is_told_to_mend_the_credentials(code: str) -> None:
    for error in (met(code, "The security token is invalid."), NoCredentialsError()):
        refusal = aws_refusal(error)

        assert refusal
        assert not isinstance(refusal, NotAllowedError)
        assert "FRAZIL_AWS__" in refusal.todo


@pytest.mark.parametrize(
    ("text", "setting"),
    [
        ("AWS Error INVALID_ACCESS_KEY_ID during CreateMultipartUpload operation: no", "ACCESS_KEY"),
        ("AWS Error SIGNATURE_DOES_NOT_MATCH during GetObject operation: no", "SECRET_KEY"),
        (
            "AWS Error UNKNOWN (HTTP status 400) during GetObject operation: Unable to parse ExceptionName: "
            "ExpiredToken Message: The provided token has expired.",
            "SESSION_TOKEN",
        ),
    ],
)
def test_keys_that_storage_does_not_take_are_named_by_their_settings(text: str, setting: str) -> None:
    refusal = aws_refusal(OSError(text))

    assert refusal
    assert f"FRAZIL_AWS__{setting}" in refusal.todo


@pytest.mark.parametrize("code", ["KeyTooLongError", "InvalidArgument", "MethodNotAllowed"])
def test_what_storage_will_never_take_is_told_as_it_says_it(code: str) -> None:
    message = f"during PutObject operation: Unable to parse ExceptionName: {code} Message: no"
    refusal = aws_refusal(OSError(f"AWS Error UNKNOWN (HTTP status 400) {message}"))

    assert refusal
    assert code in refusal.where
    assert ("truncate" in refusal.todo) == (code == "KeyTooLongError")


def test_what_passes_or_is_no_refusal_stays_what_it_is() -> None:
    assert aws_refusal(met("ThrottlingException", "slow down")) is None
    assert aws_refusal(OSError("AWS Error NETWORK_CONNECTION during PutObject operation")) is None
    assert aws_refusal(FileNotFoundError("gone")) is None
