"""What AWS does not allow, and the IAM statement that allows it."""

from __future__ import annotations

import json
import re

from frazil.errors import STAYS, ConfigureError, NotAllowedError

_SAID = re.compile(r"perform: (?P<action>[\w-]+:\w+)(?: on resource: \"?(?P<resource>arn:[^\s\"]+))?")
"""How AWS names what is missing: Glue, S3 for most of its actions, and others without a resource."""

_BY_ARROW = re.compile(r"bucket '(?P<bucket>[^']+)'.*ACCESS_DENIED during (?P<call>\w+)", re.DOTALL)
_ARROWS_CODE = re.compile(r"ExceptionName: (?P<code>\w+)|AWS Error (?P<name>(?!UNKNOWN)[A-Z_]+)")
_REFUSED = re.compile(
    r"AWS Error (?P<name>[A-Z_]+)(?: \(HTTP status (?P<status>\d+)\))? during \w+ operation:"
    r"(?: Unable to parse ExceptionName: (?P<code>\w+))? Message: (?P<said>[^\n]*)"
)
_BY_JAVA = re.compile(r"(?P<said>[^\n]*)\(Service: (?:S3|AmazonS3)[,;] Status Code: (?P<status>\d+)")
_ASKED_WRONGLY = {400, 405, 411, 413, 414, 416, 501}
"""Answers of S3 to a request that it will never take; 403 says who may not, and 404 what is not there."""

_PASSING = ("SlowDown", "Throttl", "RequestTimeout", "ExpiredToken", "RequestTimeTooSkewed", "InvalidPart",
            "NoSuchUpload", "OperationAborted", "BadDigest", "IncompleteBody")  # fmt: skip
"""What such answers may say that a second request is not told."""

_TOO_LONG = ("KeyTooLong", "key is too long", "File name too long", "KEY_TOO_LONG")
_SHORTER = (
    "A text that the table is partitioned by is too long for the name of a folder: write truncate(16, "
    "column) or bucket(16, column) in `partition_by`. Or keep the partitions, and leave them out of names: "
    "`ALTER TABLE ... SET TBLPROPERTIES ('write.object-storage.enabled'='true', "
    "'write.object-storage.partitioned-paths'='false')` in Spark."
)
_S3_ACTIONS = {
    "HeadObject": "s3:GetObject", "GetObject": "s3:GetObject", "DeleteObject": "s3:DeleteObject",
    "DeleteObjects": "s3:DeleteObject", "ListObjectsV2": "s3:ListBucket", "HeadBucket": "s3:ListBucket",
    "ListObjectVersions": "s3:ListBucketVersions", "GetBucketVersioning": "s3:GetBucketVersioning",
}  # fmt: skip
"""By S3's call; all others of PyArrow's write."""

_STRANGE_AUTHORITY = re.compile("curlCode: 60|SSL peer certificate")
"""What PyArrow says of a certificate that no authority it knows has signed; what obstore says is lost."""

_DENIED = ("AccessDenied", "AccessDeniedException", "LakeFormation")

_BY_LAKE_FORMATION = "Lake Formation permission"
"""What AWS says of a right that no policy of IAM gives: `Insufficient Lake Formation permission(s): ...`."""

_KEYS = "Fix FRAZIL_AWS__ACCESS_KEY and FRAZIL_AWS__SECRET_KEY."
_NOBODY = (
    "Set FRAZIL_AWS__PROFILE or FRAZIL_AWS__ACCESS_KEY, or give this machine a role (docs/connect.md). For a "
    "stack without AWS, on this machine: `frazil up`."
)
_ENDED = "Renew FRAZIL_AWS__SESSION_TOKEN, or the login of FRAZIL_AWS__PROFILE (`aws sso login`)."
_ROLE = "Fix FRAZIL_AWS__ROLE_ARN and FRAZIL_AWS__EXTERNAL_ID, or the role's trust policy."
_UNKNOWN = {
    "ProfileNotFound": "Fix FRAZIL_AWS__PROFILE.",
    "InvalidConfigError": "Fix the profile that FRAZIL_AWS__PROFILE names.",
    **dict.fromkeys(("NoCredentialsError", "CredentialRetrievalError", "PartialCredentialsError"), _NOBODY),
    **dict.fromkeys(
        ("SSOTokenLoadError", "UnauthorizedSSOTokenError", "TokenRetrievalError", "ExpiredToken",
         "ExpiredTokenException", "RequestExpired"), _ENDED,
    ),
    **dict.fromkeys(
        ("UnrecognizedClientException", "InvalidClientTokenId", "InvalidSignatureException",
         "InvalidAccessKeyId", "SignatureDoesNotMatch", "MissingAuthenticationToken"), _KEYS,
    ),
    "InvalidIdentityToken": "Renew the file that FRAZIL_AWS__WEB_IDENTITY_TOKEN_FILE names.",
}  # fmt: skip
"""What to do, by the class of botocore's exception, or by AWS' code of the error."""


def aws_refusal(error: BaseException) -> ConfigureError | None:
    """What a client of AWS met, if AWS did not let it; a client is botocore or PyArrow."""
    from botocore.exceptions import BotoCoreError, ClientError

    if isinstance(error, BotoCoreError):
        return _unknown(type(error).__name__, str(error))
    if isinstance(error, ClientError):
        return _by_code(error.response.get("Error", {}).get("Code", ""), error.operation_name, str(error))
    if isinstance(error, OSError):
        return _of_arrow(error, f"{error} {error.__cause__ or ''}")
    return None


def storage_refusal(text: str) -> tuple[str, str] | None:
    """What S3 said of a request that it will never take, and what to do; None where it said nothing such.

    Args:
        text: Of PyArrow's error, or of Java's.
    """
    match = _REFUSED.search(text) or _BY_JAVA.search(text)
    if match is None or any(sign in text for sign in _PASSING):
        return None
    parts = match.groupdict()
    status, code = parts.get("status"), parts.get("code") or parts.get("name") or ""
    named = parts.get("name") not in (None, "UNKNOWN") and code.startswith(("INVALID_", "KEY_TOO_LONG"))
    if not named and int(status or 0) not in _ASKED_WRONGLY:
        return None
    todo = _SHORTER if is_too_long(text) else "Fix what it names; see docs/connect.md."
    return f"{code} {parts['said'].strip()}".strip()[:300], todo


def is_too_long(text: str) -> bool:
    """Whether storage said that a file's name is longer than it takes."""
    return any(sign in text for sign in _TOO_LONG)


def statement(action: str, resource: str) -> str:
    """An IAM statement, for the policy of Frazil's role or user."""
    return json.dumps({"Effect": "Allow", "Action": action, "Resource": resource})


def _by_code(code: str, operation: str, text: str) -> ConfigureError | None:
    if code not in _DENIED:
        return _unknown(code, text)
    if operation.startswith("AssumeRole"):
        return _nobody(text, _ROLE)
    if _BY_LAKE_FORMATION in text:
        return NotAllowedError(
            f"Lake Formation does not allow {operation}.",
            where=f"{text:.300}",
            meaning=STAYS,
            todo="Let an administrator of the data lake grant to Frazil's role what it names "
            "(docs/permissions.md).",
        )
    match = _SAID.search(text)
    named = _S3_ACTIONS.get(operation, f"glue:{operation}")
    action, resource = (match["action"], match["resource"]) if match else (named, None)
    return _denied(action, resource or "*", text)


def _of_arrow(error: OSError, text: str) -> ConfigureError | None:
    """PyArrow has AWS' codes in capitals, and hands on those that it does not know."""
    if _STRANGE_AUTHORITY.search(text):
        return ConfigureError(
            "S3 shows a certificate that no known authority signed.",
            where=f"{text:.300}",
            meaning=STAYS,
            todo="Name the authority's file in FRAZIL_S3__CA (docs/connect.md).",
        )
    if "ACCESS_DENIED" in text or isinstance(error, PermissionError):
        return _of_s3(text)
    match = _ARROWS_CODE.search(text)
    code = match and (match["code"] or "".join(word.capitalize() for word in match["name"].split("_")))
    if known := _unknown(code, text) if code else None:
        return known
    if refusal := storage_refusal(text):
        problem, todo = refusal
        return ConfigureError("The storage refuses the request.", where=problem, meaning=STAYS, todo=todo)
    return None


def _of_s3(text: str) -> NotAllowedError:
    match = _BY_ARROW.search(text)
    action = _S3_ACTIONS.get(match["call"], "s3:PutObject") if match else "s3:GetObject"
    bucket = f"arn:aws:s3:::{match['bucket'] if match else '*'}"
    return _denied(action, bucket if action == "s3:ListBucket" else f"{bucket}/*", text)


def _denied(action: str, resource: str, text: str) -> NotAllowedError:
    return NotAllowedError(
        f"AWS does not allow {action}.",
        where=f"{text:.300}",
        meaning=STAYS,
        todo=f"Add to the caller's policy: {statement(action, resource)}",
    )


def _unknown(name: str, text: str) -> ConfigureError | None:
    todo = _UNKNOWN.get(name)
    return _nobody(text, todo) if todo else None


def _nobody(text: str, todo: str) -> ConfigureError:
    return ConfigureError(
        "AWS does not know who asks.",
        where=f"{text:.300}",
        meaning=STAYS,
        todo=todo,
    )
