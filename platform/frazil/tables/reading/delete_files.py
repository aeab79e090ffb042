"""Which delete files of a head apply to which of its data files, by its manifests."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import TYPE_CHECKING

from frazil.tables.format_v3.fields import is_vector
from frazil.tables.metadata.deletions import Deletions
from frazil.tables.metadata.manifests import manifests_of, read_entries

if TYPE_CHECKING:
    from pyiceberg.manifest import DataFile, ManifestEntry
    from pyiceberg.table import Table


def deletes_by_file(
    table: Table, entries: Iterable[ManifestEntry]
) -> list[tuple[DataFile, tuple[DataFile, ...]]]:
    """Some data files of a table's head, each with the delete files that apply to it."""
    from pyiceberg.manifest import ManifestContent

    data = tuple(entries)
    manifests = manifests_of(table, table.current_snapshot(), ManifestContent.DELETES)
    deleting = tuple(chain(*read_entries(table.io, manifests, ())))
    if not deleting:
        return [(entry.data_file, ()) for entry in data]
    specs = table.specs().items()
    everywhere = frozenset(i for i, spec in specs if all(str(f.transform) == "void" for f in spec.fields))
    applying = Deletions(data, deleting).applying(everywhere)
    return [(entry.data_file, applying[entry.data_file.file_path]) for entry in data]


def are_readable(files: Iterable[DataFile]) -> bool:
    """Whether tasks can read all of some data files and delete files: Parquet, and deletion vectors."""
    from pyiceberg.manifest import FileFormat

    return all(each.file_format == FileFormat.PARQUET or is_vector(each) for each in files)
