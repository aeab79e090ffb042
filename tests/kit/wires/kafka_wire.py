"""A wire before a broker of Kafka: requests, and answers to them, are lost, cut, late, or never come.

A client goes where the broker tells it to go, whomever it asked first: the broker has to tell the wire's
address (`kit.stack.brokers.far_broker`).
"""

from __future__ import annotations

import struct
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from socket import SHUT_RDWR, create_connection, socket
from socketserver import BaseRequestHandler, ThreadingTCPServer

from frazil_local.ports import LOOPBACK
from kit.stack.brokers import FarBroker
from kit.wires.wire import Asked, Fate, Wire, trickle

__all__ = ["wired_broker"]

STALL = 1.0
"""Seconds for which a late answer stands still in its middle."""

_NAMES = {
    0: "Produce", 1: "Fetch", 2: "ListOffsets", 3: "Metadata", 10: "FindCoordinator", 18: "ApiVersions",
    19: "CreateTopics", 23: "OffsetForLeaderEpoch", 60: "DescribeCluster", 75: "DescribeTopicPartitions",
}  # fmt: skip
"""https://kafka.apache.org/protocol#protocol_api_keys"""


@contextmanager
def wired_broker(wire: Wire, broker: FarBroker) -> Iterator[None]:
    """The wire also lies before a broker."""
    end = _End((LOOPBACK, broker.advertised), _Connection)
    end.wire, end.target, end.open = wire, (LOOPBACK, broker.port), set()
    threading.Thread(target=end.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield
    finally:
        end.shutdown()
        end.server_close()
        for each in list(end.open):
            each.hang_up()


class _End(ThreadingTCPServer):
    """One end of the wire, and its connections."""

    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True
    request_queue_size = 128
    wire: Wire
    target: tuple[str, int]
    open: set[_Connection]

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients and brokers go away as they like."""


class _Connection(BaseRequestHandler):
    """One client's connection. A broker answers its requests in their order."""

    server: _End
    request: socket

    def setup(self) -> None:
        self._broker = create_connection(self.server.target)
        self._fates = deque[Fate | None]()
        self.server.open.add(self)

    def handle(self) -> None:
        """Passes requests on, as the wire says."""
        threading.Thread(target=self._answers, daemon=True).start()
        with suppress(OSError):
            for frame in _frames(self.request):
                fate = self.server.wire.fate_of(_asked(frame))
                if fate == "unsent":
                    return
                if fate == "halved":
                    self._broker.sendall(frame[: len(frame) // 2])
                    return
                self._fates.append(fate)
                self._broker.sendall(frame)

    def finish(self) -> None:
        self.hang_up()
        self.server.open.discard(self)

    def hang_up(self) -> None:
        """Ends it at both sides."""
        for each in (self.request, self._broker):
            with suppress(OSError):
                each.shutdown(SHUT_RDWR)
            each.close()

    def _answers(self) -> None:
        with suppress(OSError):
            for frame in _frames(self._broker):
                fate = self._fates.popleft()
                if fate == "hangs":
                    return  # whatever is asked from now on is swallowed, until the client hangs up
                if fate == "dropped":
                    break
                self._tell(frame, fate)
                if fate == "cut":
                    break
        self.hang_up()

    def _tell(self, frame: bytes, fate: Fate | None) -> None:
        if fate == "trickles":
            trickle(self.request.sendall, frame)
            return
        half = len(frame) // 2 if fate in ("cut", "late") else len(frame)
        self.request.sendall(frame[:half])
        if fate == "late":
            time.sleep(STALL)
            self.request.sendall(frame[half:])


def _frames(end: socket) -> Iterator[bytes]:
    """What one side says, a request or an answer at a time, each with its length before it."""
    with end.makefile("rb") as file:
        while len(head := file.read(4)) == 4:
            (length,) = struct.unpack(">i", head)
            yield head + file.read(length)


def _asked(frame: bytes) -> Asked:
    key, version, _, length = struct.unpack_from(">hhih", frame, 4)
    client = frame[14 : 14 + max(0, length)].decode()
    return Asked("kafka", "", f"version {version}", _NAMES.get(key, f"request {key}"), client, b"")
