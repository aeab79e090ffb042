"""A registry that is slow, answers 500 now and then, or is gone: a proxy in front of the real one."""

from __future__ import annotations

import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal

__all__ = ["Answer", "Trouble", "troubled"]

Answer = Literal["right", "late", "500"]

Trouble = Callable[[int], Answer]
"""How the request of that number, from 1, is answered."""

LATE = 0.3
"""Seconds that a late answer takes."""


@dataclass(slots=True)
class Proxy:
    """Stands in front of a server and answers as the trouble says.

    Args:
        target: Scheme, host and port of the server.
        trouble: What happens to which request.
    """

    target: str
    trouble: Trouble
    asked: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, path: str, headers: dict[str, str], body: bytes | None) -> tuple[int, bytes]:
        """The server's status and body, or trouble."""
        with self.lock:
            self.asked += 1
            answer = self.trouble(self.asked)
        if answer == "500":
            return 500, b'{"error_code": 50001, "message": "Error in the backend datastore"}'
        if answer == "late":
            time.sleep(LATE)
        return _forward(f"{self.target}{path}", headers, body)


@contextmanager
def troubled(url: str, trouble: Trouble) -> Iterator[tuple[Proxy, str]]:
    """A proxy before a registry, and the address that stands for the registry's."""
    scheme, _, rest = url.partition("://")
    host, _, path = rest.partition("/")
    proxy = Proxy(f"{scheme}://{host}", trouble)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(proxy))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield proxy, f"http://127.0.0.1:{server.server_port}/{path}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _forward(url: str, headers: dict[str, str], body: bytes | None) -> tuple[int, bytes]:
    request = urllib.request.Request(url, body, headers, method="POST" if body else "GET")
    try:
        with urllib.request.urlopen(request, timeout=10) as found:
            return found.status, found.read()
    except urllib.error.HTTPError as e:
        with e:
            return e.code, e.read()


def _handler(proxy: Proxy) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._reply(None)

        def do_POST(self) -> None:
            self._reply(self.rfile.read(int(self.headers["Content-Length"])))

        def _reply(self, body: bytes | None) -> None:
            kept = {n: v for n, v in self.headers.items() if n in ("Accept", "Content-Type")}
            status, found = proxy.answer(self.path, kept, body)
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(found)))
            self.end_headers()
            self.wfile.write(found)

        def log_message(self, *args: object) -> None:
            """Says nothing."""

    return Handler
