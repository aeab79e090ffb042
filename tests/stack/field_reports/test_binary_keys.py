"""Keys of BINARY(16), and of truth values: each landing leaves one row a key, however the table lies.

https://github.com/redpanda-data/connect/issues/4666, https://github.com/apache/inlong/issues/7470
"""

from __future__ import annotations

import io
import uuid
from typing import Any

import fastavro
import pytest

from frazil.connections import Connections
from frazil.landing.land import land
from kit.records.topics import topic_maker

VALUE = {"type": "record", "name": "V", "fields": [{"name": "n", "type": "int"}]}
KEYS: dict[str, list[Any]] = {
    "bytes": [uuid.UUID(int=n).bytes for n in (1, 2**127, 3, 4)],
    "boolean": [True, False],
}


@pytest.mark.each_time("bytes")
@pytest.mark.parametrize("kind", KEYS)
def test_each_landing_leaves_one_row_a_key(connections: Connections, fresh_name: str, kind: str) -> None:
    make = topic_maker(connections, fresh_name, "field_reports")
    topic = make(trades=False, mode="upsert", partition_by=[])
    key = {"type": "record", "name": "K", "fields": [{"name": "id", "type": kind}]}
    ids = topic.register_for(f"{topic.name}-key", key), topic.register_for(f"{topic.name}-value", VALUE)

    def framed(schema_id: int, schema: Any, value: dict[str, Any]) -> bytes:
        stream = io.BytesIO()
        stream.write(b"\0" + schema_id.to_bytes(4, "big"))
        fastavro.schemaless_writer(stream, fastavro.parse_schema(schema), value)
        return stream.getvalue()

    for n in range(3):
        rows: dict[Any, int | None] = {key: 10 * n + at for at, key in enumerate(KEYS[kind])}
        rows[KEYS[kind][0]] = None if n == 1 else 10 * n
        sent = [
            (framed(ids[0], key, {"id": own}), None if v is None else framed(ids[1], VALUE, {"n": v}))
            for own, v in rows.items()
        ]
        topic.send_keyed(sent)
        land(topic.spec, connections)
        values = [(row["id"], row["n"]) for row in topic.rows()]
        assert sorted(values) == sorted((k, v) for k, v in rows.items() if v is not None)
