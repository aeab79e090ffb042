"""What is measured: trades of 33 bytes (as Avro) and records of 1 KB with 20 fields, in each format."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import cycle
from typing import Any, Literal

import fastavro
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from frazil_local.generators.chance import Chance, Origin
from frazil_local.generators.datagen import STOCK_TRADES, trades
from frazil_local.generators.producer import Record

__all__ = ["AVRO_IDS", "NARROW", "WIDE", "Fields", "Kind", "Sample", "Trades", "sample"]

Kind = Literal["avro", "json", "protobuf"]
Fields = Mapping[str, str]
"""Field name -> `string`, `int`, `long`, `double` or `boolean`."""

NARROW: Fields = {
    "side": "string", "quantity": "int", "symbol": "string", "price": "int", "account": "string",
    "userid": "string",
}  # fmt: skip
WIDE: Fields = {
    **{f"text_{n}": "string" for n in range(10)},
    **{f"long_{n}": "long" for n in range(4)},
    **{f"double_{n}": "double" for n in range(4)},
    **{f"flag_{n}": "boolean" for n in range(2)},
}
AVRO_IDS = 8
_DIFFERENT = 20_000, 200_000
"""Narrow and wide records that are encoded; they come again in turn. Fewer wide ones would flatter
Parquet's dictionaries: no value of theirs is there twice."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Records of one format and size.

    Args:
        name: For the table.
        kind: The format.
        fields: Of each record.
        schemas: Texts to register, oldest first; records take their turn.
        damaged: One in so many payloads is cut short; 0: none.
        headers: Whether each record has one.
    """

    name: str
    kind: Kind
    fields: Fields
    schemas: tuple[str, ...]
    damaged: int = 0
    headers: bool = True

    def records(self, schema_ids: Sequence[int]) -> Iterator[Record]:
        """Records without end, each with a key."""
        chance = random.Random(1)
        values = [self._value(chance, n, schema_ids) for n in range(_DIFFERENT[self.fields is WIDE])]
        headers: Any = [("source", b"bench")] if self.headers else None
        return ((b"%d" % n, value, headers, None, None) for n, value in enumerate(cycle(values)))

    def _value(self, chance: random.Random, number: int, schema_ids: Sequence[int]) -> bytes:
        turn = number % len(schema_ids)
        record = {name: _random(chance, kind, len(self.fields) > 10) for name, kind in self.fields.items()}
        head = b"\0" + schema_ids[turn].to_bytes(4, "big")
        payload = _ENCODE[self.kind](self, self.schemas[turn], record)
        return head + (payload[:-3] if self.damaged and number % self.damaged == 0 else payload)


def sample(
    kind: Kind, fields: Fields, name: str, *, versions: int = 1, damaged: int = 0, headers: bool = True
) -> Sample:
    """A sample; later versions have an optional field more each."""
    schemas = tuple(_SCHEMA[kind](fields, v) for v in range(versions))
    return Sample(name, kind, fields, schemas, damaged, headers)


def _random(chance: random.Random, kind: str, long: bool) -> Any:
    match kind:
        case "string":
            return chance.randbytes(42).hex() if long else f"Z{chance.randrange(1000)}"
        case "int":
            return chance.randrange(1, 5000)
        case "long":
            return chance.randrange(1 << 40)
        case "double":
            return chance.random()
        case _:
            return chance.random() < 0.5


def _avro_schema(fields: Fields, version: int) -> str:
    parts: list[dict[str, Any]] = [{"name": n, "type": t} for n, t in fields.items()]
    parts += [{"name": f"more_{n}", "type": ["null", "int"], "default": None} for n in range(version)]
    return json.dumps({"type": "record", "name": "Sample", "fields": parts})


def _json_schema(fields: Fields, _: int) -> str:
    types = {"int": {"type": "integer", "connect.type": "int32"}, "long": {"type": "integer"},
             "double": {"type": "number"}}  # fmt: skip
    parts = {n: {**types.get(t, {"type": t}), "connect.index": i} for i, (n, t) in enumerate(fields.items())}
    return json.dumps({"type": "object", "title": "Sample", "properties": parts, "required": list(fields)})


def _protobuf_schema(fields: Fields, _: int) -> str:
    types = {"int": "int32", "long": "int64", "boolean": "bool"}
    parts = (f"{types.get(t, t)} {n} = {i};" for i, (n, t) in enumerate(fields.items(), 1))
    return f'syntax = "proto3"; message Sample {{ {" ".join(parts)} }}'


def _as_avro(_: Sample, schema: str, record: dict[str, Any]) -> bytes:
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, json.loads(schema), record)
    return stream.getvalue()


def _as_json(_: Sample, __: str, record: dict[str, Any]) -> bytes:
    return json.dumps(record).encode()


def _as_protobuf(sample: Sample, _: str, record: dict[str, Any]) -> bytes:
    return b"\0" + bytes(_message(tuple(sample.fields.items()))(**record).SerializeToString())


@cache
def _message(fields: tuple[tuple[str, str], ...]) -> Callable[..., Any]:
    kinds = {"string": 9, "int": 5, "long": 3, "double": 1, "boolean": 8}  # FieldDescriptorProto.Type
    file = descriptor_pb2.FileDescriptorProto(name="sample.proto", syntax="proto3")
    message = file.message_type.add(name="Sample")
    for number, (name, kind) in enumerate(fields, 1):
        message.field.add(name=name, number=number, type=kinds[kind], label=1)  # type: ignore[arg-type]
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("Sample"))


@dataclass(frozen=True, slots=True)
class Trades:
    """The generator's own stock trades."""

    name: str = "trades"
    kind: Kind = "avro"
    schemas: tuple[str, ...] = (STOCK_TRADES.value.text,)

    def records(self, schema_ids: Sequence[int]) -> Iterator[Record]:
        """Trades without end."""
        return trades(Chance(1), schema_ids[0], Origin())


_SCHEMA: dict[Kind, Callable[[Fields, int], str]] = {
    "avro": _avro_schema, "json": _json_schema, "protobuf": _protobuf_schema,
}  # fmt: skip
_ENCODE: dict[Kind, Callable[[Sample, str, dict[str, Any]], bytes]] = {
    "avro": _as_avro, "json": _as_json, "protobuf": _as_protobuf,
}  # fmt: skip
