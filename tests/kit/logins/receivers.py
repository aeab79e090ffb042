"""Small real servers that take what alarms send: HTTP and SMTP, on loopback."""

from __future__ import annotations

import json
import socketserver
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_string
from email.message import Message
from email.policy import default
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from frazil_local.authority import Identity


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
def mail_receiver(own: Identity | None = None, *, encrypted: bool = False) -> Iterator[Receiver]:
    """A server that takes e-mail, with a login or without; with a certificate by STARTTLS, or `encrypted`."""
    server = _MailServer(own, encrypted)
    with _serving(server, server.got):
        yield server.got


class _MailHandler(socketserver.StreamRequestHandler):
    server: _MailServer

    def handle(self) -> None:
        if self.server.encrypted:
            self._encrypt()
        self._say("220 here")
        while line := self.rfile.readline().decode().rstrip("\r\n"):
            word, _, rest = line.partition(" ")
            self._take(word.upper(), rest)

    def _take(self, word: str, rest: str) -> None:
        if word == "DATA":
            self._say("354 go on")
            lines = iter(lambda: self.rfile.readline().decode(), ".\r\n")
            self.server.got.letters.append(message_from_string("".join(lines), policy=default))
        if word == "AUTH":
            self.server.got.logins.append(rest)
        self._say(self._answer(word))
        if word == "STARTTLS":
            self._encrypt()

    def _answer(self, word: str) -> str:
        if self.server.got.refuses and word == "MAIL":
            return "451 not now"
        able = "250-STARTTLS\r\n250 AUTH PLAIN" if self.server.own else "250 AUTH PLAIN"
        answers = {"AUTH": "235 welcome", "STARTTLS": "220 go on", "QUIT": "221 bye"}
        return f"250-here\r\n{able}" if word == "EHLO" else answers.get(word, "250 ok")

    def _encrypt(self) -> None:
        assert self.server.own
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.server.own.certificate, self.server.own.key)
        self.request = context.wrap_socket(self.request, server_side=True)
        self.setup()

    def _say(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())


class _MailServer(socketserver.ThreadingTCPServer):
    daemon_threads = True

    def __init__(self, own: Identity | None, encrypted: bool) -> None:
        super().__init__(("127.0.0.1", 0), _MailHandler)
        self.own, self.encrypted, self.got = own, encrypted, Receiver()

    def handle_error(self, *_: object) -> None:
        """A handshake that fails is what some tests are about."""


@contextmanager
def _serving(server: socketserver.TCPServer, got: Receiver) -> Iterator[None]:
    with server:
        got.port = server.server_address[1]
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        yield
        server.shutdown()
