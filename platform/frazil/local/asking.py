"""Small requests that show whether a server does its work."""

from __future__ import annotations

import urllib.request
from dataclasses import dataclass

__all__ = ["Credentials", "get", "get_signed"]

_SECONDS = 10.0
_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # loopback: no proxy


@dataclass(frozen=True, slots=True)
class Credentials:
    """An S3 key pair of the stack."""

    access_key: str
    secret_key: str
    region: str = "us-east-1"

    def __repr__(self) -> str:
        return f"Credentials({self.access_key})"


def get(url: str, headers: dict[str, str] | None = None, body: bytes | None = None) -> bytes:
    """The answer to one request.

    Raises:
        OSError: There is none, or it is an error.
    """
    request = urllib.request.Request(url, data=body, headers=headers or {})
    with _opener.open(request, timeout=_SECONDS) as answer:
        return bytes(answer.read())


def get_signed(
    url: str,
    service: str,
    credentials: Credentials,
    headers: dict[str, str] | None = None,
    body: bytes | None = None,
) -> bytes:
    """The answer to one request signed for AWS (SigV4).

    Raises:
        OSError: There is none, or it is an error.
    """
    from botocore.auth import S3SigV4Auth, SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials as Keys

    request = AWSRequest("POST" if body else "GET", url, data=body, headers=headers or {})
    keys = Keys(credentials.access_key, credentials.secret_key)
    signer = S3SigV4Auth if service == "s3" else SigV4Auth
    signer(keys, service, credentials.region).add_auth(request)
    return get(url, dict(request.headers), body)
