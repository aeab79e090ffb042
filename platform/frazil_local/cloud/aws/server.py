"""The AWS stand-in, `python -m frazil_local.cloud.aws.server`: MiniStack behind a judge, on loopback only.

Its account is 123456789012, whose root is `test` with the secret `test`. A key of 12 digits is the root of
the account of that number, so foreign parties can have users and roles.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from frazil_local.cloud.aws import ACCOUNT, ROOT
from frazil_local.cloud.aws.calls import failure, name_of
from frazil_local.cloud.faults import Faulty, Knobs
from frazil_local.ports import LOOPBACK

_SETTINGS = {
    "AUTH": "true",
    "IOT_MTLS_ENABLED": "0",  # else it listens on 0.0.0.0:8883
    "SFTP_ENABLED": "0",
    "MINISTACK_ACCOUNT_ID": ACCOUNT,
    "AWS_ACCESS_KEY_ID": ROOT,
    "AWS_SECRET_ACCESS_KEY": ROOT,
    "LOG_LEVEL": "WARNING",
    "DOCKER_HOST": "unix:///nowhere",
}


def app() -> ASGIApp:
    """The stand-in. It is one for each process: MiniStack keeps its state in modules."""
    os.environ.update(_SETTINGS)
    from ministack import app as mini
    from ministack.core import iam_actions

    from frazil_local.cloud.aws.judge import Judge

    for module in (mini, iam_actions):
        module.extract_resource_arn = _arn_of(iam_actions.extract_resource_arn)
    knobs = Knobs()
    return Faulty(Judge(mini.app, knobs), knobs, name_of, failure)


def _arn_of(known: Callable[..., str]) -> Callable[..., str]:
    """What a call is about; MiniStack takes those to Glue, and some to SSM, for calls about everything."""

    def arn(service: str, *parts: Any) -> str:
        resource = _OWN[service](json.loads(parts[3] or b"{}")) if service in _OWN else None
        return f"arn:aws:{service}:{parts[5]}:{parts[6]}:{resource}" if resource else known(service, *parts)

    return arn


def _parameters(body: dict[str, Any]) -> str | None:
    return f"parameter/{body['Path'].strip('/')}" if "Path" in body else None


def _in_glue(body: dict[str, Any]) -> str:
    database = body.get("DatabaseName") or body.get("DatabaseInput", {}).get("Name")
    table = (
        body.get("TableName")
        or body.get("TableInput", {}).get("Name")
        or (body.get("Name") if database else None)
    )
    return _glue_thing(database or body.get("Name"), table)


def _glue_thing(database: str | None, table: str | None) -> str:
    if table:
        return f"table/{database}/{table}"
    return f"database/{database}" if database else "catalog"


_OWN = {"glue": _in_glue, "ssm": _parameters}
"""The end of an ARN, by service; None: as MiniStack says."""


def _main() -> None:
    """Serves until it is told to end; FRAZIL_CLOUD_AWS_STATE is where it remembers."""
    if state := os.environ.get("FRAZIL_CLOUD_AWS_STATE"):
        os.environ.update(PERSIST_STATE="1", STATE_DIR=state, S3_PERSIST="1", S3_DATA_DIR=f"{state}/s3")
    port = int(os.environ["FRAZIL_CLOUD_AWS_PORT"])
    os.environ["GATEWAY_PORT"] = str(port)
    uvicorn.run(app(), host=LOOPBACK, port=port, log_level="warning", timeout_graceful_shutdown=3)


if __name__ == "__main__":
    _main()
