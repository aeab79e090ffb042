"""Servers that answer what they are told to, whatever they are asked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

__all__ = ["Answer", "Rows", "Server", "serving"]

Answer = tuple[int, dict[str, str], bytes]


class Server(ThreadingHTTPServer):
    """Answers as it is told: by the part of the path, or by the header, that a key names."""

    answers: dict[str, Answer]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def answer(self, asked: str) -> Answer:
        found = (answer for key, answer in self.answers.items() if key in asked)
        return next(found, (404, {}, b'{"error_code": 40401, "message": "none"}'))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        status, headers, body = self.server.answer(f"{self.path} {self.headers.get('X-Amz-Target', '')}")
        self.send_response(status)
        for name, value in {
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
            **headers,
        }.items():
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
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


class Rows:
    """A connection to Snowflake that has answers for every statement."""

    def __init__(self, answers: dict[str, Any]) -> None:
        self.answers, self.found = answers, []
        self.description: list[Any] = []

    def cursor(self) -> Any:
        return self

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def execute(self, sql: str) -> None:
        self.found = next((rows for key, rows in self.answers.items() if key in sql), [])

    def fetchall(self) -> Any:
        return self.found
