"""Drawn topics, and the rows that a table of each has: by hand, from the values that were drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from random import Random
from typing import Any, Literal

from confluent_kafka import Message

from kit.planted.columns import EXTRA, Format, Values, columns_of, drawn
from kit.planted.guarded import is_wanted, masked
from kit.planted.written import changed, schema_of, written

Mode = Literal["append", "upsert", "cdc"]
Kind = Literal["good", "bad", "delete", "left out"]
Place = tuple[int, int]
Span = tuple[int, int]

TOPIC = "shop.orders"
TYPES = {1: "CREATE_TIME", 2: "LOG_APPEND_TIME"}
_FIRST, _LONGEST = 1_700_000_000_000, 12  # milliseconds; records of a partition between two landings
_KEYS = 6


@dataclass(frozen=True)
class Shape:
    """What a topic and its table are like.

    Args:
        evolved: Whether records of the second landing have a field more.
        compacted: Whether the table's files were written anew.
        letters: Whether bad records are dead letters; else they are skipped.
        soft: Whether deleted rows of a database's table stay, marked.
        masked: Whether fields are masked.
        filtered: Whether some records are left out.
        history: Whether every change of a key is a row.
    """

    form: Format
    mode: Mode
    evolved: bool
    compacted: bool
    letters: bool
    soft: bool = False
    masked: bool = False
    filtered: bool = False
    history: bool = False


@dataclass(frozen=True)
class Sent:
    """A record, the row that it makes of its key, and what it holds before it is masked."""

    partition: int
    offset: int
    key: bytes
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    time: tuple[int, int]
    epoch: int
    kind: Kind
    landing: int
    row: Values = field(default_factory=dict)
    values: Values = field(default_factory=dict)

    @property
    def place(self) -> Place:
        """Where it stands."""
        return self.partition, self.offset

    @property
    def message(self) -> Message:
        """The record as a consumer gets it."""
        return Message(
            topic=TOPIC, partition=self.partition, offset=self.offset, key=self.key, value=self.value,
            headers=[*self.headers], timestamp=self.time, leader_epoch=self.epoch,
        )  # fmt: skip


@dataclass
class Topic:
    """A topic of two partitions, of which two landings took a part; the last records wait."""

    shape: Shape
    records: list[Sent]
    ends: list[dict[int, int]]
    """By landing the offset behind it, of each partition; where it begins comes first, where it ends last."""

    @property
    def landed(self) -> list[Sent]:
        """The records of both landings."""
        return [each for each in self.records if each.landing < 2]

    @property
    def waiting(self) -> list[Sent]:
        """The records behind the position."""
        return [each for each in self.records if each.landing == 2]

    @property
    def gaps(self) -> list[Place]:
        """Landed offsets without a record."""
        taken = {each.place for each in self.records}
        spans = {p: range(self.ends[0][p], self.ends[2][p]) for p in self.ends[0]}
        return [(p, at) for p, span in spans.items() for at in span if (p, at) not in taken]

    def kept(self) -> dict[int, Span]:
        """The offsets that each partition has."""
        return {p: (self.ends[0][p], self.ends[3][p]) for p in self.ends[0]}

    def between(self, spans: Mapping[int, Span]) -> Iterator[Sent]:
        """The records of these offsets, the partitions by turns."""
        chosen = [r for r in self.records if r.partition in spans]
        return (r for r in chosen if spans[r.partition][0] <= r.offset < spans[r.partition][1])

    def rows(self) -> list[Values]:
        """The rows of the table: of each record, or of each key that is there."""
        if self.shape.history:
            return [*self._versions()]
        good = [record.row for record in self.landed if record.kind == "good"]
        if self.shape.mode == "append":
            return good
        newest = self.newest().values()
        live = [record.row for record in newest if record.kind == "good"]
        return [*live, *self._marked()] if self.shape.soft else live

    def _marked(self) -> Iterator[Values]:
        """Deleted rows: the last values of each, and the columns that say what the delete was."""
        had = {record.key: record.row for record in self.landed if record.kind == "good"}
        for key, record in self.newest().items():
            if record.kind == "delete" and key in had:
                yield had[key] | {name: each for name, each in record.row.items() if name.startswith("$$")}

    def _versions(self) -> Iterator[Values]:
        """Every change; it holds until the next one of its key, which is in the same partition."""
        changes = [each for each in self.landed if each.kind in ("good", "delete")]
        for key in dict.fromkeys(each.key for each in changes):
            versions = [each for each in changes if each.key == key]
            begins = [*accumulate((each.row["$$source-time"] for each in versions), max)]
            for each, begin, end in zip(versions, begins, [*begins[1:], None], strict=True):
                gone = each.kind == "delete"
                valid = begin, begin if gone else end, not gone and end is None
                names = ("$$valid-from", "$$valid-to", "$$current")
                yield each.row | dict(zip(names, valid, strict=True))

    def newest(self) -> dict[bytes, Sent]:
        """By key its last change."""
        return {r.key: r for r in self.landed if r.kind not in ("bad", "left out")}

    @cached_property
    def schemas(self) -> dict[str, dict[str, Any]]:
        """What a registry answers, by path."""
        return registry(self.shape)


def topic_of(shape: Shape, chance: Random) -> Topic:
    """A topic with all that its table has to do with: bad records, gaps, keys that come again and go."""
    at = {0: chance.randrange(50), 1: chance.randrange(50)}
    ends, records = [dict(at)], list[Sent]()
    for landing in range(3):
        for _ in range(_LONGEST if landing < 2 else 2):
            for partition in at:
                at[partition] += chance.choice((1, 1, 1, 2)) if landing < 2 else 1
                records.append(_record(shape, chance, partition, at[partition] - 1, landing))
        ends.append(dict(at))
    return Topic(shape, records, ends)


def _record(shape: Shape, chance: Random, partition: int, offset: int, landing: int) -> Sent:
    deletes = 0 if shape.mode == "append" else 15
    kinds: tuple[Kind, ...] = ("good", "bad", "delete")
    kind = chance.choices(kinds, (80, 10, deletes))[0] if landing < 2 else "good"
    evolved = shape.evolved and landing > 0
    key = f"{partition}-{chance.randrange(_KEYS)}"
    values = drawn(shape.form, chance, evolved=evolved)
    if shape.filtered and kind == "good" and not is_wanted(values):
        kind = "left out"
    change: Values = {"op": chance.choice("cru") if kind == "good" else "d"}
    change["source"] = {"ts_ms": _FIRST + chance.randrange(10**9), "lsn": chance.choice((None, offset))}
    bare = Sent(
        partition, offset, _key(shape, key), _value(shape, kind, values | {"key": key}, change, evolved),
        tuple((f"h{n}", chance.choice((b"v", b"\xff", b"", None))) for n in range(chance.randrange(3))),
        (chance.choice((1, 2)), _FIRST + chance.randrange(10**9)), chance.randrange(9), kind, landing,
    )  # fmt: skip
    own = {"op": change["op"], "source": change["source"]} if shape.mode == "cdc" else {}
    shown = dict.fromkeys(values) if shape.history and kind == "delete" else values
    row = _row(bare, key, masked if shape.masked else dict, shown, own)
    return Sent(**{**bare.__dict__, "row": row, "values": values})


def _key(shape: Shape, key: str) -> bytes:
    """The key as text; of a database's table a record of one field."""
    if shape.mode != "cdc":
        return key.encode()
    body = f'{{"key": "{key}"}}'.encode() if shape.form == "json" else bytes([len(key) * 2]) + key.encode()
    return b"\0" + KEY_ID.to_bytes(4, "big") + body


KEY_ID, OLD_ID, NEW_ID = 7, 8, 9


def _value(shape: Shape, kind: Kind, values: Values, change: Values, evolved: bool) -> bytes | None:
    if kind == "bad":
        return b"\0" + NEW_ID.to_bytes(4, "big") + b"\x80"
    number, schema = (NEW_ID if evolved or not shape.evolved else OLD_ID), _schema(shape, evolved)["schema"]
    if shape.mode == "cdc":
        after = None if kind == "delete" else values
        return changed(shape.form, number, schema, {**change, "after": after})
    return None if kind == "delete" else written(shape.form, number, schema, values)


def _schema(shape: Shape, evolved: bool) -> Values:
    return schema_of(shape.form, evolved=evolved, change=shape.mode == "cdc")


def _row(sent: Sent, key: str, shown: Callable[[Values], Values], values: Values, change: Values) -> Values:
    own: Values = {
        "$$topic": TOPIC, "$$partition": sent.partition, "$$headers": dict(sent.headers) or None,
        "$$leader-epoch": sent.epoch, "$$offset": sent.offset, "$$timestamp": sent.time[1] * 1000,
        "$$timestamp-type": TYPES[sent.time[0]], "$$raw-key": sent.key,
    }  # fmt: skip
    if change:
        own |= {"$$op": change["op"], "$$source-time": change["source"]["ts_ms"] * 1000}
        own["$$source-lsn"] = change["source"]["lsn"]
        own["$$deleted"] = change["op"] == "d"
        own["$$deleted-at"] = own["$$source-time"] if own["$$deleted"] else None
    return {**shown({"key": key, **values}), **own}


def value_names(shape: Shape) -> list[str]:
    """The columns that values fill, beside the key."""
    return [c.name for c in columns_of(shape.form) if shape.evolved or c.name != EXTRA]


def registry(shape: Shape) -> dict[str, dict[str, Any]]:
    """The documents of a registry that has the topic's schemas."""
    key = {"type": "record", "name": "Key", "fields": [{"name": "key", "type": "string"}]}
    if shape.form == "json":
        key = {"type": "object", "properties": {"key": {"type": "string"}}}
    ids = {NEW_ID: _schema(shape, shape.evolved), KEY_ID: {"schemaType": shape.form.upper()}}
    ids |= {OLD_ID: _schema(shape, False)} if shape.evolved else {}
    ids[KEY_ID] = {"schemaType": shape.form.upper(), "schema": str(key).replace("'", '"')}
    answers: dict[str, Any] = {}
    for subject, known in (("value", [*ids.keys() - {KEY_ID}]), ("key", [KEY_ID])):
        path = f"subjects/{TOPIC}-{subject}/versions"
        answers[f"{path}?deleted=true"] = [*range(1, len(known) + 1)]
        for version, number in enumerate(sorted(known), 1):
            document = {"id": number, **ids[number]}
            answers[f"schemas/ids/{number}"] = document
            answers[f"{path}/{version}?deleted=true"] = answers[f"{path}/latest"] = document
    return answers
