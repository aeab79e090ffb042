"""What lies below a prefix of a bucket: the places of tables, by one listing."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from frazil.spec.names import TableName
from frazil.tables.metadata.stored import METADATA, StoredFile
from frazil.tables.metadata.unnamed import stem_of
from frazil.upkeep.storage import key_of

_FOLDER = re.compile("/(?:metadata|data)/")
_STAGED = "/.iceberg_staged/"
"""Where SeaweedFS keeps tables that were asked for, and not made."""

_DATABASE = ".db"
"""How Glue's and Hive's catalogs call the folder of a namespace."""


@dataclass(frozen=True, slots=True)
class Place:
    """A folder that is a table's location, or was one.

    Attributes:
        location: Its path.
        metadata: The metadata files in it.
        others: How many other files there are, by the ends of their names.
    """

    location: str
    metadata: tuple[StoredFile, ...] = ()
    others: Counter[str] = field(default_factory=Counter)

    @property
    def name(self) -> TableName:
        """The table's name, as catalogs make a location of it: `.../namespace/table`. No file tells it."""
        namespace, _, table = self.location.rpartition("/")
        own = namespace.rpartition("/")[2].removesuffix(_DATABASE)
        return TableName(own, stem_of(table))


@dataclass(frozen=True)
class Bucket:
    """What one listing found below a prefix."""

    prefix: str
    keys: frozenset[str]
    places: tuple[Place, ...]

    def covers(self, path: str) -> bool:
        """Whether a file of that path would have been listed."""
        return _place_of(path) == _place_of(self.prefix) and f"/{key_of(path)}".startswith(self._root)

    def has(self, path: str) -> bool:
        """Whether a file was listed."""
        return key_of(path) in self.keys

    @property
    def _root(self) -> str:
        return f"/{key_of(self.prefix)}/".replace("//", "/")


def look_below(prefix: str, files: Iterable[StoredFile]) -> Bucket:
    """Sorts the files below a prefix by the tables that they are of."""
    listed, prefix = [file for file in files if _STAGED not in file.path], prefix.rstrip("/")
    metadata = defaultdict[str, list[StoredFile]](list)
    for file in listed:
        if file.path.endswith(METADATA) and (location := _above(file.path)):
            metadata[location].append(file)
    others = defaultdict[str, Counter[str]](Counter)
    for file in listed:
        for location in _homes(file.path, metadata.keys()):
            others[location][file.path.rpartition(".")[2]] += 1
    folders = sorted({*metadata, *others})
    places = tuple(
        Place(each, tuple(metadata[each]), others[each]) for each in folders if len(each) >= len(prefix)
    )
    return Bucket(prefix, frozenset(key_of(file.path) for file in listed), places)


def _above(path: str) -> str:
    """The location of a table that has a metadata file of this path."""
    folder = path.rpartition("/")[0]
    return folder.removesuffix("/metadata") if folder.endswith("/metadata") else ""


def _homes(path: str, known: Iterable[str]) -> Iterator[str]:
    """The location of a file that is no metadata file; a known one, if it may be that."""
    if path.endswith(METADATA):
        return
    possible = [path[: match.start()] for match in _FOLDER.finditer(path)]
    home = next((each for each in possible if each in known), None)
    if home or (possible and path.endswith((".avro", ".parquet"))):
        yield home or possible[0]


def _place_of(path: str) -> str:
    """The bucket."""
    _, has_scheme, rest = path.partition("://")
    return rest.partition("/")[0] if has_scheme else ""
