"""A wire that loses answers: a proxy before Glue, an Iceberg REST catalog, S3, a registry or Snowflake.

Requests go through as they are, so that signatures hold: SigV4 signs the address that the client asked, and
the server is shown the same one.
"""

from __future__ import annotations

import select
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPResponse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal
from urllib.parse import urlsplit

from frazil_local.servers.gate import body_of

__all__ = ["Asked", "Fate", "Plan", "Wire", "commits", "creates", "puts", "trickle", "wired"]

Fate = Literal[
    "dropped", "cut", "failed", "replayed", "late", "trickles", "hangs", "unsent", "halved", "refused",
    "throttled", "forbidden",
]  # fmt: skip
"""What becomes of a request.

Done by the server: dropped (the connection is lost before the answer), cut (it is lost in the middle of the
answer's body), failed (the answer is a 500), replayed (it is sent twice, and the second answer is told), late
(the answer takes a while), trickles (it comes in small parts), hangs (there is none until the client gives
up). Not done: unsent (the connection is lost before the server hears of it), halved (it is lost in the middle
of the request), refused (a 503; of a registry a 500), throttled and forbidden (as each server says it).
"""

_REFUSALS = {
    ("refused", ""): (503, "ServiceUnavailable"), ("refused", "registry"): (500, "ServiceUnavailable"),
    ("throttled", ""): (429, "TooManyRequests"), ("throttled", "glue"): (400, "ThrottlingException"),
    ("throttled", "s3"): (503, "SlowDown"),
    ("forbidden", ""): (403, "AccessDenied"), ("forbidden", "glue"): (400, "AccessDeniedException"),
}  # fmt: skip
"""Status and code of an answer, by fate and server; of other servers by none."""

LATE = 0.3
"""Seconds that a late answer takes."""

_HOPS = frozenset({"connection", "keep-alive", "transfer-encoding", "content-length"})


@dataclass(frozen=True, slots=True)
class Asked:
    """A request on its way.

    Args:
        server: The name that the wire knows the server by: glue, rest, s3, registry,
            snowflake or kafka.
        method: Of HTTP.
        path: With the query.
        operation: Of Glue and Kafka, such as UpdateTable or Fetch; empty elsewhere.
        agent: The client, as it names itself.
        body: As sent.
    """

    server: str
    method: str
    path: str
    operation: str
    agent: str
    body: bytes

    def __str__(self) -> str:
        return f"{self.server} {self.operation or f'{self.method} {self.path}'}"


Plan = Callable[[Asked], "Fate | None"]
"""What becomes of a request; None: it is answered as it should be."""


def commits(asked: Asked) -> bool:
    """Whether it commits to a table that is there."""
    if asked.server == "glue":
        return asked.operation == "UpdateTable"
    named = asked.path.partition("?")[0].rpartition("/tables/")[2]
    return asked.server == "rest" and asked.method == "POST" and bool(named) and "/" not in named


def creates(asked: Asked) -> bool:
    """Whether it makes a table, and does not only ask where one would be."""
    if asked.server == "glue":
        return asked.operation == "CreateTable"
    is_asked = b'"stage-create":true' in asked.body
    made = asked.path.partition("?")[0].endswith("/tables") and not is_asked
    return asked.server == "rest" and asked.method == "POST" and made


def puts(asked: Asked) -> bool:
    """Whether it writes a file."""
    return asked.server == "s3" and asked.method in ("PUT", "POST")


@dataclass
class Wire:
    """What lies between clients and servers, for as long as the context lasts.

    Args:
        plan: Asked for each request, one after the other.
        met: How often a server's requests met each fate.
        asked: All requests but those to S3 and Kafka.
        addresses: What REST catalogs tell of where S3 is, and what stands for it: clients would go there.
    """

    plan: Plan = lambda _: None
    met: Counter[tuple[str, Fate]] = field(default_factory=Counter)
    asked: list[Asked] = field(default_factory=list)
    addresses: dict[bytes, bytes] = field(default_factory=dict)
    closing: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def fate_of(self, asked: Asked) -> Fate | None:
        """What becomes of this one."""
        with self._lock:
            if asked.server not in ("s3", "kafka"):
                self.asked.append(asked)
            fate = self.plan(asked)
            if fate:
                self.met[asked.server, fate] += 1
            return fate

    def once(self, fate: Fate, which: Callable[[Asked], bool] = commits) -> None:
        """The next request of a kind has this fate, and none after it."""
        waiting = [fate]
        self.plan = lambda asked: waiting.pop() if waiting and which(asked) else None

    def always(self, fate: Fate, which: Callable[[Asked], bool] = commits) -> None:
        """Every request of a kind has this fate from now on."""
        self.plan = lambda asked: fate if which(asked) else None

    def calm(self) -> None:
        """All is answered as it should be."""
        self.plan = lambda _: None


def trickle(write: Callable[[bytes], object], data: bytes) -> None:
    """Tells an answer in ten small parts, with a pause after each."""
    size = max(1, len(data) // 10)
    for at in range(0, len(data), size):
        write(data[at : at + size])
        time.sleep(0.02)


@contextmanager
def wired(servers: dict[str, str], plan: Plan = lambda _: None) -> Iterator[tuple[Wire, dict[str, str]]]:
    """A wire before some servers, and the addresses that stand for theirs.

    Args:
        servers: Their addresses by name; see `Asked`.
        plan: See `Wire`; it may be changed at any time.
    """
    wire = Wire(plan)
    ends = {name: _end(name, url, wire) for name, url in servers.items()}
    urls = {name: f"http://127.0.0.1:{end.server_port}" for name, end in ends.items()}
    wire.addresses = {servers[name].encode(): urls[name].encode() for name in servers if name == "s3"}
    for end in ends.values():
        threading.Thread(target=end.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield wire, urls
    finally:
        wire.closing.set()
        for end in ends.values():
            end.shutdown()
            end.server_close()


class _End(ThreadingHTTPServer):
    """One end of the wire: listens for clients, and knows the server behind it."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128
    wire: Wire
    name: str
    target: tuple[str, int]

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients go away as they like."""


def _end(name: str, url: str, wire: Wire) -> _End:
    end = _End(("127.0.0.1", 0), _Handler)
    parts = urlsplit(url)
    end.wire, end.name, end.target = wire, name, (parts.hostname or "", parts.port or 80)
    return end


class _Handler(BaseHTTPRequestHandler):
    """One client's connection."""

    protocol_version = "HTTP/1.1"
    server: _End
    disable_nagle_algorithm = True

    def handle_one_request(self) -> None:
        """Reads a request, and does with it what the wire says."""
        self.raw_requestline = self.rfile.readline(65537)
        if not self.raw_requestline or not self.parse_request():
            self.close_connection = True
            return
        body = body_of(self)
        operation = self.headers.get("X-Amz-Target", "").rpartition(".")[2]
        agent = self.headers.get("User-Agent", "")
        asked = Asked(self.server.name, self.command, self.path, operation, agent, body)
        self._meet(self.server.wire.fate_of(asked), body)

    def _meet(self, fate: Fate | None, body: bytes) -> None:
        refusal = _REFUSALS.get((fate or "", self.server.name)) or _REFUSALS.get((fate or "", ""))
        if refusal or fate == "unsent":
            self._refuse(*refusal) if refusal else self._hang_up()
            return
        if fate == "halved":
            with socket.create_connection(self.server.target, 60) as upstream:
                upstream.sendall(self._request(body)[: -max(1, len(body) // 2)])
            self._hang_up()
            return
        answer = self._forwarded(body)
        if fate == "replayed":
            answer = self._forwarded(body)
        if fate == "hangs":
            self._wait_for_the_client()
        if fate in ("dropped", "hangs"):
            self._hang_up()
        elif fate == "failed":
            self._refuse(500, "InternalError")
        else:
            if fate == "late":
                time.sleep(LATE)
            self._tell(*answer, fate)

    def _request(self, body: bytes) -> bytes:
        """As it came."""
        chunked = "chunked" in self.headers.get("Transfer-Encoding", "")
        head = "".join(f"{name}: {value}\r\n" for name, value in self.headers.items())
        sent = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body) if chunked and body else body
        if chunked and not body:
            sent = b"0\r\n\r\n"
        return self.raw_requestline + head.encode("latin-1") + b"\r\n" + sent

    def _forwarded(self, body: bytes) -> tuple[int, str, list[tuple[str, str]], bytes]:
        """The server's answer: status, reason, headers, body."""
        with socket.create_connection(self.server.target, 60) as upstream:
            upstream.sendall(self._request(body))
            with HTTPResponse(upstream, method=self.command) as answer:
                answer.begin()
                content = answer.read()
                for own, other in self.server.wire.addresses.items() if self.server.name == "rest" else ():
                    content = content.replace(own, other)
                return answer.status, answer.reason, answer.getheaders(), content

    def _tell(
        self, status: int, reason: str, headers: list[tuple[str, str]], body: bytes, fate: Fate | None = None
    ) -> None:
        bodiless = self.command == "HEAD" or status in (204, 304)
        self.send_response_only(status, reason)
        for name, value in headers:
            if name.lower() not in _HOPS or (name.lower() == "content-length" and self.command == "HEAD"):
                self.send_header(name, value)
        if not bodiless:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        body_sent = b"" if bodiless else body[: len(body) // 2] if fate == "cut" else body
        trickle(self.wfile.write, body_sent) if fate == "trickles" else self.wfile.write(body_sent)
        if fate == "cut":
            self._hang_up()

    def _refuse(self, status: int, code: str) -> None:
        """As each kind of server says it."""
        document = {
            "rest": f'{{"error": {{"message": "{code}", "type": "{code}", "code": {status}}}}}',
            "glue": f'{{"__type": "{code}", "message": "{code}"}}',
            "registry": f'{{"error_code": 50001, "message": "{code}"}}',
            "snowflake": f'{{"success": false, "message": "{code}"}}',
            "s3": f"<Error><Code>{code}</Code><Message>{code}</Message></Error>",
        }[self.server.name]
        kind = "application/xml" if self.server.name == "s3" else "application/json"
        self._tell(status, code, [("Content-Type", kind)], document.encode())

    def _hang_up(self) -> None:
        self.close_connection = True
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def _wait_for_the_client(self) -> None:
        """Until it gives up, or the wire is taken down."""
        while not self.server.wire.closing.is_set():
            readable, _, _ = select.select([self.connection], [], [], 0.1)
            if readable and not self.connection.recv(1, socket.MSG_PEEK):
                return

    def log_message(self, *args: object) -> None:
        """Says nothing."""
