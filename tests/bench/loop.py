"""The loop that many write first: a consumer, a decoder, rows as dictionaries, offsets committed after."""

from __future__ import annotations

import io
import json
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self

import fastavro
from confluent_kafka import Consumer

from frazil.formats.protocol import WriterSchema
from frazil.kafka.clients import client_config
from frazil.settings.profile import Settings

__all__ = ["Reader", "row_of"]


class Reader:
    """Records of a topic with their values, from its begin.

    Args:
        settings: Of the stack.
        topic: That is read.
        schema: Of all its values.
    """

    def __init__(self, settings: Settings, topic: str, schema: WriterSchema) -> None:
        group = {"group.id": uuid.uuid4().hex, "auto.offset.reset": "earliest", "enable.auto.commit": False}
        self.consumer = Consumer({**client_config(settings), **group, "enable.partition.eof": False})
        self.consumer.subscribe([topic])
        self._read, self._has_read = _READ[schema.kind](schema.text), False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, e: BaseException | None, at: TracebackType | None
    ) -> None:
        self.consumer.close()

    def next(self, count: int) -> Iterator[tuple[Any, dict[str, Any]]]:
        """The next so many; the offsets of those before are committed."""
        if self._has_read:
            self.consumer.commit(asynchronous=False)
        batch: list[Any] = []
        while len(batch) < count:
            batch += self.consumer.consume(min(10_000, count - len(batch)), 1.0)
        self._has_read = True
        return ((message, self._read(message.value()[5:])) for message in batch)


def _of_avro(schema_text: str) -> Callable[[bytes], dict[str, Any]]:
    """What reads a payload by its schema."""
    schema = fastavro.parse_schema(json.loads(schema_text))
    return lambda payload: fastavro.schemaless_reader(io.BytesIO(payload), schema)  # type: ignore[return-value]


_READ: dict[str, Callable[[str], Callable[[bytes], dict[str, Any]]]] = {
    "AVRO": _of_avro,
    "JSON": lambda _: json.loads,
}


def row_of(message: Any, fields: dict[str, Any]) -> dict[str, Any]:
    """A record as the table has it."""
    kind, at = message.timestamp()
    return {
        "key": message.key(),
        **fields,
        "$$topic": message.topic(),
        "$$partition": message.partition(),
        "$$headers": dict(message.headers() or []),
        "$$leader-epoch": message.leader_epoch(),
        "$$offset": message.offset(),
        "$$timestamp": datetime.fromtimestamp(at / 1000, UTC),
        "$$timestamp-type": "CREATE_TIME" if kind == 1 else "LOG_APPEND_TIME",
    }
