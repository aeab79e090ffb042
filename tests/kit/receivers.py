"""Small real servers that take what alarms send: HTTP and SMTP, on loopback."""

from __future__ import annotations

import json
import socketserver
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_string
from email.message import Message
from email.policy import default
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


@dataclass
class Receiver:
    """What a server got. It refuses everything while `refuses` is set."""

    port: int = 0
    posts: list[Any] = field(default_factory=list)
    letters: list[Message] = field(default_factory=list)
    logins: list[str] = field(default_factory=list)
    refuses: bool = False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook/a-secret"


@contextmanager
def web_receiver(read: Callable[[bytes], Any] = json.loads) -> Iterator[Receiver]:
    """A server that takes JSON, or something else, by POST."""
    got = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if not got.refuses:
                got.posts.append(read(body))
            self.send_response(503 if got.refuses else 204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    with _serving(ThreadingHTTPServer(("127.0.0.1", 0), Handler), got):
        yield got


@contextmanager
def mail_receiver() -> Iterator[Receiver]:
    """A server that takes e-mail, with a login or without."""
    got = Receiver()

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self._say("220 here")
            while line := self.rfile.readline().decode().rstrip("\r\n"):
                word, _, rest = line.partition(" ")
                word = word.upper()
                if word == "DATA":
                    self._say("354 go on")
                    got.letters.append(message_from_string(self._text(), policy=default))
                if word == "AUTH":
                    got.logins.append(rest)
                self._say(self._answer(word))
                if word == "QUIT":
                    return

        def _answer(self, word: str) -> str:
            if got.refuses and word == "MAIL":
                return "451 not now"
            return {"EHLO": "250-here\r\n250 AUTH PLAIN", "AUTH": "235 welcome", "QUIT": "221 bye"}.get(
                word, "250 ok"
            )

        def _text(self) -> str:
            lines = iter(lambda: self.rfile.readline().decode(), ".\r\n")
            return "".join(lines)

        def _say(self, text: str) -> None:
            self.wfile.write(f"{text}\r\n".encode())

    with _serving(socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler), got):
        yield got


@contextmanager
def _serving(server: socketserver.TCPServer, got: Receiver) -> Iterator[None]:
    with server:
        got.port = server.server_address[1]
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        yield
        server.shutdown()
