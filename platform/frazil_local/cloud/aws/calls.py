"""Requests to AWS as a judge reads them: which action, with which parameters, of which account."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

from starlette.responses import Response

from frazil_local.cloud.aws import ACCOUNT
from frazil_local.cloud.faults import Call


@dataclass(frozen=True, slots=True)
class Asked:
    """What one call asks."""

    action: str
    parameters: Mapping[str, Any]
    account: str


def asked(call: Call) -> Asked:
    """Reads a call; those of S3 have their method for an action, and no parameters."""
    if target := call.headers.get("x-amz-target"):
        return Asked(target.rpartition(".")[2], json.loads(call.body or b"{}"), _account(call))
    if call.headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
        form = {name: values[0] for name, values in parse_qs(call.body.decode()).items()}
        return Asked(form.get("Action", ""), form, _account(call))
    return Asked(call.method, {}, _account(call))


def name_of(call: Call) -> str:
    """The name by which faults know a call; MiniStack's own pages have none."""
    return "" if call.path.startswith("/_") else asked(call).action


def refusal(call: Call, status: int, code: str, text: str) -> Response:
    """An error of AWS in the shape of the service that is asked."""
    if "x-amz-target" in call.headers:
        body = json.dumps({"__type": code, "message": text})
        return Response(body, status, media_type="application/x-amz-json-1.1")
    error = f"<Error><Type>Sender</Type><Code>{code}</Code><Message>{text}</Message></Error>"
    is_query = call.headers.get("content-type", "").startswith("application/x-www-form-urlencoded")
    return Response(
        f"<ErrorResponse>{error}</ErrorResponse>" if is_query else error, status, media_type="text/xml"
    )


def failure(call: Call, status: int) -> Response:
    """What AWS says when there are too many calls, or when it fails."""
    if status != 429:
        return refusal(call, 500, "InternalFailure", "The service failed.")
    if "x-amz-target" in call.headers:
        return refusal(call, 400, "ThrottlingException", "Rate exceeded")
    code = "Throttling" if asked(call).parameters else "SlowDown"
    return refusal(call, 400 if code == "Throttling" else 503, code, "Rate exceeded")


def _account(call: Call) -> str:
    key = call.headers.get("authorization", "").partition("Credential=")[2].split("/")[0]
    return key if key.isdigit() and len(key) == 12 else ACCOUNT
