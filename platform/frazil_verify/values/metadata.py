"""What a row has in its metadata columns: docs/landing.md, "Columns", and docs/cdc.md."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from confluent_kafka import Message

from frazil_verify.entries import NO_LSN
from frazil_verify.table.canonical import sorted_pairs
from frazil_verify.values.naming import Headers

Change = tuple[Any, Any]
"""How a change of a database is called, and its source: when it was made, and where in the log."""

_TYPES = {0: "NO_TIMESTAMP_TYPE", 1: "CREATE_TIME", 2: "LOG_APPEND_TIME"}


def largest_part(message: Message) -> int:
    """Bytes of the key, the value, or all headers of a record: docs/limits.md."""
    headers = sum(len(each[0].encode()) + len(each[1] or b"") for each in message.headers() or ())
    return max(len(message.key() or b""), len(message.value() or b""), headers)


def _time(message: Message) -> int | None:
    kind, time = message.timestamp()
    return time * 1000 if kind and abs(time) < 2**63 // 1000 else None


def headers_of(message: Message) -> Headers:
    """Those that have a value."""
    headers = message.headers() or ()
    return [(str(header[0]), header[1]) for header in headers if isinstance(header[1], bytes)]


def _headers(message: Message) -> tuple[tuple[Any, Any], ...] | None:
    """Null where a record has none."""
    return sorted_pairs(dict(headers)) if (headers := message.headers()) else None


def _source_time(source: tuple[Any, ...] | None) -> int | None:
    return None if source is None or source[0] is None else source[0] * 1000


def _deleted_at(message: Message, change: Change) -> int | None:
    """Of a delete when the source made it; of a tombstone its own time."""
    at = _source_time(change[1])
    return None if not _is_delete(change) else _time(message) if at is None else at


def lsn_of(change: Change) -> int:
    """Where a change stands in the database's log."""
    source = change[1]
    return NO_LSN if source is None or source[1] is None else int(source[1])


def moment_of(message: Message, change: Change) -> int:
    """When the source made a change, in microseconds; where it does not say so the record's own time."""
    at = _source_time(change[1])
    at = _time(message) if at is None else at
    return NO_LSN if at is None else at


def _is_delete(change: Change) -> bool:
    """A tombstone has no word for what it does."""
    return change[0] in ("d", None)


METADATA: Mapping[str, Callable[[Message, Change], Any]] = {
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

VALIDITY = ("valid-from", "valid-to", "current")
"""Those that say when a version held, which other records decide, too."""

METADATA_OF_VERSIONS: Mapping[str, Callable[[Message, Change], Any]] = {
    **METADATA, "op": lambda _, change: change[0], **dict.fromkeys(VALIDITY, lambda *_: None),
}  # fmt: skip


@dataclass(frozen=True)
class OwnColumns:
    """The metadata columns that a table has.

    Args:
        words: Their words, by their names.
        of_versions: Whether the table keeps all versions of a row.
    """

    words: Mapping[str, str]
    of_versions: bool

    @classmethod
    def of(cls, names: Mapping[str, str], there: Collection[str], *, of_versions: bool) -> OwnColumns:
        """Those that are there, of all names by their words."""
        return cls({name: word for word, name in names.items() if name in there}, of_versions)

    @cached_property
    def compared(self) -> Mapping[str, str]:
        """Those of which a record says what stands in them."""
        return {name: word for name, word in self.words.items() if word in self._made}

    def values(self, message: Message, change: Change) -> Sequence[Any]:
        """What a record makes of those that are compared."""
        return [of(message, change) for of in self._in_order]

    @cached_property
    def _in_order(self) -> Sequence[Callable[[Message, Change], Any]]:
        return [self._made[word] for word in self.compared.values()]

    @property
    def _made(self) -> Mapping[str, Callable[[Message, Change], Any]]:
        return METADATA_OF_VERSIONS if self.of_versions else METADATA
