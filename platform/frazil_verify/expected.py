"""The rows that records make, as entries; and single ones of them again, to say how a row differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from confluent_kafka import Message

from frazil_verify.digests import Digests
from frazil_verify.entries import (
    BAD,
    DELETE,
    GOOD,
    LARGE,
    SKIPPED,
    TOMBSTONE,
    TRUNCATE,
    UNKNOWN,
    Made,
    Row,
)
from frazil_verify.filters.wanted import Wanted
from frazil_verify.findings import UnverifiableError
from frazil_verify.log.registry import Schemas
from frazil_verify.masks.halves import Unmasked
from frazil_verify.masks.masks import Convert, Masks
from frazil_verify.request import Half, Request
from frazil_verify.table.metadata import Column
from frazil_verify.table.names import Names, as_known, names_of
from frazil_verify.table.renamed import Renames
from frazil_verify.values.bad import BadRecordError, NotComparedError
from frazil_verify.values.debezium import Marked, marks_of
from frazil_verify.values.half import Filled, HalfReader, struct, within
from frazil_verify.values.metadata import (
    VALIDITY,
    Change,
    OwnColumns,
    headers_of,
    largest_part,
    lsn_of,
    moment_of,
)
from frazil_verify.values.naming import Headers

_CHANGES: dict[Any, int] = {"c": GOOD, "r": GOOD, "u": GOOD, "d": DELETE}
_OF_LARGE = {GOOD: LARGE, DELETE: BAD, TOMBSTONE: BAD}


@dataclass(frozen=True)
class Expected:
    """Turns records into the rows that the table must have.

    Args:
        renames: Those that the table went through: paths of columns, and their new names.
        left: The former names of columns that retypes left behind.
        changed: Columns whose older rows may have another mask.
        then: The names of the fields when a record was landed; empty for those of today.
        defaults: Whether a field that a record lacks has its default, as in rows that were landed since the
            table has its column, or null, as in older ones (docs/types.md).
    """

    request: Request
    schemas: Schemas
    columns: tuple[Column, ...]
    renames: Renames = ()
    left: Mapping[int, str] = field(default_factory=dict)
    changed: frozenset[str] = frozenset()
    then: Names = field(default_factory=dict)
    defaults: bool = True

    @cached_property
    def inner(self) -> str:
        """Where in a value the row stands."""
        return "after" if self.request.mode == "cdc" else ""

    @cached_property
    def own(self) -> OwnColumns:
        """The metadata columns that the table has."""
        there = {c.name for c in self.columns}
        return OwnColumns.of(self.request.metadata_columns, there, of_versions=self.request.keeps_versions)

    @cached_property
    def of_value(self) -> Filled:
        """The columns that values fill, as they are before masks."""
        rest = [c for c in self.columns if c.name not in self.own.words]
        return self._unmasked_value.filled(rest, self.left)

    @cached_property
    def of_key(self) -> Filled:
        """The columns that keys fill: a field of both is the value's, unless it tells rows apart."""
        taken = {c.name for c in self.of_value.columns} | self.own.words.keys()
        rest = [c for c in self.columns if c.name not in taken - {*self.request.key_columns}]
        return self._unmasked_key.filled(rest, self.left)

    @cached_property
    def _unmasked_value(self) -> Unmasked:
        return Unmasked(self.request.value, self.schemas, self._masks, self.changed, self.inner, "value")

    @cached_property
    def _unmasked_key(self) -> Unmasked:
        return Unmasked(self.request.key, self.schemas, self._masks, self.changed, "", "key")

    @cached_property
    def _masks(self) -> Masks:
        return Masks(self.request.masks)

    @cached_property
    def _masked(self) -> list[tuple[int, Convert]]:
        """Where values stand that are masked, and what makes of each that which the table has."""
        converts = [self._masks.of(c) for c in (*self._read_of_key, *self._read_of_value)]
        return [(at, convert) for at, convert in enumerate(converts) if convert is not None]

    @cached_property
    def _wanted(self) -> Wanted | None:
        """What says which records become rows; None where all do."""
        if not self.request.where:
            return None
        known = self.of_value.columns, self.of_key.columns
        return Wanted.of(self.request.where, *known, self._unmasked_value.column, self._unmasked_key.column)

    @cached_property
    def compared(self) -> tuple[Column, ...]:
        """The columns that are compared, in the table's order."""
        names = {c.name for c in (*self.of_value.columns, *self.of_key.columns)} | self.own.compared.keys()
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
        named = replace(self, then=then)
        same = named if (others := named._others) else self
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
            return Made(UNKNOWN if self.request.where else GOOD)

    def _made(self, message: Message) -> Made:
        headers, payload = headers_of(message), message.value()
        if payload is not None and self._value_reader.is_of_another_table(bytes(payload), headers):
            return Made(SKIPPED)
        key = self._key(message, headers)
        if payload is None:
            return self._row(message, key, None, self._without_value, (None, None))
        read = self._value_reader(bytes(payload), headers)
        kind, values, change = self._unwrapped(read) if self.inner else (GOOD, read, (None, None))
        return self._row(message, key, values, kind, change)

    @property
    def _without_value(self) -> int:
        """What a record without a value is."""
        delete = TOMBSTONE if self._deletes_are_rows else DELETE
        return {"bad": BAD, "skip": SKIPPED, "keep": GOOD, "delete": delete}[self.request.null_value]

    def _unwrapped(self, change: Row) -> tuple[int, Row | None, Change]:
        """A change of a database: what it does, the row, and how it is called and where it comes from."""
        op, row, source = change
        if op == "t":
            return TRUNCATE, None, (op, source)
        if row is not None and self._is_marked(row):
            raise BadRecordError("Debezium's mark for a value that it lacks, or for infinity")
        kind = _CHANGES.get(op, BAD)
        return BAD if kind == GOOD and row is None else kind, row, (op, source)

    def _row(self, message: Message, key: Row, value: Row | None, kind: int, change: Change) -> Made:
        both: Sequence[Any] = (*key, *(self._no_values if value is None else value))
        if self._wanted is not None and kind == GOOD and not self._is_wanted(both):
            return Made(SKIPPED)
        if self._masked:
            both = self._with_masks(both)
        identity = tuple([both[at] for at in self._places_of_identity])
        if kind in (GOOD, DELETE, TOMBSTONE) and None in identity:
            return Made(BAD)
        at = moment_of(message, change) if self.request.keeps_versions else lsn_of(change)
        if kind == TRUNCATE:
            return Made(kind, lsn=at)
        if kind != GOOD and not (self._deletes_are_rows and kind in (DELETE, TOMBSTONE)):
            return Made(kind, identity)
        all_values = (*both, *self.own.values(message, change))
        row = tuple([all_values[at] for at in self._places_of_row])
        return Made(kind, identity, row, at)

    @property
    def _deletes_are_rows(self) -> bool:
        return self.request.keeps_deleted or self.request.keeps_versions

    def _is_wanted(self, values: Sequence[Any]) -> bool:
        assert self._wanted is not None
        by_name = {name: values[at] for name, at in self._places.items()}
        return self._wanted.take(by_name) is True

    def _with_masks(self, values: Sequence[Any]) -> Sequence[Any]:
        masked = [*values]
        for at, convert in self._masked:
            if masked[at] is not None:
                masked[at] = convert(masked[at])
        return masked

    @cached_property
    def _places(self) -> dict[str, int]:
        """Where the value of a field stands behind those of the key: a key's is told apart by its own."""
        key = {c.name: at for at, c in enumerate(self._read_of_key)}
        value = {c.name: at for at, c in enumerate(self._read_of_value, len(key))}
        return {**key, **value, **{name: key[name] for name in self.request.key_columns if name in key}}

    @cached_property
    def _no_values(self) -> Row:
        return (None,) * len(self._read_of_value)

    @cached_property
    def _places_of_identity(self) -> list[int]:
        if missing := [name for name in self.request.key_columns if name not in self._places]:
            raise UnverifiableError(f"rows are told apart by {', '.join(missing)}, which can't be compared")
        return [self._places[name] for name in self.request.key_columns]

    @cached_property
    def _places_of_row(self) -> list[int]:
        """Where the values of a row stand: those of its metadata columns come last."""
        first = len(self._read_of_key) + len(self._read_of_value)
        places = {**self._places, **{name: at for at, name in enumerate(self.own.compared, first)}}
        return [places[c.name] for c in self.compared]

    @cached_property
    def digests(self) -> Digests:
        """What is compared of rows.

        Where deleted rows stay, their metadata columns are apart: these are of another record. Of a version
        it is apart when it held.
        """
        words = tuple(self.own.compared.values()) if self.request.keeps_deleted else ()
        return Digests(self.compared, self.own.compared, VALIDITY if self.request.keeps_versions else words)

    @cached_property
    def _is_marked(self) -> Marked:
        return marks_of(self.of_value.columns)

    @cached_property
    def _value_reader(self) -> HalfReader:
        wanted = within(self.inner, as_known(self._read_of_value, self.then))
        renames = [(f"{self.inner}.{path}".lstrip("."), name) for path, name in self.renames]
        return self._reader(self.request.value, wanted, "value", renames)

    @cached_property
    def _key_reader(self) -> HalfReader:
        wanted = struct(as_known(self._read_of_key, self.then))
        return self._reader(self.request.key, wanted, "key", self.renames)

    def _reader(self, half: Half, wanted: Mapping[str, Any], word: str, renames: Renames) -> HalfReader:
        return HalfReader(half, self.schemas, wanted, word, self.defaults, renames, self._others)

    @cached_property
    def _read_of_value(self) -> tuple[Column, ...]:
        """Its columns, and what else is asked of it."""
        return (*self.of_value.columns, *(self._wanted.of_value if self._wanted else ()))

    @cached_property
    def _read_of_key(self) -> tuple[Column, ...]:
        return (*self.of_key.columns, *(self._wanted.of_key if self._wanted else ()))

    @cached_property
    def _others(self) -> Names:
        """The names of `then` that are others today."""
        now = names_of(struct(self.columns))
        return {number: name for number, name in self.then.items() if now.get(number, name) != name}

    def _key(self, message: Message, headers: Headers) -> Row:
        payload = message.key()
        if payload is None:
            return (None,) * len(self._read_of_key)
        return self._key_reader(bytes(payload), headers)
