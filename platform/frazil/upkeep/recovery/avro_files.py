"""Avro files that are written once more with other texts in them; all else stays, to the byte of its schema.

Values are read without their logical types: a date or a decimal that Python can't hold is copied, too.
"""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from typing import Any

_HEADER = {
    "type": "record", "name": "header", "fields": [
        {"name": "magic", "type": {"type": "fixed", "name": "magic", "size": 4}},
        {"name": "meta", "type": {"type": "map", "values": "bytes"}},
        {"name": "sync", "type": {"type": "fixed", "name": "sync", "size": 16}},
    ],
}  # fmt: skip
"""https://avro.apache.org/docs/1.12.0/specification/#object-container-files"""

_SCHEMA = "avro.schema"
_OWN = "avro."


@dataclass(frozen=True)
class AvroFile:
    """What an Avro file holds.

    Attributes:
        records: One after the other; they may be changed.
        schema: As the file has it.
        notes: What else its header says, such as Iceberg's own `format-version`.
    """

    records: list[dict[str, Any]]
    schema: bytes
    notes: dict[str, str]

    @classmethod
    def read(cls, content: bytes) -> AvroFile:
        """Reads one; raises ValueError where it is none, or is compressed by what is not installed."""
        import fastavro

        meta = _meta(content)
        plain = json.dumps(_without_logical_types(json.loads(meta[_SCHEMA]))).encode()
        records = list(fastavro.reader(io.BytesIO(_with_schema(content, plain))))
        notes = {name: text.decode() for name, text in meta.items() if not name.startswith(_OWN)}
        return cls(records, meta[_SCHEMA], notes)  # type: ignore[arg-type]

    def written(self) -> bytes:
        """The same as a file."""
        import fastavro

        out = io.BytesIO()
        plain = _without_logical_types(json.loads(self.schema))
        fastavro.writer(out, plain, self.records, codec="deflate", metadata=self.notes)
        return _with_schema(out.getvalue(), self.schema)


def _meta(content: bytes) -> dict[str, bytes]:
    return dict(_header(io.BytesIO(content))["meta"])


def _with_schema(content: bytes, schema: bytes) -> bytes:
    """The same file with another schema in its header, one that says the same of the bytes."""
    import fastavro

    stream, out = io.BytesIO(content), io.BytesIO()
    header = _header(stream)
    header["meta"][_SCHEMA] = schema
    fastavro.schemaless_writer(out, _HEADER, header)
    return out.getvalue() + stream.read()


def _header(stream: io.BytesIO) -> dict[str, Any]:
    import fastavro

    header: dict[str, Any] = fastavro.schemaless_reader(stream, _HEADER, None)  # type: ignore[assignment]
    return header


def _without_logical_types(schema: Any) -> Any:
    match schema:
        case dict():
            return {n: _without_logical_types(v) for n, v in schema.items() if n != "logicalType"}
        case list():
            return [_without_logical_types(each) for each in schema]
    return schema
