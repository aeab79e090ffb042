"""One part of the stack: how its server is started, and small requests that show whether it works."""

from __future__ import annotations

import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from frazil.local.home import Credentials

__all__ = ["Launch", "Server", "get", "get_signed"]

_SECONDS = 10.0
_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # loopback: no proxy


@dataclass(frozen=True, slots=True)
class Launch:
    """How to start a server's process: its command, without secrets, for everybody can read it.

    The environment comes on top of our own.
    """

    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Server:
    """One part of the stack.

    Args:
        name: For people, files and `--only`.
        ports: Names of the ports that it listens on.
        launch: Gets ready whatever the server needs (jars, files) and says how to start it.
        ask: Sends the server a real request; raises if the answer is not a good one.
        after: Parts that start before it and stop after it.
        patience: Seconds that its process may do nothing while there is no good answer.
        background: Once it is up, all others have the CPU first.
    """

    name: str
    ports: tuple[str, ...]
    launch: Callable[[], Launch]
    ask: Callable[[], None]
    after: tuple[str, ...] = ()
    patience: float = 300.0
    background: bool = False


def get(url: str, headers: Mapping[str, str] | None = None, body: bytes | None = None) -> bytes:
    """The answer to one request.

    Raises:
        OSError: There is none, or it is an error.
    """
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
