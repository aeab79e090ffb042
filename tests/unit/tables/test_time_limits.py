"""Every call to a catalog or to storage has a time limit."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from pyiceberg.schema import Schema
from urllib3 import HTTPConnectionPool, Timeout

from frazil.settings.profile import Settings
from frazil.tables.catalogs.catalog import open_catalog
from frazil.tables.catalogs.client_properties import pyiceberg_properties, spark_properties

DEAD = {"endpoint": "http://127.0.0.1:1"}
TOLD = {"s3": DEAD, "glue": DEAD, "aws": {"access_key": "key", "secret_key": "secret"}}
LONGEST = 300.0
"""Seconds that nobody should wait for one answer."""


class _Idle(BaseHTTPRequestHandler):
    """A catalog that knows of nothing."""

    def do_GET(self) -> None:
        body = b'{"defaults": {}, "overrides": {}}' if "config" in self.path else b"{}"
        self.send_response(200 if "config" in self.path else 500)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_HEAD = do_GET

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.do_GET()

    def log_message(self, *args: object) -> None:
        """Says nothing."""


@pytest.fixture
def idle() -> Iterator[str]:
    """Its address."""
    server = HTTPServer(("127.0.0.1", 0), _Idle)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The time limit of each request that goes out by urllib3."""
    timeouts, real = [], HTTPConnectionPool.urlopen

    def urlopen(pool: HTTPConnectionPool, *args: Any, **kwargs: Any) -> Any:
        timeouts.append(kwargs.get("timeout"))
        return real(pool, *args, **kwargs)

    monkeypatch.setattr(HTTPConnectionPool, "urlopen", urlopen)
    return timeouts


@pytest.mark.parametrize("signing", ["s3tables", None])
def test_every_request_to_a_rest_catalog_has_a_time_limit(
    idle: str, limits: list[Any], signing: str | None
) -> None:
    catalog = open_catalog(Settings.load(catalog="rest", rest={"uri": idle, "signing_name": signing}, **TOLD))
    for ask in (
        lambda: catalog.list_namespaces(),
        lambda: catalog.load_table("n.t"),
        lambda: catalog.create_table("n.t", Schema()),
    ):
        with suppress(Exception):
            ask()

    assert len(limits) >= 4
    assert [limit for limit in limits if not _is_limit(limit)] == []


def _is_limit(limit: Any) -> bool:
    parts = (limit.connect_timeout, limit.read_timeout) if isinstance(limit, Timeout) else (limit,)
    return all(isinstance(part, int | float) and 0 < part <= LONGEST for part in parts)


def test_requests_to_glue_have_a_time_limit_and_are_sent_once() -> None:
    catalog = open_catalog(Settings.load(catalog="glue", **TOLD))

    config = catalog.glue.meta.config  # type: ignore[attr-defined]
    assert 0 < config.connect_timeout <= LONGEST
    assert 0 < config.read_timeout <= LONGEST
    assert config.retries["total_max_attempts"] == 1


@pytest.mark.parametrize("owner", ["rest", "glue"])
def test_storage_has_time_limits_in_both_clients(owner: str) -> None:
    settings = Settings.load(catalog=owner, **TOLD)
    python, spark = pyiceberg_properties(settings), spark_properties(settings)

    assert 0 < float(python["s3.connect-timeout"]) <= LONGEST
    assert 0 < float(python["s3.request-timeout"]) <= LONGEST
    if owner == "rest":
        for part in ("connection", "socket"):
            assert 0 < int(spark[f"rest.client.{part}-timeout-ms"]) <= LONGEST * 1000
