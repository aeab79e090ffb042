"""`make bench`: what `frazil drift` takes for 1,000 tables at rest.

Needs no stack. The catalog and Glue are a server of a process of its own, which has its answers at hand: so
CPU is what Frazil takes itself, and the time is what eight connections to a quick catalog take. Prints a
table on stderr and one line of JSON on stdout.
"""

from __future__ import annotations

import json
import multiprocessing
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from typing import Any
from urllib.parse import urlsplit

from figures import Line, show
from pyiceberg.table import Table

from frazil.checks.targets.finding import find_drift
from frazil.clients import Clients
from frazil.publishing.columns import columns_in, digest_of
from frazil.settings.profile import Settings
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.glue_limits import fitting
from frazil.tables.catalogs.pyiceberg import glue_table
from kit.derived.made_tables import fresh_catalog
from kit.tables.commits import lake_on

LANDINGS = 20
TABLES = 1_000
PAGE = 100
NAMESPACE = "rest"


class Handler(BaseHTTPRequestHandler):
    """A REST catalog and Glue, all of whose tables are alike but for their names and locations."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # an answer is one packet
    disable_nagle_algorithm = True  # else its end waits for the 40 ms of a delayed ACK

    def do_GET(self) -> None:
        name = urlsplit(self.path).path.partition("/tables/")[2]
        self._answer(self.server.tables[name] if name else b'{"defaults": {}, "overrides": {}}')  # type: ignore[attr-defined]

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self._answer(self.server.pages[int(asked.get("NextToken", 0))])  # type: ignore[attr-defined]

    def _answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, *_: Any) -> None:
        """Nobody reads it."""


def main() -> None:
    """Measures it."""
    specs = [TableSpec(topic=f"t{n:04}", namespace=NAMESPACE, publish=["glue"]) for n in range(TABLES)]
    with _served(specs) as address:
        clients = _clients(address)
        _nothing_differs(specs[:PAGE], clients)
        cpu, seconds = _taken(lambda: _nothing_differs(specs, clients))
    what = f"frazil drift, {TABLES:,} tables at rest"
    show([Line(f"CPU, {what}", cpu, "s"), Line(what, seconds, "s")])


def _nothing_differs(specs: list[TableSpec], clients: Clients) -> None:
    assert [drift for drift in find_drift(specs, clients) if drift.differs] == []


def _taken(work: Callable[[], object]) -> tuple[float, float]:
    cpu, seconds = time.process_time(), time.perf_counter()
    work()
    return time.process_time() - cpu, time.perf_counter() - seconds


def _clients(address: str) -> Clients:
    aws = {"access_key": "key", "secret_key": "secret"}
    return Clients(Settings.load(rest={"uri": address}, glue={"endpoint": address}, aws=aws))


@contextmanager
def _served(specs: list[TableSpec]) -> Iterator[str]:
    """The address of a server that has all tables."""
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(
        target=_serve, args=(theirs, [s.topic for s in specs])
    )
    server.start()
    try:
        yield f"http://127.0.0.1:{ours.recv()}"
    finally:
        server.terminate()
        server.join(30)


def _serve(parent: Connection, names: list[str]) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    lake = lake_on(fresh_catalog())
    for number in range(LANDINGS):
        lake.append(number)
    table = lake.table
    metadata = table.metadata.model_dump_json(exclude_none=True)
    server.tables = {name: _loaded(name, metadata) for name in names}  # type: ignore[attr-defined]
    entries = [_entry(name, table) for name in names]
    server.pages = [_page(entries, start) for start in range(0, len(names), PAGE)]  # type: ignore[attr-defined]
    parent.send(server.server_port)
    server.serve_forever()


def _at(name: str) -> str:
    return f"s3://lake/rest/{name}/metadata/00022-5c1e.metadata.json"


def _loaded(name: str, metadata: str) -> bytes:
    return f'{{"metadata-location": "{_at(name)}", "metadata": {metadata}, "config": {{}}}}'.encode()


def _entry(name: str, table: Table) -> dict[str, Any]:
    table.metadata_location = _at(name)
    entry = fitting(glue_table(table, name, None, {"frazil.metadata_location": _at(name)}))
    entry["Parameters"]["frazil.columns"] = digest_of(columns_in(entry))
    return {**entry, "DatabaseName": NAMESPACE, "VersionId": "7", "CatalogId": "123456789012"}


def _page(entries: list[dict[str, Any]], start: int) -> bytes:
    following = start // PAGE + 1
    page = {"TableList": entries[start : start + PAGE]}
    more = {"NextToken": str(following)} if start + PAGE < len(entries) else {}
    return json.dumps({**page, **more}).encode()


if __name__ == "__main__":
    main()
