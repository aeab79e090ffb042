"""The AWS stand-in of the clouds as tests have it: a process on a free port, and clients of whoever asks."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import requests
from botocore.config import Config
from botocore.exceptions import ClientError

from frazil.settings.identity import aws_session
from frazil.settings.systems.aws import AwsSettings
from frazil_local.cloud.aws import ROOT
from kit.runs.waiting import wait_for
from kit.stack.standin import free_port

ACCOUNT = "123456789012"


@dataclass(frozen=True)
class CloudAws:
    """The stand-in, and who asks: its root, unless `as_` says another."""

    url: str
    key: str = ROOT
    secret: str = field(default=ROOT, repr=False)
    token: str | None = field(default=None, repr=False)

    @property
    def settings(self) -> AwsSettings:
        """As Frazil is told of it."""
        keys = {"access_key": self.key, "secret_key": self.secret, "session_token": self.token}
        return AwsSettings.model_validate({"endpoint": self.url, "region": "us-east-1", **keys})

    def client(self, service: str) -> Any:
        """A client of botocore."""
        return _client(self, service)

    def as_(self, keys: dict[str, str]) -> CloudAws:
        """The same, asked by the holder of these keys, as IAM or STS answers them."""
        return CloudAws(self.url, keys["AccessKeyId"], keys["SecretAccessKey"], keys.get("SessionToken"))

    def turn(self, **knobs: Any) -> None:
        """Turns the knobs; those that are not named go back."""
        requests.post(f"{self.url}/_knobs", json=knobs, timeout=60).raise_for_status()

    def reset(self) -> None:
        """Forgets everything."""
        self.turn()
        requests.post(f"{self.url}/_ministack/reset", timeout=60).raise_for_status()

    def user(self, name: str, *statements: dict[str, Any]) -> CloudAws:
        """A new user, and what it may."""
        iam = self.client("iam")
        iam.create_user(UserName=name)
        iam.put_user_policy(UserName=name, PolicyName="may", PolicyDocument=policy(*statements))
        return self.as_(iam.create_access_key(UserName=name)["AccessKey"])

    def role(self, arn: str, external_id: str | None = None, **more: Any) -> CloudAws:
        """The same, in a role that it takes on."""
        arguments = {**more, **({"ExternalId": external_id} if external_id else {})}
        answer = self.client("sts").assume_role(RoleArn=arn, RoleSessionName="tests", **arguments)
        return self.as_(answer["Credentials"])


@cache
def _client(aws: CloudAws, service: str) -> Any:
    once = Config(retries={"total_max_attempts": 1}, read_timeout=60)  # a busy machine is slower
    return aws_session(aws.settings).create_client(service, config=once)


def policy(*statements: dict[str, Any]) -> str:
    """A document of IAM."""
    return json.dumps({"Version": "2012-10-17", "Statement": statements})


def allow(actions: str | list[str], resources: str | list[str] = "*", **more: Any) -> dict[str, Any]:
    """A statement of a policy."""
    return {"Effect": "Allow", "Action": actions, "Resource": resources, **more}


def trust(who: str, external_id: str | None = None, action: str = "sts:AssumeRole") -> dict[str, Any]:
    """A statement of a trust; `who` is an ARN, or a service."""
    condition = {"Condition": {"StringEquals": {"sts:ExternalId": external_id}}} if external_id else {}
    kind = "AWS" if who.startswith("arn:") else "Service"
    return {"Effect": "Allow", "Principal": {kind: who}, "Action": action, **condition}


@contextmanager
def cloud_aws(folder: Path, **more: str) -> Iterator[CloudAws]:
    """The stand-in on a free port; its log goes into the folder, more variables into its environment."""
    port = free_port()
    aws = CloudAws(f"http://127.0.0.1:{port}")
    environment = {
        **os.environ,
        "FRAZIL_CLOUD_AWS_PORT": str(port),
        "AWS_EC2_METADATA_DISABLED": "true",
        **more,
    }
    command = (sys.executable, "-m", "frazil_local.cloud.aws.server")
    with (
        (folder / "aws.log").open("w") as log,
        subprocess.Popen(command, env=environment, stderr=log) as process,
    ):
        try:
            wait_for(lambda: _answers(aws))
            yield aws
        finally:
            process.send_signal(signal.SIGTERM)  # else whoever leaves by an error waits for it


def _answers(aws: CloudAws) -> bool:
    with suppress(requests.ConnectionError):
        return requests.get(f"{aws.url}/_knobs", timeout=60).ok
    return False


def code_of(error: ClientError) -> str:
    """AWS' word for a refusal."""
    return str(error.response["Error"]["Code"])
