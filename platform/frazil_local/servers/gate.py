"""A gate before a server: it lets in callers that its rule knows, over TLS if asked to.

`python -m frazil_local.servers.gate HOME` is that of a locked stack's catalog. SeaweedFS knows signatures
only: the gate gives tokens for a client's credentials (OAuth), asks for one with each request, and signs what
goes on.
"""

from __future__ import annotations

import base64
import json
import signal
import ssl
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.message import Message
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import jwt

from frazil_local.home import Credentials, Home, s3_credentials, secret
from frazil_local.locks import USER, locks_of
from frazil_local.ports import LOOPBACK, recall, url
from frazil_local.server import signed_headers

Rule = Callable[[Message], bool]
"""Whether somebody with these headers is let in."""

Signer = Callable[[str, str, bytes, dict[str, str]], dict[str, str]]
"""Method, address, body and headers of what goes on to the server; gives its headers."""

Editor = Callable[[Message, bytes], bytes]
"""Headers of a request and the body of its answer; gives the body that the client gets."""

TOKENS = "/v1/oauth/tokens"
"""Where a gate gives tokens."""

_SECONDS = 120.0
_IDLE = 3600.0  # a client that writes on a connection which ends just then would not know what became of it
_LIFETIME = 3600  # seconds
_JSON = {"Content-Type": "application/json"}

Answer = tuple[int, Mapping[str, str], bytes]
"""Status, headers and body."""

NO: Answer = (401, _JSON, b'{"error_code": 401, "message": "no"}')
"""The answer to a caller who is not let in, unless a rule has its own."""

_OF_A_HOP = {"connection", "keep-alive", "transfer-encoding", "host", "content-length"}
_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"


@dataclass(frozen=True, slots=True)
class Issuer:
    """Gives tokens to one client. A token holds for an hour, and longer than the process that gave it."""

    client: str
    secret: str = field(repr=False)

    def token_for(self, authorization: str, form: Mapping[str, list[str]]) -> str | None:
        """A token, or None for an unknown caller. A token can be exchanged for another one, as Spark does."""
        exchanged = form.get("grant_type") == [_EXCHANGE] and self._holds(form.get("subject_token", [""])[0])
        if not exchanged and client_of(authorization, form) != (self.client, self.secret):
            return None
        return jwt.encode({"sub": self.client, "exp": int(time.time()) + _LIFETIME}, self.secret, "HS256")

    def knows(self, headers: Message) -> bool:
        """Whether the headers bear a token that holds."""
        kind, _, token = headers.get("Authorization", "").partition(" ")
        return kind == "Bearer" and self._holds(token)

    def _holds(self, token: str) -> bool:
        try:
            jwt.decode(token, self.secret, ["HS256"], options={"require": ["exp"]})
        except jwt.InvalidTokenError:
            return False
        return True


def client_of(authorization: str, form: Mapping[str, list[str]]) -> tuple[str, str]:
    """The id and secret of OAuth's client, by the header or by the form, as clients differ."""
    kind, _, encoded = authorization.partition(" ")
    if kind == "Basic":
        user, _, password = base64.b64decode(encoded).decode().partition(":")
        return user, password
    return form.get("client_id", [""])[0], form.get("client_secret", [""])[0]


def signer(credentials: Credentials) -> Signer:
    """Logs a gate in to SeaweedFS' catalog."""

    def signed(method: str, url: str, body: bytes, headers: dict[str, str]) -> dict[str, str]:
        kept = {k: v for k, v in headers.items() if k.lower() in ("content-type", "accept")}
        return signed_headers(method, url, "s3tables", credentials, kept, body)

    return signed


def body_of(request: BaseHTTPRequestHandler) -> bytes:
    """What a request carries, also where it comes in chunks."""
    if "chunked" not in request.headers.get("Transfer-Encoding", ""):
        return request.rfile.read(int(request.headers.get("Content-Length") or 0))
    body = b""
    while size := int(request.rfile.readline().partition(b";")[0], 16):
        body += request.rfile.read(size)
        request.rfile.readline()
    while request.rfile.readline().strip():
        pass
    return body


class Gate(ThreadingHTTPServer):
    """Sends what it lets in on to `target`, and its answer back."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(
        self, port: int, target: str, lets_in: Rule, signed: Signer | None = None,
        issuer: Issuer | None = None, tls: ssl.SSLContext | None = None,
    ) -> None:  # fmt: skip
        super().__init__((LOOPBACK, port), _Visit)
        self.target, self.lets_in, self.issuer = urlsplit(target), lets_in, issuer
        self.refusal: Answer = NO
        self.edited: Editor = lambda _headers, body: body
        self.signed = signed or (lambda _method, _url, _body, headers: headers)
        if tls:  # the handshake is made by the visit's own thread: a slow one keeps nobody else waiting
            self.socket = tls.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)

    def handle_error(self, *_: object) -> None:
        """A visitor who goes away, or takes no certificate of ours, is no error."""


class _Visit(BaseHTTPRequestHandler):
    server: Gate
    protocol_version = "HTTP/1.1"
    timeout = _IDLE
    wbufsize = -1  # an answer in one piece: in two, the second waits 40 ms for the first one's receipt
    disable_nagle_algorithm = True

    def _visit(self) -> None:
        body = body_of(self)
        if self.server.issuer and self.path == TOKENS:
            self._give_token(self.server.issuer, body)
        elif self.server.lets_in(self.headers):
            self._forward(body)
        else:
            self._answer(*self.server.refusal)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _visit

    def _give_token(self, issuer: Issuer, body: bytes) -> None:
        token = issuer.token_for(self.headers.get("Authorization", ""), parse_qs(body.decode()))
        given = {"access_token": token, "token_type": "Bearer", "expires_in": _LIFETIME}
        status, document = (200, given) if token else (401, {"error": "invalid_client"})
        self._answer(status, _JSON, json.dumps(document).encode())

    def _forward(self, body: bytes) -> None:
        target = self.server.target
        connection = HTTPConnection(target.netloc, timeout=_SECONDS)
        try:
            kept = {k: v for k, v in self.headers.items() if k.lower() not in _OF_A_HOP}
            address = f"{target.scheme}://{target.netloc}{self.path}"
            headers = self.server.signed(self.command, address, body, kept)
            connection.request(self.command, self.path, body, headers)
            answer = connection.getresponse()
            edited = self.server.edited(self.headers, answer.read())
            self._answer(answer.status, dict(answer.getheaders()), edited)
        finally:
            connection.close()

    def _answer(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            if name.lower() not in _OF_A_HOP:
                self.send_header(name, value)
        size = headers.get("Content-Length", "0") if self.command == "HEAD" else str(len(body))
        self.send_header("Content-Length", size)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Says nothing: a landing makes dozens of requests."""


def _main() -> None:
    """Serves until it is told to end."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    home = Home(Path(sys.argv[1]))
    ports, locks = recall(home.ports), locks_of(home)
    assert locks
    issuer = Issuer(USER, secret(home, "catalog"))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(locks.certificate, locks.key)
    sign = signer(s3_credentials(home))
    Gate(ports["catalog"], url(ports, "rest"), issuer.knows, sign, issuer, tls).serve_forever()


if __name__ == "__main__":
    _main()
