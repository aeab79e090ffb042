"""A format that Frazil does not know, as someone would add it; and a registry that holds a schema of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pyarrow as pa

from frazil.exact import values_of
from frazil.formats.encryption.leaves import Leaf
from frazil.formats.logical import Field, Primitive, Struct
from frazil.formats.protocol import DecodedBatch, HalfSchemas, Reason, WriterSchema

__all__ = ["KIND", "SCHEMA_ID", "CommaSeparated", "registry_with"]

KIND, SCHEMA_ID = "CSV", 7
_HEADER = b"\0" + SCHEMA_ID.to_bytes(4, "big")


class CommaSeparated:
    """Its schemas are the names of columns, its records their values, all of them text."""

    title = "CSV"
    takes_record_type = False

    def columns(self, schemas: HalfSchemas) -> Struct:
        names = schemas.writers[-1].text.split(",")
        return Struct(tuple(Field(name, Primitive("string")) for name in names))

    def decoder(self, schemas: HalfSchemas) -> CommaSeparatedDecoder:
        return CommaSeparatedDecoder(self.columns(schemas))

    def check(self, text: str) -> None:
        if not text.replace(",", "").isalnum():
            raise ValueError(f"{text!r} names no columns")

    def shape(self, schema: WriterSchema) -> Iterable[tuple[str, Any]]:
        return ((name, place) for place, name in enumerate(schema.text.split(",")))

    def fingerprint(self, schema: WriterSchema) -> bytes:
        return b""

    def leaves(self, schemas: HalfSchemas, schema: WriterSchema) -> Iterable[Leaf]:
        return (Leaf(name, name) for name in schema.text.split(","))


class CommaSeparatedDecoder:
    """Of one schema, which is enough here."""

    writers = (SCHEMA_ID,)

    def __init__(self, columns: Struct) -> None:
        self.columns = columns

    def arrow(self) -> CommaSeparatedColumns:
        return CommaSeparatedColumns(tuple(f.name for f in self.columns))

    def explain(self, raw: bytes) -> Reason:
        return "columns", f"{raw.count(b',') + 1} values for {len(self.columns.fields)} columns"


@dataclass(frozen=True, slots=True)
class CommaSeparatedColumns:
    """The same in Spark's workers; all that is not needed there stays away."""

    names: tuple[str, ...]
    places_per_byte: float = 1.0

    def decode(self, raw: pa.BinaryArray) -> DecodedBatch:
        rows = [self._row(record) for record in values_of(raw)]
        kind = pa.struct([(name, pa.string()) for name in self.names])
        ok = pa.array([row is not None for row in rows])
        return DecodedBatch(pa.array(rows, kind), ok, pa.array([0] * len(rows), pa.int32()))

    def _row(self, record: bytes | None) -> dict[str, str] | None:
        header, values = (record or b"")[:5], (record or b"")[5:].decode(errors="replace").split(",")
        fits = header == _HEADER and len(values) == len(self.names)
        return dict(zip(self.names, values, strict=True)) if fits else None


@contextmanager
def registry_with(subject: str, text: str) -> Iterator[str]:
    """The address of a registry that holds one version of one subject."""
    version = {"subject": subject, "version": 1, "id": SCHEMA_ID, "schemaType": KIND, "schema": text}
    versions = f"/subjects/{subject}/versions"
    answers = {versions: [1], f"{versions}/1": version, f"{versions}/latest": version}

    class Registry(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer = answers.get(self.path.partition("?")[0])
            self.send_response(200 if answer else 404)
            self.end_headers()
            self.wfile.write(json.dumps(answer or {"error_code": 40401, "message": "none"}).encode())

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Registry) as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
