"""Debezium's records by encoders of others, and the decoder of them, without Kafka and registry."""

from __future__ import annotations

import io
import json
import pickle
from typing import Any

import fastavro
import pyarrow as pa

from frazil.formats.debezium.envelope import envelope
from frazil.formats.halves import schemas_of
from frazil.formats.protocol import KEY, VALUE, WriterSchema
from frazil.formats.record import RecordDecoder, row_columns
from frazil.formats.record_batch import Verdicts
from frazil.formats.row_key import row_key
from frazil.spec.topic import TableSpec
from kit.records.envelopes import JSON_ENVELOPE, JSON_KEY, KEY_FIELDS, ORIGIN, avro_envelope, embedded, record

__all__ = ["Debezium"]

Raw = tuple[bytes | None, bytes | None]


class Debezium:
    """A topic as Debezium writes it in one of the ways that there are."""

    def __init__(self, written: str, **spec: Any) -> None:
        self.written = written
        framing = {"framing": "none"} if written == "embedded" else {}
        self.spec = TableSpec.model_validate({"topic": "t", "mode": "cdc", **framing, **spec})
        key, value = {
            "avro": (record("Key", KEY_FIELDS), avro_envelope()),
            "json": (JSON_KEY, JSON_ENVELOPE),
            "embedded": (embedded(JSON_KEY), embedded(JSON_ENVELOPE)),
        }[written]
        self.schemas = {"key": key, "value": value}

    def decoder(self) -> RecordDecoder:
        kind = "AVRO" if self.written == "avro" else "JSON"
        halves = (
            schemas_of(self.spec, half, [WriterSchema(1, 1, json.dumps(self.schemas[half.word]), kind)])
            for half in (KEY, VALUE)
        )
        one, two = (each.format.decoder(each) for each in halves)
        columns = row_columns(self.spec, one.columns, two.columns)
        unwraps = envelope(self.spec, one.columns, two.columns)
        return RecordDecoder(
            one, two, columns, self.spec.on_null_value, (), row_key(self.spec, columns), unwraps
        )

    def decoded(self, raws: list[Raw]) -> Verdicts:
        """As a worker does it, to which the decoder came by pickle."""
        records = self.decoder().arrow()
        assert records
        keys, values = (pa.array(list(half), pa.binary()) for half in zip(*raws, strict=True))
        headers = (pa.array([[] for _ in raws], pa.list_(kind)) for kind in (pa.string(), pa.binary()))
        return pickle.loads(pickle.dumps(records)).decode(keys, values, *headers)  # type: ignore[no-any-return]

    def sent(self, half: str, value: Any) -> bytes:
        if self.written == "embedded":
            return json.dumps({"schema": {"type": "struct", "fields": []}, "payload": value}).encode()
        stream = io.BytesIO()
        stream.write(b"\0\0\0\0\1")
        if self.written == "json":
            stream.write(json.dumps({n: v for n, v in value.items() if n != "transaction"}).encode())
        else:
            fastavro.schemaless_writer(stream, fastavro.parse_schema(self.schemas[half]), value)
        return stream.getvalue()

    def change(self, op: str, after: Any, before: Any = None, **source: Any) -> bytes:
        origin = {**ORIGIN, "ts_ms": 1_760_000_000_123, "txId": None, "lsn": 77, **source}
        return self.sent(
            "value",
            {"before": before, "after": after, "source": origin, "op": op, "ts_ms": 1, "transaction": None},
        )

    def key(self, key: str) -> bytes:
        return self.sent("key", {"key": key})
