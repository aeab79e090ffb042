"""One part of the stack: how its server is started, and small requests that show whether it works."""

from __future__ import annotations

import ssl
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from frazil_local.home import Credentials

_SECONDS = 10.0
_NO_PROXY = urllib.request.ProxyHandler({})  # loopback


@dataclass(frozen=True, slots=True)
class Launch:
    """How to start a server's process."""

    command: Sequence[str]  # without secrets: everybody can read it
    environment: Mapping[str, str] = field(default_factory=dict)  # on top of our own


@dataclass(frozen=True, slots=True)
class Server:
    """One part of the stack."""

    name: str  # for people, files and `--only`
    ports: tuple[str, ...]  # names of those that it listens on
    launch: Callable[[], Launch]  # gets ready whatever it needs (jars, files), says how to start it
    ask: Callable[[], None]  # sends it a real request, raises if the answer is not a good one
    after: tuple[str, ...] = ()  # parts that start before it and stop after it
    patience: float = 300.0  # seconds that its process may do nothing while there is no good answer
    background: bool = False  # once it is up, all others have the CPU first


def get(
    url: str, headers: Mapping[str, str] | None = None, body: bytes | None = None, ca: Path | None = None
) -> bytes:
    """The answer to one request; an OSError where there is none, or it is an error."""
    tls = [urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=ca))] if ca else []
    request = urllib.request.Request(url, data=body, headers=dict(headers or {}))  # noqa: S310  # of the stack
    with urllib.request.build_opener(_NO_PROXY, *tls).open(request, timeout=_SECONDS) as answer:
        return bytes(answer.read())


def get_signed(
    url: str,
    service: str,
    credentials: Credentials,
    headers: Mapping[str, str] | None = None,
    body: bytes | None = None,
    ca: Path | None = None,
) -> bytes:
    """As `get`, with the request signed for AWS (SigV4)."""
    method = "POST" if body else "GET"
    return get(url, signed_headers(method, url, service, credentials, headers, body), body, ca)


def signed_headers(
    method: str,
    url: str,
    service: str,
    credentials: Credentials,
    headers: Mapping[str, str] | None = None,
    body: bytes | None = None,
) -> dict[str, str]:
    """The headers of a request with AWS' signature."""
    from botocore.auth import S3SigV4Auth, SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials as Keys

    request = AWSRequest(method, url, data=body, headers=headers or {})
    keys = Keys(credentials.access_key, credentials.secret_key)
    signer = S3SigV4Auth if service == "s3" else SigV4Auth
    signer(keys, service, credentials.region).add_auth(request)
    return dict(request.headers)
