"""Who still reads earlier states of a table: expiry and orphan removal leave alone what these need.

Branches and tags stand in the metadata itself, and `retention` goes by them. Everybody else is told here:
Glue and Snowflake, which name a metadata file; tables that are made of the table, and its feed, which have
yet to read what came behind their positions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from frazil.connections import Connections
from frazil.derive.feeds.position import noted
from frazil.derive.positions.inputs import readers_of, since, standing
from frazil.derive.positions.ledger import DerivedLedger, Position
from frazil.errors import FrazilError, MissingError
from frazil.publishing.pointer import is_foreign, metadata_shown
from frazil.publishing.target import Shown, Target
from frazil.publishing.targets import targets_of
from frazil.spec.derived import DerivedSpec
from frazil.spec.names import TableName, things
from frazil.spec.table import AnyTable
from frazil.tables.catalogs.handle import TableHandle, name_of
from frazil.tables.metadata.snapshots import UPKEEP, ancestors, made_at, summary_of

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyiceberg.table.snapshots import Snapshot


@dataclass(frozen=True, slots=True)
class Reader:
    """Somebody who has not read the newest snapshots of a table."""

    name: str  # such as `glue local.orders`, `table local.totals`, `topic totals`
    todo: str  # the command that brings it in step
    needs: frozenset[int]  # snapshots of the table that it reads now, or has yet to read
    # When the first one came that it has not read, in seconds since the epoch; None: nobody knows.
    since: float | None = None
    location: str | None = ""  # the metadata file that it is shown; None: it does not answer
    head: Snapshot | None = None  # the snapshot that it is shown; another engine's is none of the table's own

    def lag(self, now: float) -> float:
        """Seconds for which it has not read what is there."""
        return 0.0 if self.since is None else now - self.since

    def delay(self, bound: float) -> str:
        """Who is behind since when, and until when what it needs is kept; `bound`: for how many seconds."""
        if self.since is None:
            return f"{self.name} does not answer"
        began, ends = (datetime.fromtimestamp(at, UTC) for at in (self.since, self.since + bound))
        return (
            f"{self.name} has not read what came since {began:%F %T} UTC, {len(self.needs)} snapshots are "
            f"kept for it until {ends:%F %T} UTC"
        )


@dataclass(frozen=True, slots=True)
class References:
    """What readers need of a table, as long as the spec lets them take."""

    readers: tuple[Reader, ...]  # those who are behind by less
    bound: float  # seconds that a reader may be behind

    @property
    def snapshots(self) -> frozenset[int]:
        """Ids of the snapshots that they need."""
        return frozenset().union(*(reader.needs for reader in self.readers))

    @property
    def heads(self) -> tuple[Snapshot, ...]:
        """Snapshots that targets show."""
        return tuple(reader.head for reader in self.readers if reader.head)

    @property
    def locations(self) -> tuple[str, ...]:
        """Metadata files that targets show."""
        return tuple(reader.location for reader in self.readers if reader.location)

    @property
    def longest(self) -> float:
        """For how many seconds any metadata file may be one that a target shows: it does not answer."""
        return self.bound if any(reader.location is None for reader in self.readers) else 0.0

    @property
    def text(self) -> str:
        """The readers in a sentence; empty if no reader is behind."""
        behind = [reader for reader in self.readers if reader.since or reader.location is None]
        delays = "; ".join(f"{reader.delay(self.bound)} ({reader.todo})" for reader in behind)
        return f" Kept for readers: {delays}." if delays else ""


def references_of(spec: AnyTable, connections: Connections, table: Table, now: float) -> References:
    """What readers need of a spec's table, or of its dead letters, which no target shows."""
    bound = spec.upkeep.keep_for_readers.total_seconds()
    own = name_of(table) == things(spec, connections.settings).table
    shown = _pointers(spec, connections, table, now) if own else ()
    readers = (*shown, *followers_of(spec, connections, table))
    return References(tuple(reader for reader in readers if reader.lag(now) < bound), bound)


def followers_of(spec: AnyTable, connections: Connections, table: Table) -> Iterator[Reader]:
    """The tables that are made of a table, and its feed, where they have not read all of it."""
    name = name_of(table)
    for reader in readers_of(table):
        position = _position_in(connections, TableName.parse(reader, name.namespace), name)
        yield from _follower(f"table {reader}", f"`frazil derive {reader}`", position, table)
    if isinstance(spec, DerivedSpec) and spec.feeds and name == things(spec, connections.settings).table:
        fed = noted(table, spec.feeds.topic)
        todo = f"`frazil derive {name}`"
        yield from _follower(f"topic {spec.feeds.topic}", todo, fed.position if fed else None, table)


def pointer_of(target: Target, shown: Shown, table: Table) -> Reader | None:
    """What a target needs; None where it shows what the table is now, or what is gone already."""
    metadata = metadata_shown(table, shown.metadata_location)
    if metadata is None or shown.metadata_location == table.metadata_location:
        return None
    head = metadata.current_snapshot()
    known = head is None or table.metadata.snapshot_by_id(head.snapshot_id) is not None
    if not known and not is_foreign(table, shown):
        return None
    next_ = _next(table, head) if known else None
    return Reader(
        name=f"{target.word} {target.relations[0]}",
        todo=f"`frazil sync {'.'.join(table.name())}`",
        needs=frozenset(snapshot.snapshot_id for snapshot in (head, next_) if snapshot),
        since=made_at(next_) if next_ else None,
        location=shown.metadata_location,
        head=head,
    )


def _next(table: Table, head: Snapshot | None) -> Snapshot | None:
    """The first snapshot behind one that is shown. It is kept as well: it says since when that one is old.

    By sequence numbers: once those between it and the head have expired, no line leads back to it.
    """
    read = (head.sequence_number or 0) if head else 0
    later = [s for s in table.metadata.snapshots if (s.sequence_number or 0) > read and not _is_upkeep(s)]
    return min(later, key=lambda s: s.sequence_number or 0, default=None)


def _pointers(spec: AnyTable, connections: Connections, table: Table, now: float) -> Iterator[Reader]:
    for target in targets_of(spec, connections.settings):
        try:
            shown = target.read(connections)
            reader = pointer_of(target, shown, table) if shown else None
        except MissingError:
            continue  # who can't log in has shown nothing
        except Exception:  # noqa: BLE001 - whatever keeps it from answering, it goes on showing something
            reader = _silent(target, spec, table, now)
        if reader:
            yield reader


def _silent(target: Target, spec: AnyTable, table: Table, now: float) -> Reader:
    """A target that does not answer may show any state that it is allowed to."""
    oldest = (now - spec.upkeep.keep_for_readers.total_seconds()) * 1000
    young = frozenset(s.snapshot_id for s in ancestors(table.metadata) if s.timestamp_ms > oldest)
    todo = "`frazil status` shows what runs"
    return Reader(f"{target.word} {target.relations[0]}", todo, young, location=None)


def _position_in(connections: Connections, reader: TableName, name: TableName) -> Position | None:
    """How far a table has read another; None where it does not read it any more."""
    table = TableHandle(connections.catalog, reader).load_or_none()
    try:
        ledger = DerivedLedger.newest(table.metadata) if table else None
    except FrazilError:  # its position is lost: it must be made anew, and says so itself
        return None
    return ledger.inputs.get(str(name)) if ledger else None


def _follower(name: str, todo: str, position: Position | None, table: Table) -> Iterator[Reader]:
    if position is None or standing(position, table) != "held":
        return
    if unread := list(since(table, position)):
        needs = frozenset({position.snapshot, *(s.snapshot_id for s in unread)})
        yield Reader(name, todo, needs, _came(unread))


def _came(unread: Sequence[Snapshot]) -> float | None:
    """When the first snapshot came that is not read, and that is not upkeep's, which brings nothing."""
    times = [made_at(s) for s in unread if not _is_upkeep(s)]
    return times[-1] if times else None


def _is_upkeep(snapshot: Snapshot) -> bool:
    return UPKEEP in summary_of(snapshot)
