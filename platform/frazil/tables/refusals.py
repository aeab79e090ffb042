"""What AWS does not allow, and the IAM statement that allows it."""

from __future__ import annotations

import json
import re

from frazil.errors import ConfigureError, NotAllowedError

_SAID = re.compile(r"perform: (?P<action>[\w:-]+) on resource: (?P<resource>arn:[^\s\"]+)")
"""How AWS names what is missing: Glue, and S3 for most of its actions."""

_BY_ARROW = re.compile(r"bucket '(?P<bucket>[^']+)'.*ACCESS_DENIED during (?P<call>\w+)", re.DOTALL)
_S3_ACTIONS = {
    "HeadObject": "s3:GetObject", "GetObject": "s3:GetObject", "DeleteObject": "s3:DeleteObject",
    "DeleteObjects": "s3:DeleteObject", "ListObjectsV2": "s3:ListBucket", "HeadBucket": "s3:ListBucket",
}  # fmt: skip
"""By S3's call; all others write."""

_DENIED = ("AccessDenied", "AccessDeniedException", "LakeFormation")
_UNKNOWN_CALLER = (
    "UnrecognizedClientException", "InvalidClientTokenId", "InvalidSignatureException", "InvalidAccessKeyId",
    "SignatureDoesNotMatch", "ExpiredToken", "ExpiredTokenException", "MissingAuthenticationToken",
)  # fmt: skip


def aws_refusal(error: BaseException) -> ConfigureError | None:
    """What a client of AWS met, if AWS did not let it; a client is boto3 or PyArrow."""
    from botocore.exceptions import ClientError, CredentialRetrievalError, NoCredentialsError

    if isinstance(error, NoCredentialsError | CredentialRetrievalError):
        return _unknown(str(error))
    if isinstance(error, ClientError):
        return _by_code(error.response.get("Error", {}).get("Code", ""), error.operation_name, str(error))
    if isinstance(error, OSError):
        text = f"{error} {error.__cause__ or ''}"
        return _of_s3(text) if "ACCESS_DENIED" in text or isinstance(error, PermissionError) else None
    return None


def statement(action: str, resource: str) -> str:
    """An IAM statement, for the policy of Frazil's role or user."""
    return json.dumps({"Effect": "Allow", "Action": action, "Resource": resource})


def _by_code(code: str, operation: str, text: str) -> ConfigureError | None:
    if code in _UNKNOWN_CALLER:
        return _unknown(text)
    if code not in _DENIED:
        return None
    said = _SAID.search(text)
    action, resource = (said["action"], said["resource"]) if said else (f"glue:{operation}", "*")
    return _denied(action, resource, text)


def _of_s3(text: str) -> NotAllowedError:
    found = _BY_ARROW.search(text)
    action = _S3_ACTIONS.get(found["call"], "s3:PutObject") if found else "s3:GetObject"
    bucket = f"arn:aws:s3:::{found['bucket'] if found else '*'}"
    return _denied(action, bucket if action == "s3:ListBucket" else f"{bucket}/*", text)


def _denied(action: str, resource: str, text: str) -> NotAllowedError:
    return NotAllowedError(
        f"AWS does not allow {action}.",
        where=f"{text:.300}",
        meaning="What was published before stays; nothing half done is shown.",
        todo=f"Add to the policy of Frazil's role: {statement(action, resource)}",
    )


def _unknown(text: str) -> ConfigureError:
    return ConfigureError(
        "AWS does not know who asks.",
        where=f"{text:.300}",
        meaning="What was published before stays; nothing half done is shown.",
        todo="Mend FRAZIL_AWS__... or the credentials of AWS' default chain (docs/connect.md).",
    )
