"""Ledgers: what the newest work on `main` says of itself, and the copy of it in the table's properties.

The newest ancestor of `main` whose summary holds a ledger is the truth. Expiry may remove that snapshot, so
the commit that makes it sets the same properties on the table, with its own sequence number. The copy counts
only while the line of `main` begins behind that number: else another engine rolled the table back, and the
copy speaks of rows that are gone. Work that has no ledger ends such a copy (`disown_copy`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar, get_args, get_type_hints

from frazil.errors import MALFORMED, ConfigureError, PositionLostError
from frazil.tables.metadata.snapshots import ancestors, is_first, summary_of

if TYPE_CHECKING:
    from pyiceberg.table import Transaction
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.table.snapshots import Snapshot

FORMAT = "frazil.ledger"
"""The version of a ledger's format, MAJOR.MINOR; a ledger without it is of version 1."""

SEQUENCE = "frazil.ledger-sequence"
"""In the table's properties only: the sequence number of the snapshot that the copy was made of."""

_NEVER = 2**63 - 1  # no snapshot comes to have it

_VERSION = (2, 2)
_OTHERS = (
    "frazil.upkeep",
    "frazil.suspended",
    "frazil.migrations",
    "frazil.layout",
    "frazil.key",
    "frazil.cut.",
    "frazil.fed.",
    "frazil.reader.",
    "frazil.truncates",
    "frazil.masks",
    "frazil.paths",
    "frazil.task-seconds",
    "frazil.record-times",
    "frazil.requests",
)
"""Beginnings of what else stands beside a ledger."""

T = TypeVar("T")
E = TypeVar("E", bound="Entry")


@dataclass(frozen=True, slots=True)
class Codec(Generic[T]):
    """How a field is written as a property, and read again; an annotation of the field names it."""

    write: Callable[[T], str]
    read: Callable[[str], T]


_CODECS: dict[Any, Codec[Any]] = {
    str: Codec(str, str),
    int: Codec(str, int),
    int | None: Codec(lambda n: "" if n is None else str(n), lambda text: int(text) if text else None),
    float | None: Codec(lambda n: "" if n is None else str(n), lambda text: float(text) if text else None),
}


@dataclass(frozen=True)
class Entry(ABC):
    """A ledger. Each field of a subclass is one property: `max_timestamp` is `frazil.max-timestamp`."""

    MARK: ClassVar[str]
    """The property that every such ledger has, and no other snapshot."""

    # The version that it was written in.
    format: str = field(default=".".join(map(str, _VERSION)), kw_only=True)
    # Properties of a later minor version, handed on from entry to entry.
    unknown: Mapping[str, str] = field(default_factory=dict, kw_only=True)

    @abstractmethod
    def following(self, before: Self | None) -> Self:
        """The same, with the totals that it has behind another ledger."""

    def properties(self) -> dict[str, str]:
        """As properties of a summary; `copied` makes those of the table of them."""
        own = {name: codec.write(getattr(self, attribute)) for attribute, name, codec in _coded(type(self))}
        return {FORMAT: self.format, **own, **self.unknown}

    @classmethod
    def parse(cls, properties: Mapping[str, str]) -> Self:
        """The opposite of `properties`; what an older version did not write has its default."""
        coded = _coded(cls)
        values: dict[str, Any] = {a: read(n, properties[n], c.read) for a, n, c in coded if n in properties}
        if missing := [n for a, n, _ in coded if a not in values and a in _needed(cls)]:
            raise unreadable(missing[0], "", "it is missing")
        if _later(properties):
            known = {FORMAT, SEQUENCE, *(name for _, name, _ in coded)}
            new = {k: v for k, v in properties.items() if k.startswith("frazil.") and k not in known}
            values["unknown"] = {k: v for k, v in new.items() if not k.startswith(_OTHERS)}
            values["format"] = properties[FORMAT]
        return read(cls.MARK, properties.get(cls.MARK, ""), lambda _: cls(**values))

    @classmethod
    def of(cls, snapshot: Snapshot) -> Self | None:
        """What a snapshot says; None where no such work made it."""
        summary = summary_of(snapshot)
        return cls.parse(summary) if cls.MARK in summary else None

    @classmethod
    def all(cls, metadata: TableMetadata) -> Iterator[tuple[Snapshot, Self]]:
        """The ledgers of `main`, newest first, each with its snapshot, as far back as these are kept."""
        return ((snapshot, entry) for snapshot in ancestors(metadata) if (entry := cls.of(snapshot)))

    @classmethod
    def newest_of(cls, line: Iterable[Snapshot]) -> Recorded[Self] | None:
        """What the newest snapshot that tells says; None where none does any more.

        The table's first snapshot tells, too: that nothing was done yet.
        """
        for snapshot in line:
            if (entry := cls.of(snapshot)) or is_first(snapshot):
                return Recorded(entry, snapshot.sequence_number or 0)
        return None

    @classmethod
    def newest(cls, metadata: TableMetadata, *, whatever_it_holds: bool = False) -> Self | None:
        """What holds for `main`; None where nothing was done yet.

        Args:
            whatever_it_holds: Take the copy as it is: for who makes all rows anew.

        Raises:
            PositionLostError: Only the copy would tell, and it is newer than what `main` holds.
            ConfigureError: A later major version of Frazil wrote it.
        """
        if recorded := cls.newest_of(ancestors(metadata)):
            return recorded.entry
        copy = cls.copy(metadata.properties)
        if copy and not whatever_it_holds and _is_newer(metadata):
            raise _newer_than_main(metadata, f"{cls.MARK} = {metadata.properties[cls.MARK]}")
        return copy

    @classmethod
    def copy(cls, properties: Mapping[str, str]) -> Self | None:
        """What the table's properties say, whether it holds or not."""
        return cls.parse(properties) if cls.MARK in properties else None

    def handed_on(self, before: Self | None) -> Self:
        """The same, with what a later version of Frazil wrote into the ledger before."""
        if before is None or not before.unknown:
            return self
        return replace(self, format=before.format, unknown={**before.unknown, **self.unknown})


@dataclass(frozen=True, slots=True)
class Recorded(Generic[E]):
    """What a line of snapshots tells."""

    entry: E | None  # None: nothing was done yet
    sequence: int  # the sequence number of the snapshot that says so


def copied(entry: Mapping[str, str], sequence: int) -> dict[str, str]:
    """The table's properties beside a ledger, set by the same commit; its snapshot has the `sequence`."""
    return {**entry, SEQUENCE: str(sequence)}


def rewind(tx: Transaction, kind: type[Entry], to: Recorded[Any]) -> None:
    """Makes the table's copy what an earlier snapshot says; what only the present copy says goes."""
    properties = tx.table_metadata.properties
    copy = copied(to.entry.properties(), to.sequence) if to.entry else {}
    names = (*_noted(kind, properties), SEQUENCE) if kind.MARK in properties else ()
    if gone := [name for name in names if name in properties and name not in copy]:
        tx.remove_properties(*gone)
    if copy:
        tx.set_properties(copy)


def _noted(kind: type[Entry], properties: Mapping[str, str]) -> Iterable[str]:
    """The properties of a copy; of one that can't be read those that any copy may have."""
    try:
        copy = kind.copy(properties)
    except PositionLostError:
        return FORMAT, *(name for _, name, _ in _coded(kind))
    return copy.properties() if copy else ()


def disown_copy(tx: Transaction) -> None:
    """Has a commit that moves no position end a copy that `main` never held, or holds no longer.

    Another engine rolled the table back. The commit's own snapshot is newer than the copy: once no other is
    left of the line, the copy would seem to be of the line.
    """
    metadata = tx.table_metadata
    made = read(SEQUENCE, metadata.properties.get(SEQUENCE, "0"), int)
    current = any(s.sequence_number == made for s in ancestors(metadata))
    if not current and _is_newer(metadata):
        tx.set_properties({SEQUENCE: str(_NEVER)})


def read(name: str, text: str, parse: Callable[[str], T]) -> T:
    """What a property or a summary says in Frazil's own words; raises PositionLostError where it does not."""
    try:
        return parse(text)
    except MALFORMED as e:
        raise unreadable(name, text, f"{type(e).__name__}: {e!s:.200}") from None


def unreadable(name: str, text: str, why: str) -> PositionLostError:
    """The error of a note that somebody else wrote, or cut."""
    return PositionLostError(
        f"What Frazil noted in the table can't be read: {name}.",
        where=f"{name} = {text!r:.200}: {why}",
        meaning="What the table holds can't be told. Nothing was changed.",
        todo="Find out who changed it. `frazil rollback TABLE --to SNAPSHOT` goes back to one that can be "
        "read; a property is put back by hand.",
    )


def whole_number(number: Any) -> int:
    """A number of a note; raises ValueError where it is no whole one."""
    if type(number) is not int:
        raise ValueError(f"{number!r:.100} is no whole number")
    return number


def _needed(kind: type[Entry]) -> set[str]:
    return {f.name for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING}


@cache
def _coded(kind: type[Entry]) -> tuple[tuple[str, str, Codec[Any]], ...]:
    """Attribute, property and codec of each field."""
    types = get_type_hints(kind, include_extras=True)
    own = [f.name for f in fields(kind) if not f.kw_only]
    return tuple((n, f"frazil.{n.replace('_', '-')}", _codec(types[n])) for n in own)


def _codec(annotation: Any) -> Codec[Any]:
    named = next((arg for arg in get_args(annotation) if isinstance(arg, Codec)), None)
    return named or _CODECS[annotation]


def _later(properties: Mapping[str, str]) -> bool:
    """Whether a later minor version wrote a ledger."""
    text = properties.get(FORMAT, "1")
    written = read(FORMAT, text, lambda text: tuple(map(int, text.split("."))))
    if written[0] > _VERSION[0]:
        raise ConfigureError(
            f"A newer Frazil wrote a ledger of version {text}; this one reads up to version {_VERSION[0]}.",
            where=f"written by {properties.get('frazil.version', 'unknown')}, read by {version('frazil')}",
            meaning="What the table holds can't be told here. Nothing was changed.",
            todo="Install that version of Frazil, or a newer one, on this machine.",
        )
    return written > _VERSION


def _is_newer(metadata: TableMetadata) -> bool:
    """Whether the copy was made of a snapshot that `main` never held, or holds no longer."""
    made = read(SEQUENCE, metadata.properties.get(SEQUENCE, "0"), int)
    oldest = min((s.sequence_number or 0 for s in ancestors(metadata)), default=0)
    # What expired from the line is older than all that is left of it.
    return made > 0 and made >= oldest


def _newer_than_main(metadata: TableMetadata, where: str) -> PositionLostError:
    made = int(metadata.properties[SEQUENCE])
    kept = next((s.snapshot_id for s in metadata.snapshots if s.sequence_number == made), None)
    back = f"`frazil rollback TABLE --to {kept}` makes the newer snapshot the head again; or " if kept else ""
    return PositionLostError(
        "Another engine rolled the table back, and nothing tells any more what it holds.",
        where=f"{metadata.location}: head {metadata.current_snapshot_id} is older than the position {where}",
        meaning="Going on from that position would lose what the rollback took away. Nothing was changed.",
        todo=f"{back}start over: a derived table with --rebuild, a topic with a table of another name.",
    )
