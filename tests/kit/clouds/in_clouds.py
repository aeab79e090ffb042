"""Work in a deployment on the stand-ins of a stack with clouds."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from typing import Any

import boto3
import pytest

from frazil.settings.profile import Settings
from frazil_local.home import Home
from kit.runs.shell import Output


def done(result: Output) -> Output:
    assert result.code == 0, result.err
    return result


def in_it(frazil: Callable[..., Output], deployment: str) -> dict[str, str]:
    """`eval "$(frazil env --deployment NAME)"`, with the key of the manager: consumers may not write."""
    exports = {}
    for line in done(frazil("env", "--deployment", deployment)).out.splitlines():
        name, _, value = line.removeprefix("export ").partition("=")
        exports[name] = "".join(shlex.split(value))
    manager = (
        f"aws-secret:/confluent_cloud_resource/{deployment}/kafka_cluster/app_manager/python_client#sasl"
    )
    login = {f"FRAZIL_KAFKA__{part.upper()}": f"{manager}.{part}" for part in ("username", "password")}
    return {**exports, **login}


def settings_in(environment: dict[str, str]) -> Settings:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        return Settings.load()


def at_aws(home: Home, service: str) -> Any:
    """The client of its administrator."""
    administrator = json.loads(home.administrator.read_text())["aws"]
    keys = {
        "aws_access_key_id": administrator["access_key"],
        "aws_secret_access_key": administrator["secret_key"],
    }
    return boto3.client(service, endpoint_url=administrator["endpoint"], region_name="us-east-1", **keys)
