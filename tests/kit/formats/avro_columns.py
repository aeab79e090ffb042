"""Avro decoded by columns, without Spark."""

from __future__ import annotations

import io
import json
import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import fastavro
import pyarrow as pa

from frazil.formats.avro.format import Avro, AvroDecoder
from frazil.formats.columns.unmappable import REFUSED, Unmappable
from frazil.formats.protocol import VALUE, DecodedBatch, HalfSchemas, WriterSchema

__all__ = ["AvroColumns", "payload"]


@dataclass(frozen=True, slots=True)
class AvroColumns:
    """What decodes the versions of a subject; schema ids count from one."""

    versions: tuple[Any, ...]
    is_framed: bool = True
    unmappable: Unmappable = REFUSED

    def decoder(self) -> AvroDecoder:
        """The one that both ways begin with."""
        texts = (v if isinstance(v, str) else json.dumps(v) for v in self.versions)
        writers = tuple(WriterSchema(n, n, text, "AVRO") for n, text in enumerate(texts, 1))
        return AvroDecoder(
            HalfSchemas(VALUE, Avro(), "s-value", writers, self.is_framed, unmappable=self.unmappable)
        )

    def batch(self, raw: Sequence[bytes | None]) -> DecodedBatch:
        """Decodes records as a worker does, to which the decoder came by pickle."""
        recipe = self.decoder().arrow()
        assert recipe
        batch = pickle.loads(pickle.dumps(recipe)).decode(pa.array(raw, pa.binary()))
        assert len(batch.data) == len(batch.ok) == len(batch.writer) == len(raw)
        batch.data.filter(batch.ok).validate(full=True)
        return batch  # type: ignore[no-any-return]

    def rows(self, raw: Sequence[bytes | None]) -> list[dict[str, Any] | None]:
        """The same as plain Python: None where a record is bad."""
        batch = self.batch(raw)
        rows = batch.data.to_pylist(maps_as_pydicts="strict") if batch.ok.true_count == len(raw) else None
        rows = rows or [_row(batch, n) for n in range(len(raw))]
        return [row if good else None for row, good in zip(rows, batch.ok.to_pylist(), strict=True)]


def _row(batch: DecodedBatch, n: int) -> Any:
    return batch.data[n].as_py(maps_as_pydicts="strict") if batch.ok[n].as_py() else None


def payload(schema: Any, value: Any, schema_id: int | None = 1) -> bytes:
    """One value by an independent encoder, in the wire format unless there is no id."""
    head = b"" if schema_id is None else b"\0" + schema_id.to_bytes(4, "big")
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(json.loads(json.dumps(schema))), value)
    return head + stream.getvalue()
