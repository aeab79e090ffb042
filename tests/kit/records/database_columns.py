"""The columns of a table of PostgreSQL, of all types that matter, and their schemas in JSON."""

from __future__ import annotations

import json
import random
import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

Draw = Callable[[random.Random], Any]

_DEBEZIUM, _CONNECT = "io.debezium.time.", "org.apache.kafka.connect.data."
_FIRST = datetime(1583, 1, 1)
"""Debezium takes older timestamps for days of the Julian calendar (docs/cdc.md)."""
_LETTERS = string.ascii_letters + "äß€😀'\"\\\n\t {}"


@dataclass(frozen=True)
class Column:
    """A column, the schema of its values in JSON, how they are drawn and how they are read."""

    name: str
    kind: str
    schema: dict[str, Any]
    draw: Draw
    read: str = "{}"  # SQL, of the column's name


def _whole(bits: int) -> Draw:
    least, most = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    return lambda dice: dice.choice((0, 1, -1, least, most, dice.randint(least, most)))


def _decimal(digits: int, scale: int) -> Draw:
    most = 10**digits - 1

    def draw(dice: random.Random) -> Decimal:
        whole = dice.choice((0, 1, -1, most, -most, dice.randint(-most, most)))
        return Decimal(f"{whole}E-{scale}")  # a division would round it

    return draw


def _text(most: int) -> Draw:
    return lambda dice: "".join(dice.choices(_LETTERS, k=dice.randrange(most)))


def _moment(dice: random.Random) -> datetime:
    days = (datetime.max - _FIRST).days
    return _FIRST + timedelta(dice.randrange(days), 0, dice.randrange(86_400_000_000))


def _clock(dice: random.Random) -> time:
    return (_FIRST + timedelta(0, 0, dice.randrange(86_400_000_000))).time()


def _integer(size: int, title: str = "") -> dict[str, Any]:
    return {"type": "integer", "connect.type": f"int{size}", **({"title": title} if title else {})}


def _number(digits: int, scale: int) -> dict[str, Any]:
    size = {"scale": str(scale), "connect.decimal.precision": str(digits)}
    return {
        "type": "string",
        "title": f"{_CONNECT}Decimal",
        "connect.type": "bytes",
        "connect.parameters": size,
    }


_TEXT = {"type": "string"}
KEY = (
    Column("id", "integer", _integer(32), lambda dice: dice.randrange(40)),
    Column("kind", "varchar(8)", _TEXT, lambda dice: dice.choice("abc")),
)
COLUMNS = (
    *KEY,
    Column("small", "smallint", _integer(16), _whole(16)),
    Column("big", "bigint", _integer(64), _whole(64)),
    Column("price", "numeric(12, 2)", _number(12, 2), _decimal(12, 2)),
    Column("exact", "numeric(38, 10)", _number(38, 10), _decimal(38, 10)),
    Column(
        "ratio",
        "real",
        {"type": "number", "connect.type": "float32"},
        lambda dice: dice.gauss(0, 1e6),
        "{}::float8",
    ),
    Column(
        "amount",
        "double precision",
        {"type": "number", "connect.type": "float64"},
        lambda dice: dice.gauss(0, 1e9),
    ),
    Column("flag", "boolean", {"type": "boolean"}, lambda dice: dice.random() < 0.5),
    Column(
        "day",
        "date",
        _integer(32, f"{_DEBEZIUM}Date"),
        lambda dice: date.fromordinal(dice.randrange(1, 3_652_060)),
    ),
    Column("at", "timestamp", _integer(64, f"{_DEBEZIUM}MicroTimestamp"), _moment),
    Column(
        "at_ms",
        "timestamp(3)",
        _integer(64, f"{_DEBEZIUM}Timestamp"),
        lambda dice: _moment(dice).replace(microsecond=123_000),
    ),
    Column(
        "seen",
        "timestamptz",
        {**_TEXT, "title": f"{_DEBEZIUM}ZonedTimestamp"},
        lambda dice: _moment(dice).replace(year=2020, tzinfo=UTC),
    ),
    Column(
        "clock",
        "time",
        _integer(64, f"{_DEBEZIUM}MicroTime"),
        _clock,
        "(extract(epoch from {}) * 1000000)::bigint",
    ),
    Column(
        "photo", "bytea", {**_TEXT, "connect.type": "bytes"}, lambda dice: dice.randbytes(dice.randrange(64))
    ),
    Column("note", "text", _TEXT, _text(80)),
    Column("code", "char(4)", _TEXT, lambda dice: dice.choice(("", "ab", "abcd"))),
    Column(
        "token",
        "uuid",
        {**_TEXT, "title": "io.debezium.data.Uuid"},
        lambda dice: f"{dice.getrandbits(128):032x}",
        "{}::text",
    ),
    Column(
        "doc",
        "jsonb",
        {**_TEXT, "title": "io.debezium.data.Json"},
        lambda dice: json.dumps({"a": [dice.random(), None, "ä"]}),
        "{}::text",
    ),
)
PLAIN = COLUMNS[len(KEY) :]


def _optional(schema: dict[str, Any]) -> dict[str, Any]:
    return {"oneOf": [{"type": "null"}, schema]}


def record_of(columns: Sequence[Column], nullable: Sequence[Column]) -> dict[str, Any]:
    properties = {c.name: _optional(c.schema) if c in nullable else c.schema for c in columns}
    required = [c.name for c in columns if c not in nullable]
    indexed = {name: {**schema, "connect.index": n} for n, (name, schema) in enumerate(properties.items())}
    return {"type": "object", "properties": indexed, "required": required}


def envelope() -> dict[str, Any]:
    """The schema that a user would write of the table's changes."""
    row, long = _optional(record_of(COLUMNS, PLAIN)), _optional(_integer(64))
    source = {"type": "object", "properties": {"ts_ms": long, "lsn": long}}
    parts = {"before": row, "after": row, "source": source, "op": _TEXT}
    return {"type": "object", "properties": parts, "required": ["op"]}
