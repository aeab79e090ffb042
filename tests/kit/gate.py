"""A gate before a server of the stack: it lets in whoever its rule knows, by TLS if it shall."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import urlsplit

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from frazil.settings.profile import Settings
from kit.certificates import Authority
from kit.waiting import PATIENCE
from kit.wire import body_of

Rule = Callable[[Mapping[str, str]], bool]
"""Whether somebody with these headers is let in."""

_OF_A_HOP = {"connection", "keep-alive", "transfer-encoding", "host"}


Signer = Callable[[str, str, bytes, dict[str, str]], dict[str, str]]
"""Method, address, body and headers of what goes on to the server; gives its headers."""


Editor = Callable[[Mapping[str, str], bytes], bytes]
"""Headers of a request and the body of its answer; gives the body that the client gets."""

Answer = tuple[int, Mapping[str, str], bytes]
"""Status, headers and body."""


def signer(settings: Settings) -> Signer:
    """Logs the gate in to the stack's catalog, which knows signatures only."""
    assert settings.aws.access_key
    assert settings.aws.secret_key
    keys = Credentials(settings.aws.access_key.get_secret_value(), settings.aws.secret_key.get_secret_value())

    def signed(method: str, url: str, body: bytes, headers: dict[str, str]) -> dict[str, str]:
        kept = {k: v for k, v in headers.items() if k.lower() in ("content-type", "accept")}
        request = AWSRequest(method, url, data=body, headers=kept)
        SigV4Auth(keys, "s3tables", settings.aws.region).add_auth(request)
        return dict(request.headers.items())

    return signed


@contextmanager
def gate(
    target: str, lets_in: Rule, authority: Authority | None = None, *, mutual: bool = False,
    signed: Signer = lambda _method, _url, _body, headers: headers,
    edited: Editor = lambda _headers, body: body,
    refusal: Answer = (401, {"Content-Type": "application/json"}, b'{"error_code": 401, "message": "no"}'),
) -> Iterator[str]:  # fmt: skip
    """The address of `target` behind the gate; by TLS where there is an authority.

    `mutual`: it asks for a certificate, too. `signed`: how the gate itself logs in to what is behind.
    `edited`: what becomes of an answer. `refusal`: what it says to all others.
    """
    behind = urlsplit(target)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _forward(self) -> None:
            body = body_of(self)
            if not lets_in(self.headers):
                self._answer(*refusal)
                return
            connection = HTTPConnection(behind.netloc, timeout=PATIENCE)
            try:
                kept = {k: v for k, v in self.headers.items() if k.lower() not in _OF_A_HOP}
                address = f"{behind.scheme}://{behind.netloc}{self.path}"
                connection.request(self.command, self.path, body, signed(self.command, address, body, kept))
                answer = connection.getresponse()
                self._answer(answer.status, dict(answer.getheaders()), edited(self.headers, answer.read()))
            finally:
                connection.close()

        do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _forward

        def _answer(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
            self.send_response(status)
            for name, value in headers.items():
                if name.lower() not in _OF_A_HOP | {"content-length"}:
                    self.send_header(name, value)
            size = headers.get("Content-Length", "0") if self.command == "HEAD" else str(len(body))
            self.send_header("Content-Length", size)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    with _Server(("127.0.0.1", 0), Handler) as server:
        if authority:
            server.socket = _tls(authority, mutual).wrap_socket(
                server.socket, server_side=True, do_handshake_on_connect=False
            )
        Thread(target=server.serve_forever, daemon=True).start()
        host = f"127.0.0.1:{server.server_address[1]}"
        yield behind._replace(scheme="https" if authority else "http", netloc=host).geturl()
        server.shutdown()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """A handshake that fails is what some tests are about."""


def _tls(authority: Authority, mutual: bool) -> ssl.SSLContext:
    own = authority.identity("gate")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(own.certificate, own.key)
    if mutual:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(authority.file)
    return context
