"""The rows that records make, as entries; and single ones of them again, to say how a row differs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from confluent_kafka import Message

from frazil_verify.entries import BAD, DELETE, GOOD, LARGE, SKIPPED, TOMBSTONE, digest
from frazil_verify.findings import UnverifiableError
from frazil_verify.log.registry import Schemas
from frazil_verify.request import Request
from frazil_verify.table.canonical import sorted_pairs
from frazil_verify.table.metadata import Column
from frazil_verify.table.names import Names, as_named, names_of
from frazil_verify.values.bad import BadRecordError, NotComparedError
from frazil_verify.values.debezium import Marked, marks_of
from frazil_verify.values.half import Filled, HalfReader, filled, struct, within
from frazil_verify.values.naming import Headers

_TYPES = {0: "NO_TIMESTAMP_TYPE", 1: "CREATE_TIME", 2: "LOG_APPEND_TIME"}
_CHANGES: dict[Any, int] = {"c": GOOD, "r": GOOD, "u": GOOD, "d": DELETE}
_OF_LARGE = {GOOD: LARGE, DELETE: BAD, TOMBSTONE: BAD}

NOT_COMPARED = b""

Row = tuple[Any, ...]
Change = tuple[Any, Any]
"""How a change of a database is called, and its source: when it was made, and where in the log."""


@dataclass(frozen=True)
class Made:
    """What a record makes: of which key, which row, and whether there is a row at all."""

    kind: int
    key: Row = ()
    row: Row | None = None


@dataclass(frozen=True)
class Expected:
    """Turns records into the rows that the table must have.

    Args:
        former: Names that columns had before, by their ids.
        left: The former names of columns that retypes left behind.
        then: The names of the fields when a record was landed; empty for those of today.
        defaults: Whether a field that a record lacks has its default, as in rows that were landed since the
            table has its column, or null, as in older ones (docs/types.md).
    """

    request: Request
    schemas: Schemas
    columns: tuple[Column, ...]
    former: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    left: Mapping[int, str] = field(default_factory=dict)
    then: Names = field(default_factory=dict)
    defaults: bool = True

    @cached_property
    def inner(self) -> str:
        """Where in a value the row stands."""
        return "after" if self.request.mode == "cdc" else ""

    @cached_property
    def own(self) -> dict[str, str]:
        """The metadata columns that the table has: their word by their name."""
        names = {c.name for c in self.columns}
        return {name: word for word, name in self.request.metadata_columns.items() if name in names}

    @cached_property
    def of_value(self) -> Filled:
        """The columns that values fill."""
        rest = [c for c in self.columns if c.name not in self.own]
        return filled(self.request.value, self.schemas, rest, self.inner, "value", self.left)

    @cached_property
    def of_key(self) -> Filled:
        """The columns that keys fill: a field of both is the value's, unless it tells rows apart."""
        taken = {c.name for c in self.of_value.columns} | self.own.keys()
        rest = [c for c in self.columns if c.name not in taken - {*self.request.key_columns}]
        return filled(self.request.key, self.schemas, rest, "", "key", self.left)

    @cached_property
    def compared(self) -> tuple[Column, ...]:
        """The columns that are compared, in the table's order."""
        names = {c.name for c in (*self.of_value.columns, *self.of_key.columns)} | self._own_compared.keys()
        return tuple(c for c in self.columns if c.name in names)

    @cached_property
    def not_compared(self) -> dict[str, str]:
        """The columns that are not compared, and why."""
        names = {c.name for c in self.compared}
        why = {**self.of_key.refused, **self.of_value.refused}
        return {
            c.name: why.get(c.name, "neither key nor value has it")
            for c in self.columns
            if c.name not in names
        }

    def as_of(self, then: Names) -> tuple[Expected, ...]:
        """The same of rows that were landed when columns had these names, or before they were there.

        Two where a default may be there or not; none where the rows would be those of today.
        """
        now = names_of(struct(self.columns))
        others = {n: now[n] for n, name in then.items() if now.get(n, name) != name}
        aliases = {n: (*self.former.get(n, ()), name) for n, name in others.items() if n not in self.left}
        same = replace(self, then=then, former={**self.former, **aliases}) if others else self
        has_defaults = self._value_reader.has_defaults or self._key_reader.has_defaults
        return (*((same,) if others else ()), *((replace(same, defaults=False),) if has_defaults else ()))

    def __call__(self, message: Message) -> Made:
        """What one record makes of it; of one that is too large see `LARGE`."""
        made = self._by_parts(message)
        if made.kind in _OF_LARGE and largest_part(message) > self.request.max_record_bytes:
            return replace(made, kind=_OF_LARGE[made.kind])
        return made

    def _by_parts(self, message: Message) -> Made:
        try:
            return self._made(message)
        except BadRecordError:
            return Made(BAD)
        except NotComparedError as e:
            if self.request.key_columns:
                raise UnverifiableError(f"a record of partition {message.partition()}: {e}") from e
            return Made(GOOD)

    def _made(self, message: Message) -> Made:
        headers, payload = _headers_of(message), message.value()
        if payload is not None and self._value_reader.is_of_another_table(bytes(payload), headers):
            return Made(SKIPPED)
        key = dict(zip((c.name for c in self.of_key.columns), self._key(message, headers), strict=True))
        if payload is None:
            return self._row(message, key, {}, self._without_value, (None, None))
        read = self._value_reader(bytes(payload), headers)
        kind, values, change = self._unwrapped(read) if self.inner else (GOOD, read, (None, None))
        value = dict(zip((c.name for c in self.of_value.columns), values or (), strict=bool(values)))
        return self._row(message, key, value, kind, change)

    @property
    def _without_value(self) -> int:
        """What a record without a value is."""
        delete = TOMBSTONE if self.request.keeps_deleted else DELETE
        return {"bad": BAD, "skip": SKIPPED, "keep": GOOD, "delete": delete}[self.request.null_value]

    def _unwrapped(self, change: Row) -> tuple[int, Row | None, Change]:
        """A change of a database: what it does, the row, and how it is called and where it comes from."""
        op, row, source = change
        if op == "t":
            raise UnverifiableError("the source emptied its table, which ends rows of any key")
        if row is not None and self._is_marked(row):
            raise BadRecordError("Debezium's mark for a value that it lacks, or for infinity")
        kind = _CHANGES.get(op, BAD)
        return BAD if kind == GOOD and row is None else kind, row, (op, source)

    def _row(self, message: Message, key: Mapping[str, Any], value: Mapping[str, Any], kind: int,
             change: Change) -> Made:  # fmt: skip
        both = {**key, **value}
        identity = tuple((key if name in key else both).get(name) for name in self.request.key_columns)
        if kind in (GOOD, DELETE, TOMBSTONE) and None in identity:
            return Made(BAD)
        if kind != GOOD and not (self.request.keeps_deleted and kind in (DELETE, TOMBSTONE)):
            return Made(kind, identity)
        both |= {name: _METADATA[word](message, change) for name, word in self._own_compared.items()}
        return Made(kind, identity, tuple(both.get(c.name) for c in self.compared))

    def digests(self, row: Row | None) -> tuple[bytes, bytes]:
        """What is compared of a row; nothing where its values are not.

        Where deleted rows stay, their metadata columns are apart: these are of another record. A tombstone
        has no place in the source's log: then the row keeps its own, which is not compared.
        """
        if row is None or not self.request.keeps_deleted:
            return NOT_COMPARED if row is None else digest(row), b""
        both = dict(zip((c.name for c in self.compared), row, strict=True))
        own = {word: both.pop(name) for name, word in self._own_compared.items()}
        if own.get("deleted") and own.get("source-time") is None:
            own.pop("source-lsn", None)
        return digest(tuple(both.values())), digest(tuple(own.values()))

    @cached_property
    def _own_compared(self) -> dict[str, str]:
        return {name: word for name, word in self.own.items() if word in _METADATA}

    @cached_property
    def _is_marked(self) -> Marked:
        return marks_of(self.of_value.columns)

    @cached_property
    def _value_reader(self) -> HalfReader:
        wanted = within(self.inner, self._named(self.of_value.columns))
        return HalfReader(self.request.value, self.schemas, wanted, "value", self.defaults, self.former)

    @cached_property
    def _key_reader(self) -> HalfReader:
        wanted = struct(self._named(self.of_key.columns))
        return HalfReader(self.request.key, self.schemas, wanted, "key", self.defaults, self.former)

    def _named(self, columns: tuple[Column, ...]) -> tuple[Column, ...]:
        return as_named(columns, self.then) if self.then else columns

    def _key(self, message: Message, headers: Headers) -> Sequence[Any]:
        payload = message.key()
        if payload is None:
            return [None] * len(self.of_key.columns)
        return self._key_reader(bytes(payload), headers)


def largest_part(message: Message) -> int:
    """Bytes of the key, the value, or all headers of a record: docs/limits.md."""
    headers = sum(len(each[0].encode()) + len(each[1] or b"") for each in message.headers() or ())
    return max(len(message.key() or b""), len(message.value() or b""), headers)


def _time(message: Message) -> int | None:
    kind, time = message.timestamp()
    return time * 1000 if kind and abs(time) < 2**63 // 1000 else None


def _headers_of(message: Message) -> Headers:
    """Those that have a value."""
    headers = message.headers() or ()
    return [(str(header[0]), header[1]) for header in headers if isinstance(header[1], bytes)]


def _headers(message: Message) -> tuple[tuple[Any, Any], ...] | None:
    """Null where a record has none."""
    return sorted_pairs(dict(headers)) if (headers := message.headers()) else None


def _source_time(source: Row | None) -> int | None:
    return None if source is None or source[0] is None else source[0] * 1000


def _deleted_at(message: Message, change: Change) -> int | None:
    """Of a delete when the source made it; of a tombstone its own time."""
    at = _source_time(change[1])
    return None if not _is_delete(change) else _time(message) if at is None else at


def _is_delete(change: Change) -> bool:
    """A tombstone has no word for what it does."""
    return change[0] in ("d", None)


_METADATA: Mapping[str, Callable[[Message, Change], Any]] = {
    "topic": lambda message, _: message.topic(),
    "partition": lambda message, _: message.partition(),
    "offset": lambda message, _: message.offset(),
    "leader-epoch": lambda message, _: message.leader_epoch(),
    "timestamp": lambda message, _: _time(message),
    "timestamp-type": lambda message, _: _TYPES[message.timestamp()[0]],
    "headers": lambda message, _: _headers(message),
    "raw-key": lambda message, _: message.key(),
    "raw-value": lambda message, _: message.value(),
    "op": lambda _, change: change[0] or "d",
    "deleted": lambda _, change: _is_delete(change),
    "deleted-at": _deleted_at,
    "source-time": lambda _, change: _source_time(change[1]),
    "source-lsn": lambda _, change: change[1] and change[1][1],
}
"""What a row has in its metadata columns, by word."""
