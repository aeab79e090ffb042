"""Servers that answer what they are told to, whatever they are asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from threading import Thread
from typing import Any

import pytest
from confluent_kafka.schema_registry.common._httpx_compat import httpx
from urllib3 import HTTPResponse
from urllib3.connectionpool import HTTPConnectionPool

__all__ = ["Answer", "Answering", "Rows", "Server", "at_hand", "serving"]

Answer = tuple[int, dict[str, str], bytes]

_PORT = 2
"""Of the server that is none; nobody listens there."""


class Answering:
    """Answers as it is told: by the part of the path, or by the header, that a key names."""

    answers: dict[str, Answer]
    url = f"http://127.0.0.1:{_PORT}"

    def answer(self, path: str, headers: Mapping[str, Any]) -> Answer:
        """The status, the headers and the body of an answer."""
        asked = f"{path} {headers.get('X-Amz-Target', '')}"
        missing: Answer = (404, {}, b'{"error_code": 40401, "message": "none"}')
        status, headers_of_it, body = next((a for key, a in self.answers.items() if key in asked), missing)
        return (
            status,
            {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers_of_it},
            body,
        )


class Server(ThreadingHTTPServer, Answering):
    """One that listens."""

    @property
    def url(self) -> str:  # type: ignore[override]
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients go away as they like."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        status, headers, body = self.server.answer(self.path, self.headers)
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_PUT = do_HEAD = do_GET

    def log_message(self, *_: Any) -> None:
        """Nobody reads it."""


@contextmanager
def serving() -> Iterator[Server]:
    server = Server(("127.0.0.1", 0), _Handler)
    server.answers = {}
    thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def at_hand() -> Iterator[Answering]:
    """A server that is none: what requests, boto3 and httpx would send to it is answered in this process.

    All that these do with an answer is done; only a socket, and a thread that wakes up, are spared.
    """
    given = Answering()
    connect, send = HTTPConnectionPool.urlopen, httpx.HTTPTransport.handle_request

    def by_urllib3(pool: Any, **request: Any) -> Any:
        if pool.port != _PORT:
            return connect(pool, **request)
        status, headers, content = given.answer(request["url"], request["headers"])
        content = b"" if status in (204, 304) else content
        return HTTPResponse(BytesIO(content), headers, status, preload_content=False, decode_content=False)

    def by_httpx(transport: Any, request: httpx.Request) -> httpx.Response:
        if request.url.port != _PORT:
            return send(transport, request)
        status, headers, content = given.answer(str(request.url), request.headers)
        return httpx.Response(status, headers=headers, content=content)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(HTTPConnectionPool, "urlopen", by_urllib3)
        patch.setattr(httpx.HTTPTransport, "handle_request", by_httpx)
        yield given


class Rows:
    """A connection to Snowflake that has answers for every statement."""

    def __init__(self, answers: dict[str, Any]) -> None:
        self.answers, self.rows = answers, []
        self.description: list[Any] = []

    def cursor(self) -> Any:
        return self

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def execute(self, sql: str) -> None:
        self.rows = next((rows for key, rows in self.answers.items() if key in sql), [])

    def fetchall(self) -> Any:
        return self.rows
