"""One part of the stack: how its server is started, and small requests that show whether it works."""

from __future__ import annotations

import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from frazil.local.home import Credentials

_SECONDS = 10.0
_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # loopback: no proxy


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


def get(url: str, headers: Mapping[str, str] | None = None, body: bytes | None = None) -> bytes:
    """The answer to one request; an OSError where there is none, or it is an error."""
    request = urllib.request.Request(url, data=body, headers=dict(headers or {}))
    with _opener.open(request, timeout=_SECONDS) as answer:
        return bytes(answer.read())


def get_signed(
    url: str,
    service: str,
    credentials: Credentials,
    headers: Mapping[str, str] | None = None,
    body: bytes | None = None,
) -> bytes:
    """As `get`, with the request signed for AWS (SigV4)."""
    from botocore.auth import S3SigV4Auth, SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials as Keys

    request = AWSRequest("POST" if body else "GET", url, data=body, headers=headers or {})
    keys = Keys(credentials.access_key, credentials.secret_key)
    signer = S3SigV4Auth if service == "s3" else SigV4Auth
    signer(keys, service, credentials.region).add_auth(request)
    return get(url, dict(request.headers), body)
