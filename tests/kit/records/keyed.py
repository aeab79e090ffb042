"""Drawn tables of one row per key: any type of key, any layout, any mode, odd names; and what they must hold.

Producers send headers with each record, in transactions, of which some are aborted, as real ones do.
"""

from __future__ import annotations

import base64
import io
import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cached_property
from typing import Any

import fastavro
from confluent_kafka import Producer
from confluent_kafka.schema_registry import Schema

from frazil.kafka.clients import client_config
from kit.records.envelopes import ORIGIN, avro_envelope, record
from kit.records.producing import is_stable
from kit.records.topics import MakeTopic, Topic
from kit.runs.waiting import PATIENCE, wait_for

Key = tuple[Any, ...]
Row = dict[str, Any]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
HEADERS: list[tuple[str, bytes | None]] = [("__debezium.newkey", None), ("trace", b"\x00\xff"), ("", b"")]


def _micros(at: datetime) -> int:
    return (at.replace(tzinfo=UTC) - EPOCH) // timedelta(microseconds=1)


def _days(day: date) -> int:
    return (day - EPOCH.date()).days


def _same(value: Any) -> Any:
    return value


@dataclass(frozen=True, slots=True)
class Kind:
    """A type of keys: its schemas, values as tables hold them, and layouts by such a column `k`."""

    values: Sequence[Any]
    avro: Any
    layouts: tuple[str, ...] = ()
    debezium: Any = None  # where it is another one than Avro's
    sent: Callable[[Any], Any] = _same  # as Debezium has a value
    json: Any = None
    texts: Callable[[Any], Any] = _same  # as JSON has a value


_BYTES = (b"", b"\0", b"\0\0", b"\xff" * 16, bytes(range(16)), b"'\\`\"", b"a" * 40)
_DAYS = (date(1970, 1, 1), date(1969, 12, 31), date(2026, 3, 5), date(1, 1, 1), date(9999, 12, 31))
_MOMENTS = tuple(datetime(y, 3, 5, 12, 0, 0, u, UTC) for y in (1969, 1970, 2026, 2800) for u in (0, 1))
_NAIVE = tuple(at.replace(tzinfo=None) for at in _MOMENTS)
_NUMBERS = tuple(map(Decimal, ("0.00", "-1.50", "1.50", "99999999.99", "-99999999.99", "1.00")))
_DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}
_CONNECT = "org.apache.kafka.connect.data"
_TIME = "io.debezium.time"

KINDS: Mapping[str, Kind] = {
    "string": Kind(
        ("", "a", "A", "é", "e\u0301", "\U0001f9ca", "it's \\ \"`", "x" * 300, " ", "a ", "ÿ\U0010ffff"),
        "string",
        ("bucket(4, k)", "k", "truncate(2, k)"),
        json={"type": "string"},
    ),
    "int": Kind(
        (0, -1, 1, 2**31 - 1, -(2**31), 42, 7),
        "int",
        ("bucket(4, k)", "k", "truncate(10, k)"),
        json={"type": "integer", "connect.type": "int32"},
    ),
    "long": Kind(
        (0, -1, 1, 2**63 - 1, -(2**63), 2**53 + 1, 7),
        "long",
        ("bucket(4, k)", "k", "truncate(10, k)"),
        json={"type": "integer"},
    ),
    "boolean": Kind((True, False), "boolean", ("k",), json={"type": "boolean"}),
    "bytes": Kind(
        _BYTES,
        "bytes",
        ("bucket(4, k)",),
        json={"type": "string", "connect.type": "bytes"},
        texts=lambda value: base64.b64encode(value).decode(),
    ),
    "fixed": Kind(
        tuple(bytes([n]) * 16 for n in (0, 1, 127, 128, 255)),
        {"type": "fixed", "name": "Sixteen", "size": 16},
        ("bucket(4, k)",),
    ),
    "uuid": Kind(
        tuple(f"{n:08x}-0000-4000-8000-{n:012x}" for n in (0, 1, 2**31, 2**32 - 1)),
        {"type": "string", "logicalType": "uuid"},
        ("bucket(4, k)", "truncate(1, k)"),
        {"type": "string", "connect.name": "io.debezium.data.Uuid"},
    ),
    "decimal": Kind(
        _NUMBERS,
        _DECIMAL,
        ("bucket(4, k)", "k"),
        {**_DECIMAL, "connect.name": f"{_CONNECT}.Decimal"},
    ),
    "date": Kind(
        _DAYS,
        {"type": "int", "logicalType": "date"},
        ("bucket(4, k)", "k", "day(k)", "month(k)", "year(k)"),
        {"type": "int", "connect.name": f"{_TIME}.Date"},
        _days,
        {"type": "integer", "connect.type": "int32", "title": f"{_CONNECT}.Date"},
        _days,
    ),
    "timestamptz": Kind(
        _MOMENTS,
        {"type": "long", "logicalType": "timestamp-micros"},
        ("bucket(4, k)", "day(k)", "hour(k)"),
        {"type": "string", "connect.name": f"{_TIME}.ZonedTimestamp"},
        lambda at: at.isoformat(),
    ),
    "timestamp": Kind(
        _NAIVE,
        {"type": "long", "logicalType": "local-timestamp-micros"},
        ("bucket(4, k)", "day(k)"),
        {"type": "long", "connect.name": f"{_TIME}.MicroTimestamp"},
        _micros,
    ),
    "enum": Kind(
        ("A", "B", "C"), {"type": "enum", "name": "Three", "symbols": ["A", "B", "C"]}, ("bucket(4, k)", "k")
    ),
}

PLAIN = ("id", "select", "order", "offset", "timestamp", "topic", "key", "value", "partition", "headers",
         "Id", "raw_value", "_ok", "table")  # fmt: skip
ODD = ("a.b", "order-id", "☃", "Ünï", 'quo"te', "it's", "1st", "עברית",
       "a.b.c", "$x", "x,y", "(z)", "p=q", "a/b", "100%", "back\\slash")  # fmt: skip
WORDS = ("k", "l", "n", "part", "at", "note")

MODES: Mapping[str, Mapping[str, str]] = {
    "upsert": {"mode": "upsert"},
    "cdc": {"mode": "cdc"},
    "soft": {"mode": "cdc", "delete": "soft"},
    "log": {"mode": "cdc", "delete": "soft", "order_by": "source.lsn"},
    "history": {"mode": "cdc", "versions": "all"},
}


@dataclass(frozen=True, slots=True)
class Case:
    """What is drawn: `names` by the words of `WORDS`, of which `k` and perhaps `l` are the key."""

    mode: str
    written: str
    kinds: tuple[str, ...]
    names: Mapping[str, str]
    layout: tuple[str, ...] | None  # None: the default
    sort_by: tuple[str, ...]
    twin: bool  # whether the value has the key's fields, too
    version: int = 2  # of Iceberg's format; of 3 rows go by vectors

    @property
    def key(self) -> dict[str, Kind]:
        """The columns of the key."""
        return {self.names[w]: KINDS[kind] for w, kind in zip("kl", self.kinds, strict=False)}

    @property
    def columns(self) -> list[str]:
        """The key's columns, and those of the value."""
        return [*self.key, *(self.names[word] for word in ("n", "part", "at", "note"))]

    @property
    def spec(self) -> dict[str, Any]:
        """What the spec says."""
        own: dict[str, Any] = dict(MODES[self.mode])
        if self.layout is not None:
            own["partition_by"] = [self._named(each) for each in self.layout]
        if self.version == 3 and self.mode != "history":
            own["write"] = {"target_file_size": 100}  # no file is small
        own["format_version"] = self.version
        return own | ({"sort_by": [self._named(each) for each in self.sort_by]} if self.sort_by else {})

    def _named(self, transform: str) -> str:
        head, _, rest = transform.partition("(")
        if not rest:
            return self.names[head]
        *more, word = rest.rstrip(")").split(", ")
        return f"{head}({', '.join([*more, self.names[word]])})"


def drawn(chance: random.Random, mode: str, kind: str) -> Case:
    """A case of one mode and one type of keys, the rest by chance."""
    fits = [w for w in ("avro", "json") if w == "avro" or KINDS[kind].json]
    written = chance.choice(fits)
    others = [name for name, of in KINDS.items() if name != kind and (written == "avro" or of.json)]
    kinds = (kind, chance.choice(others)) if chance.random() < 0.3 else (kind,)
    if mode != "upsert" and written == "avro":
        kinds = tuple("bytes" if each in ("fixed", "enum") else each for each in kinds)
    if mode != "upsert" and written == "json":
        kinds = tuple("int" if each == "bytes" else each for each in kinds)
    pool = PLAIN if written == "avro" else (*PLAIN, *ODD, *ODD)
    taken: dict[str, str] = {}
    while len(taken) < len(WORDS):
        name = chance.choice([*pool, *WORDS])
        if name.lower() not in {other.lower() for other in taken.values()}:
            taken[WORDS[len(taken)]] = name
    own = KINDS[kinds[0]].layouts
    choices: list[tuple[str, ...] | None] = [
        None,
        (),
        (),
        *((each,) for each in own),
        ("part",),
        (*own[:1], "part"),
    ]
    sort_by = chance.choice([(), (), ("k",), ("part", "k")])
    if kinds[0] in ("bytes", "fixed", "boolean"):
        sort_by = ()
    layout = chance.choice(choices)
    if not all(taken[word].isidentifier() for word in ("k", "part")):  # those have to be quoted in a spec
        layout, sort_by = layout and None, ()
    return Case(mode, written, kinds, taken, layout, sort_by, chance.random() < 0.5, chance.choice((2, 3)))


@dataclass
class Keyed:
    """A topic of drawn changes, and the rows that they leave."""

    topic: Topic
    case: Case
    chance: random.Random
    rows: dict[Key, Row] = field(default_factory=dict)
    gone: dict[Key, Row] = field(default_factory=dict)  # deleted, with their last values
    versions: int = 0  # changes that make a version
    number: int = 0

    @cached_property
    def keys(self) -> list[Key]:
        """All that there may be."""
        kinds = list(self.case.key.values())
        first = [(value,) for value in kinds[0].values]
        return first if len(kinds) == 1 else [(*one, two) for one in first for two in kinds[1].values[:3]]

    def send_more(self, count: int = 8) -> None:
        """Produces changes in one transaction that is committed, behind one that is aborted."""
        options = {
            **client_config(self.topic.connections.settings),
            "transactional.id": f"{self.topic.name}-tx",
        }
        producer = Producer(options)
        producer.init_transactions(PATIENCE)
        kept = (dict(self.rows), dict(self.gone), self.versions)
        for ends in (producer.abort_transaction, producer.commit_transaction):
            self.rows, self.gone, self.versions = dict(kept[0]), dict(kept[1]), kept[2]
            producer.begin_transaction()
            for _ in range(count):
                for key, value, partition in self._change():
                    headers = HEADERS[: self.chance.randrange(1, 4)]
                    producer.produce(self.topic.name, value, key, partition, headers=headers)
            producer.flush(PATIENCE)
            ends(PATIENCE)
        wait_for(lambda: is_stable(self.topic.connections.admin, self.topic.name, range(2)))

    def _change(self) -> Iterator[tuple[bytes, bytes | None, int]]:
        key = self.chance.choice(self.keys)
        if key in self.rows and self.chance.random() < 0.4:
            yield from self._deleted(key)
        elif key in self.rows and self.case.mode != "upsert" and self.chance.random() < 0.2:
            other = self.chance.choice(self.keys)  # the key changes
            yield from self._deleted(key)
            yield from self._put(other)
        else:
            yield from self._put(key)

    def _put(self, key: Key) -> Iterator[tuple[bytes, bytes | None, int]]:
        self.number += 1
        names, at = self.case.names, datetime(2026, 3, 5, 12, self.number % 60, tzinfo=UTC)
        part = self.chance.choice([None, "a", "b"])
        values = [self.number, part, at + timedelta(hours=self.chance.randrange(3)), None]
        row = dict(zip(self.case.columns, [*key, *values], strict=True))
        row[names["note"]] = self.chance.choice([None, "", "long " * 99, f"n{self.number}"])
        op = "u" if key in self.rows else "c"
        self.rows[key] = row
        self.gone.pop(key, None)
        self.versions += 1
        yield self._key(key), self._value(op, row), self._partition(key)

    def _deleted(self, key: Key) -> Iterator[tuple[bytes, bytes | None, int]]:
        self.gone[key] = self.rows.pop(key)
        self.versions += 1
        if self.case.mode != "upsert":
            yield self._key(key), self._value("d", self.gone[key]), self._partition(key)
        yield self._key(key), None, self._partition(key)

    def _partition(self, key: Key) -> int:
        """Not by its bytes: JSON may write one key in two ways."""
        return self.keys.index(key) % 2

    def _key(self, key: Key) -> bytes:
        return self._written("key", dict(zip(self.case.key, key, strict=True)))

    def _value(self, op: str, row: Row) -> bytes:
        if self.case.mode == "upsert":
            own = row if self.case.twin else {c: v for c, v in row.items() if c not in self.case.key}
            return self._written("value", own)
        sent = self._sent(row)
        self.lsn += 8
        source = {**ORIGIN, "ts_ms": 1_760_000_000_000 + self.lsn, "txId": 7, "lsn": self.lsn}
        halves = {"before": sent if op != "c" else None, "after": None if op == "d" else sent}
        payload = {**halves, "source": source, "op": op, "ts_ms": 1}
        return self._framed("value", payload | ({"transaction": None} if self.case.written == "avro" else {}))

    lsn: int = 1000

    def _written(self, half: str, row: Row) -> bytes:
        return self._framed(half, self._sent(row))

    def _sent(self, row: Row) -> Row:
        """As the format and the connector have the values."""
        return {name: self._of(name)(value) if value is not None else None for name, value in row.items()}

    def _of(self, name: str) -> Callable[[Any], Any]:
        case, kind = self.case, self.case.key.get(name)
        if kind:
            return kind.texts if case.written == "json" else (kind.sent if case.mode != "upsert" else _same)
        if name != case.names["at"]:
            return _same
        if case.written == "json":
            return lambda at: _micros(at) // 1000
        return _same if case.mode == "upsert" else (lambda at: at.isoformat())

    def _framed(self, half: str, payload: Any) -> bytes:
        schema_id, schema = self.schemas[half]
        stream = io.BytesIO()
        stream.write(b"\0" + schema_id.to_bytes(4, "big"))
        if self.case.written == "json":
            stream.write(json.dumps(payload, ensure_ascii=self.chance.random() < 0.5).encode())
        else:
            fastavro.schemaless_writer(stream, schema, payload)
        return stream.getvalue()

    @cached_property
    def schemas(self) -> dict[str, tuple[int, Any]]:
        """Of key and value, registered."""
        made = _json_schemas(self.case) if self.case.written == "json" else _avro_schemas(self.case)
        schemas_by_half = {}
        for half, schema in made.items():
            kind, subject = self.case.written.upper(), f"{self.topic.name}-{half}"
            registry = self.topic.connections.registry
            schema_id = int(registry.register_schema(subject, Schema(json.dumps(schema), kind)))
            schemas_by_half[half] = schema_id, fastavro.parse_schema(schema) if kind == "AVRO" else schema
        return schemas_by_half


def _optional(kind: Any) -> dict[str, Any]:
    return {"type": ["null", kind], "default": None}


def _avro_schemas(case: Case) -> dict[str, Any]:
    changes, names = case.mode != "upsert", case.names
    key = [
        {"name": name, "type": deepcopy((changes and kind.debezium) or kind.avro)}
        for name, kind in case.key.items()
    ]
    moment = KINDS["timestamptz"].debezium if changes else KINDS["timestamptz"].avro
    fields = [
        {"name": names["n"], "type": "int"},
        {"name": names["part"], **_optional("string")},
        {"name": names["at"], **_optional(moment)},
        {"name": names["note"], **_optional("string")},
    ]
    whole = [*deepcopy(key), *fields] if case.twin or changes else fields
    return {
        "key": record("Key", key),
        "value": avro_envelope(whole) if changes else record("Value", whole),
    }


def _json_schemas(case: Case) -> dict[str, Any]:
    names = case.names
    key = {name: kind.json for name, kind in case.key.items()}
    moment = {"type": "integer", "connect.type": "int64", "title": f"{_CONNECT}.Timestamp"}
    value: dict[str, Any] = {
        names["n"]: {"type": "integer", "connect.type": "int32"},
        names["part"]: {"type": ["null", "string"]},
        names["at"]: {"oneOf": [{"type": "null"}, moment]},
        names["note"]: {"type": ["null", "string"]},
    }
    changes = case.mode != "upsert"
    properties = {**key, **value} if case.twin or changes else value
    row = {
        "type": "object",
        "properties": {n: {**of, "connect.index": i} for i, (n, of) in enumerate(properties.items())},
        "required": [*(n for n in properties if n in key), names["n"]],
    }
    own = {"type": "object", "properties": key, "required": [*key]}
    if not changes:
        return {"key": own, "value": row}
    text, long = {"type": "string"}, {"type": "integer", "connect.type": "int64"}
    source = {**dict.fromkeys(ORIGIN, text), "ts_ms": long, "txId": long, "lsn": long}
    either = {"oneOf": [{"type": "null"}, row]}
    envelope = {
        "before": either, "after": either, "source": {"type": "object", "properties": source},
        "op": {"type": "string"}, "ts_ms": long,
    }  # fmt: skip
    return {"key": own, "value": {"type": "object", "properties": envelope, "required": ["op"]}}


def keyed(make_topic: MakeTopic, case: Case, chance: random.Random) -> Keyed:
    """A topic of that case."""
    made = Keyed(make_topic(partitions=2, trades=False, **case.spec), case, chance)
    _ = made.schemas
    return made
