"""Many topics and tables in this process: what Kafka and a REST catalog tell of them, and are asked."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit

from confluent_kafka import KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import OffsetSpec
from pyiceberg.table import Table

from frazil.clients import Clients
from frazil.settings.profile import Settings

__all__ = ["RestTables", "Topics", "clients_of", "rest_tables"]


@dataclass
class Topics:
    """Kafka's admin client, for topics of one partition.

    Args:
        ends: The last stable offset of each topic.
        asked: How often each call was made.
    """

    ends: dict[str, int]
    asked: Counter[str] = field(default_factory=Counter)

    def describe_topics(self, topics: TopicCollection, **_: object) -> dict[str, Future[Any]]:
        """See `AdminClient`."""
        self.asked["describe_topics"] += 1
        return {name: self._description(name) for name in topics.topic_names}

    def list_offsets(self, places: dict[TopicPartition, OffsetSpec], **_: object) -> dict[Any, Future[Any]]:
        """See `AdminClient`."""
        self.asked["list_offsets"] += 1
        first = OffsetSpec.earliest()  # type: ignore[no-untyped-call]
        return {
            place: _done(
                SimpleNamespace(offset=0 if spec is first else self.ends[place.topic], leader_epoch=0)
            )
            for place, spec in places.items()
        }

    def _description(self, name: str) -> Future[Any]:
        if name in self.ends:
            return _done(SimpleNamespace(partitions=[SimpleNamespace(id=0)], topic_id="id"))
        missing: Future[Any] = Future()
        missing.set_exception(KafkaException(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)))
        return missing


def _done(result: object) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_result(result)
    return future


@dataclass
class RestTables:
    """The tables of a REST catalog, as JSON, and the requests for them: names and which snapshots.

    Where `status` is set, that is its answer to all of them.
    """

    tables: dict[str, tuple[str, dict[str, Any]]] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)
    url: str = ""
    status: int = 0

    def show(self, table: Table, names: Iterable[str] = ()) -> None:
        """Has a table as it is now, also under other names."""
        document = json.loads(table.metadata.model_dump_json(exclude_none=True))
        for name in names or (table.name()[-1],):
            self.tables[name] = (f"{table.metadata_location}?of={name}", document)

    def answer(self, url: str) -> tuple[int, dict[str, Any]]:
        """Status and body."""
        parts = urlsplit(url)
        if parts.path.endswith("/config"):
            return 200, {"defaults": {}, "overrides": {}}
        name = parts.path.rpartition("/")[2]
        snapshots = parse_qs(parts.query).get("snapshots", ["all"])[0]
        self.asked.append((name, snapshots))
        if self.status:
            return self.status, {
                "error": {"message": "no", "type": "ServiceUnavailable", "code": self.status}
            }
        if name not in self.tables:
            return 404, {"error": {"message": "none", "type": "NoSuchTableException", "code": 404}}
        location, document = self.tables[name]
        if snapshots == "refs":
            named = {ref["snapshot-id"] for ref in document["refs"].values()}
            document = {
                **document,
                "snapshots": [s for s in document["snapshots"] if s["snapshot-id"] in named],
            }
        return 200, {"metadata-location": location, "metadata": document, "config": {}}


@contextmanager
def rest_tables() -> Iterator[RestTables]:
    """A REST catalog that has no table yet."""
    tables = RestTables()

    class Answers(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            status, answer = tables.answer(self.path)
            body = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    tables.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield tables
    finally:
        server.shutdown()
        server.server_close()


def clients_of(settings: Settings, topics: Topics, **further: Any) -> Clients:
    """Clients of an environment whose Kafka has these topics."""
    clients = Clients(settings)
    clients.__dict__.update(admin=topics, **further)
    return clients
