"""AWS as a deployment asks it: what makes something is sent once, and errors are the reconciler's."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from frazil.settings.identity import aws_session
from frazil.settings.refusals import aws_refusal
from frazil.settings.systems.aws import AwsSettings
from frazil_cloud.patience import insisting
from frazil_cloud.resource import AnswerLost, RefusedYet, Throttled

T = TypeVar("T")

_THROTTLED = {
    "Throttling", "ThrottlingException", "ThrottledException", "RequestLimitExceeded", "SlowDown",
    "TooManyRequestsException", "RequestThrottled",
}  # fmt: skip
_GONE = {
    "NoSuchEntity", "NoSuchBucket", "NoSuchBucketPolicy", "NoSuchLifecycleConfiguration", "NoSuchTagSet",
    "NoSuchPublicAccessBlockConfiguration", "OwnershipControlsNotFoundError", "NoSuchUpload", "NoSuchKey",
    "ServerSideEncryptionConfigurationNotFoundError", "ResourceNotFoundException", "EntityNotFoundException",
    "ParameterNotFound",
}  # fmt: skip
_THERE = {
    "EntityAlreadyExists", "BucketAlreadyOwnedByYou", "BucketAlreadyExists", "ResourceExistsException",
    "ResourceAlreadyExistsException", "AlreadyExistsException", "ParameterAlreadyExists",
}  # fmt: skip
_SOON = {
    "OperationAborted", "ConcurrentModification", "ConcurrentModificationException", "DeleteConflict",
    "TooManyUpdates", "BucketNotEmpty",
}  # fmt: skip
"""Refusals that waiting ends: others are at work."""

_MET = (AnswerLost, Throttled)
"""What a call is sent again for at once: AWS' limits are per second, and say no time."""

_STRANGER = "Invalid principal"
"""What IAM says of a trust that names somebody who is not there, or not seen everywhere yet."""


class GoneError(Exception):
    """What a call is about is not there."""


class ThereError(Exception):
    """What a call would make is there already."""


@dataclass(frozen=True)
class Aws:
    """One identity at AWS; its clients are made when first asked for, and are for all threads."""

    settings: AwsSettings
    _clients: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    @property
    def region(self) -> str:
        """Where everything is made."""
        return self.settings.region

    @cached_property
    def account(self) -> str:
        """The 12 digits of the identity's account."""
        return str(self.client("sts").get_caller_identity()["Account"])

    def client(self, service: str) -> Any:
        """A client of botocore whose calls raise `NotYet`, `GoneError`, `ThereError` or FrazilErrors.

        What is none of these stays botocore's ClientError. `pages` gives all pages of a call, `content` all
        bytes of an object.
        """
        with self._lock:
            if service not in self._clients:
                self._clients[service] = _Client(self._made(service))
        return self._clients[service]

    def taking(self, role: str, external_id: str | None = None) -> Aws:
        """The same in a role that this identity takes on, for an hour."""
        arguments = {"RoleArn": role, "RoleSessionName": self.settings.session_name}
        keys = self.client("sts").assume_role(
            **arguments, **({"ExternalId": external_id} if external_id else {})
        )
        taken = {
            "access_key": keys["Credentials"]["AccessKeyId"],
            "secret_key": keys["Credentials"]["SecretAccessKey"],
            "session_token": keys["Credentials"]["SessionToken"],
        }
        return Aws(AwsSettings(endpoint=self.settings.endpoint, region=self.region, **taken))

    @cached_property
    def _session(self) -> Any:
        return aws_session(self.settings)

    def _made(self, service: str) -> Any:
        from botocore.config import Config

        once = Config(retries={"total_max_attempts": 1}, s3={"addressing_style": "auto"})
        with _translated():
            return self._session.create_client(service, config=once)


class _Client:
    """Botocore's client, its errors translated.

    A call that makes nothing new is sent again where its answer is lost: it does the same twice.
    """

    def __init__(self, client: Any) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._client, name)

        def ask(**arguments: Any) -> Any:
            with _translated():
                return call(**arguments)

        return (
            ask
            if name.startswith("create_")
            else lambda **arguments: insisting(lambda: ask(**arguments), _MET)
        )

    def content(self, **arguments: Any) -> bytes:
        """All bytes of an object of S3. Where some are lost, all are asked for again."""

        def ask() -> bytes:
            with _translated():
                stored: bytes = self._client.get_object(**arguments)["Body"].read()
                return stored

        return insisting(ask, _MET)

    def pages(self, name: str, **arguments: Any) -> list[dict[str, Any]]:
        """All pages of a call. Where one is lost, all are asked for again: botocore's iterator has ended."""

        def ask() -> list[dict[str, Any]]:
            with _translated():
                return list(self._client.get_paginator(name).paginate(**arguments))

        return insisting(ask, _MET)


@contextmanager
def _translated() -> Iterator[None]:
    from botocore.exceptions import BotoCoreError, ClientError
    from botocore.parsers import ResponseParserError

    try:
        yield
    except ClientError as e:
        raise _refused(e) from None
    except BotoCoreError as e:
        raise aws_refusal(e) or _without_answer(e) from None
    except ResponseParserError as e:
        raise AnswerLost(f"an answer that ends early: {e}") from None


def _refused(error: Any) -> Exception:
    details = error.response.get("Error", {})
    code, text = str(details.get("Code", "")), f"{error.operation_name}: {details.get('Message', '')}"
    if code in _THROTTLED:
        return Throttled(text)
    if code in _GONE or code == "404":
        return GoneError(text)
    if code in _THERE:
        return ThereError(text)
    if code in _SOON or _STRANGER in text:
        return RefusedYet(f"{code}: {text}")
    if error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0) >= 500:
        return AnswerLost(text)
    return aws_refusal(error) or error


def _without_answer(error: Exception) -> Exception:
    from botocore import exceptions as known

    if isinstance(error, (known.ConnectionError, known.HTTPClientError, known.IncompleteReadError)):
        return AnswerLost(str(error))
    return error
