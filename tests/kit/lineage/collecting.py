"""A collector of OpenLineage events: it takes what the published JSON Schemas take, and refuses the rest."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

SCHEMAS = Path(__file__).parent / "schemas"
_RUN_EVENT = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"


class Collecting(ThreadingHTTPServer):
    """`events`: those that were taken; `refused`: why others were not."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.events: list[dict[str, Any]] = []
        self.refused: list[str] = []
        self.logins: list[str] = []
        self.asked = 0
        self.is_down = False
        self.answers = Event()  # while it is not set, nobody gets an answer
        self.answers.set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def take(self, event: dict[str, Any]) -> bool:
        """Whether an event is valid; then it is kept."""
        mistakes = list(mistakes_of(event))
        self.refused += mistakes
        if not mistakes:
            self.events.append(event)
        return not mistakes

    def ended(self, kind: str = "") -> list[dict[str, Any]]:
        """The events that tell what some jobs did, in their order."""
        done = [event for event in self.events if event["eventType"] != "START"]
        return [event for event in done if event["job"]["name"].startswith(kind)]

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients go away as they like."""


def mistakes_of(event: dict[str, Any]) -> Iterator[str]:
    """What the schemas say against an event; each facet is judged by the schema that it names."""
    yield from _mistakes(_RUN_EVENT, event)
    for key, facet in facets_of(event):
        schema = facet.get("_schemaURL", "")
        if schema.partition("#")[0] not in _registry():
            yield f"{key}: there is no schema {schema}"
        else:
            yield from (f"{key}: {mistake}" for mistake in _mistakes(schema, facet))


def facets_of(event: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """All facets of an event, by their keys."""
    datasets = [*event.get("inputs", ()), *event.get("outputs", ())]
    for holder in (event.get("run", {}), event.get("job", {}), *datasets):
        for kind in ("facets", "inputFacets", "outputFacets"):
            yield from holder.get(kind, {}).items()


def _mistakes(schema: str, document: object) -> Iterator[str]:
    validator = Draft202012Validator(
        {"$ref": schema}, registry=_registry(), format_checker=Draft202012Validator.FORMAT_CHECKER
    )
    yield from (f"{error.json_path}: {error.message}" for error in validator.iter_errors(document))


@cache
def _registry() -> Registry[Any]:
    documents = [json.loads(file.read_text()) for file in SCHEMAS.glob("*.json")]
    return Registry().with_resources((d["$id"], Resource.from_contents(d)) for d in documents).crawl()


class _Handler(BaseHTTPRequestHandler):
    server: Collecting

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked += 1
        self.server.answers.wait()
        self.server.logins.append(self.headers.get("Authorization", ""))
        self.send_response(503 if self.server.is_down else 201 if self.server.take(json.loads(body)) else 422)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@contextmanager
def sending(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collecting]:
    """A collector to which everything is sent that this process and its children do."""
    with collecting() as server:
        for name, value in {"SEND": "true", "SECONDS": "60"}.items():
            monkeypatch.setenv(f"FRAZIL_LINEAGE__{name}", value)
        monkeypatch.setenv("OPENLINEAGE__TRANSPORT__TYPE", "http")
        monkeypatch.setenv("OPENLINEAGE__TRANSPORT__URL", server.url)
        yield server


@contextmanager
def collecting() -> Iterator[Collecting]:
    with Collecting() as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.answers.set()
            server.shutdown()
            thread.join()
