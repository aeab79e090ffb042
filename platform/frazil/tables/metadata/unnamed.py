"""Tables that have rows and that no catalog names: they lie where a new one of their name would be made.

The catalog may be lost. A new table would hide the old one, and land its topic from the first record.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from heapq import nlargest
from typing import TYPE_CHECKING, TypeVar

from frazil.errors import MALFORMED, UnnamedTableError
from frazil.quoting import in_shell
from frazil.tables.catalogs.catalog import is_lost, is_outage
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.catalogs.pyiceberg import site_of
from frazil.tables.commits.ledger import FORMAT
from frazil.tables.metadata.snapshots import number_or_none, rows_in_summary, summary_of
from frazil.tables.metadata.stored import METADATA, StoredFile, folders_in, list_below, number_of

if TYPE_CHECKING:
    from pyiceberg.io import FileIO
    from pyiceberg.table.metadata import TableMetadata

    _Site = tuple[str, FileIO]  # a place, and what opens its files

_T = TypeVar("_T")

_OWN_ID = re.compile(r"[-_][0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}$")
"""What some catalogs put behind a table's name: two tables of one name have two folders."""

_GIVEN_UP = "given-up-"
"""Stands before a table's uuid in the name of a file beside its data files: it may stay unnamed. SeaweedFS
takes no such file beside metadata."""

_LOOKED_AT = 3
"""Metadata files that are read, newest first, by time and by number. Who dies making a table leaves two
without rows."""


@dataclass(frozen=True)
class Unnamed:
    """The newest state with rows of a table that no catalog names."""

    location: str
    path: str
    metadata: TableMetadata

    @property
    def rows(self) -> int:
        """Of its head."""
        return rows_in_summary(summary_of(self.metadata.current_snapshot()))

    @property
    def at(self) -> datetime:
        """When it was committed."""
        return datetime.fromtimestamp(self.metadata.last_updated_ms / 1000, UTC)


def stem_of(folder: str) -> str:
    """A table's name, of the name of its folder."""
    return _OWN_ID.sub("", folder)


def give_up(io: FileIO, location: str, uuid: object) -> None:
    """Notes beside its files that a table may stay unnamed: a new one may begin there."""
    io.new_output(note_of(location, uuid)).create(overwrite=True).close()


def note_of(location: str, uuid: object) -> str:
    """Path of the file that says so."""
    return f"{location.rstrip('/')}/data/{_GIVEN_UP}{uuid}"


def give_up_unnamed(handle: TableHandle, *, dry_run: bool) -> Unnamed | None:
    """Does so where files of such a table lie; the newest of them, or None where there is no such table."""
    site = _site(handle, None)
    newest = unnamed = _first(site)
    while unnamed and site and not dry_run:
        give_up(site[1], unnamed.location, unnamed.metadata.table_uuid)
        unnamed = _first(site)
    return newest


def refuse_unnamed(handle: TableHandle, location: str | None) -> None:
    """Raises UnnamedTableError where a new table would lie on, or beside, one that has rows."""
    unnamed = _first(_site(handle, location))
    if unnamed is None or handle.load_or_none() is not None:  # somebody else has just made it
        return
    own, folder = in_shell(str(handle.name.owner)), unnamed.location.rpartition("/")[0]
    raise UnnamedTableError(
        f"The catalog has no table {handle}, and files of one lie where it would be made.",
        where=f"{unnamed.path}: {unnamed.rows:,} rows, committed {unnamed.at:%F %T} UTC",
        meaning="Nothing was made. If the catalog is lost, a new table would hide those rows, and begin at "
        "the topic's first record.",
        todo=f"`frazil rebuild-catalog --from {in_shell(folder)} --table {own}` brings it back. If it was "
        f"dropped or renamed on purpose, `frazil reset {own}` lets a new one begin.",
    )


def _site(handle: TableHandle, location: str | None) -> _Site | None:
    """Where the catalog would make it; None where it does not say."""
    from pyiceberg.exceptions import NoSuchNamespaceError, RESTError, TableAlreadyExistsError
    from pyiceberg.schema import Schema
    from pyiceberg.types import BooleanType, NestedField

    stand_in = Schema(NestedField(1, "stand_in", BooleanType(), required=False))
    try:
        return site_of(handle.catalog, handle.name.identifier, stand_in, location)
    except (TableAlreadyExistsError, NoSuchNamespaceError):
        return None
    except (RESTError, NotImplementedError, *MALFORMED) as e:  # S3 Tables' REST stages no table
        if is_lost(e):
            raise
        return None


def _first(site: _Site | None) -> Unnamed | None:
    return next(_unnamed(*site), None) if site else None


def _unnamed(location: str, io: FileIO) -> Iterator[Unnamed]:
    """What lies at a place, and at those that differ from it by the id behind the name only."""
    places = [location, *(_siblings(location, io) if _OWN_ID.search(location) else ())]
    for place in places:
        if unnamed := _newest(place, io):
            yield unnamed


def _siblings(location: str, io: FileIO) -> Iterator[str]:
    parent, _, own = location.rpartition("/")
    for folder in _allowed(lambda: list(folders_in(io, parent))):
        name = folder.rpartition("/")[2]
        if name != own and stem_of(name) == stem_of(own):
            yield folder


def _newest(location: str, io: FileIO) -> Unnamed | None:
    files = _allowed(lambda: list(list_below(io, location, "metadata")))
    for path in _newest_of([file for file in files if file.path.endswith(METADATA)]):
        metadata = _read(path, io)
        if metadata and _had_rows(metadata) and not _is_there(note_of(location, metadata.table_uuid), io):
            return Unnamed(location, path, metadata)
    return None


def _newest_of(files: Sequence[StoredFile]) -> list[str]:
    """Paths of the newest metadata files, by their times and by their numbers.

    Times are whole seconds, and those of a copy say nothing; each table begins to count anew.
    """
    by_time = nlargest(_LOOKED_AT, files, key=lambda file: (file.modified, number_of(file.path)))
    by_number = nlargest(_LOOKED_AT, files, key=lambda file: (number_of(file.path), file.modified))
    return list(dict.fromkeys(file.path for file in (*by_time, *by_number)))


def _allowed(listing: Callable[[], list[_T]]) -> list[_T]:
    """What a look gives; nothing where storage refuses it: to land, nobody needs the right to list."""
    try:
        return listing()
    except OSError as e:
        if is_outage(e):
            raise
        return []


def _is_there(path: str, io: FileIO) -> bool:
    return bool(_allowed(lambda: [True] if io.new_input(path).exists() else []))


def _read(path: str, io: FileIO) -> TableMetadata | None:
    """What a metadata file tells; None where it is damaged, or is gone again."""
    from pyiceberg.exceptions import ValidationError
    from pyiceberg.serializers import FromInputFile

    try:
        return FromInputFile.table_metadata(io.new_input(path))
    except (ValidationError, NotImplementedError, OSError, *MALFORMED) as e:
        if is_outage(e):
            raise
        return None


def _had_rows(metadata: TableMetadata) -> bool:
    """Whether a snapshot has rows, or a position: the first snapshot of each table has neither."""
    summaries = [summary_of(snapshot) for snapshot in metadata.snapshots]
    return any(number_or_none(each, "total-records") != 0 or FORMAT in each for each in summaries)
