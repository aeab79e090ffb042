"""What it takes to replace files of a table: which go, which come, and whether that still fits the head.

A manifest never changes: as long as the head names the manifests that were read, all of their files are
live. Where others wrote those manifests anew, the files are looked for in the new ones.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

from frazil.errors import OvertakenError
from frazil.tables.format_v3.fields import REFERENCED_FILE, DeleteKey, delete_key, field_of
from frazil.tables.metadata.files import delete_bounds
from frazil.tables.metadata.manifests import Entries, Head, manifests_of, read_entries

if TYPE_CHECKING:
    from pyiceberg.manifest import DataFile, ManifestFile
    from pyiceberg.table import Table


@dataclass(frozen=True)
class Replacement:
    """Data files in the place of others."""

    gone: frozenset[str]  # paths of the manifests that the head no longer names
    removed: Entries = ()  # entries of the files that go
    kept: Entries = ()  # the other live entries of the manifests that are gone
    added: tuple[DataFile, ...] = ()
    known: frozenset[str] = frozenset()  # paths of all manifests of the head that was read
    sequence: int | None = None  # sequence number that the new files bear; None: that of their commit
    untold: bool = False  # whether manifests say nothing of the files that go
    vectors: tuple[DataFile, ...] = ()  # new ones, of data files that stay; those which these had go
    idle: frozenset[DeleteKey] = frozenset()  # delete files that take no row away any more: these go, too

    @cached_property
    def paths(self) -> frozenset[str]:
        """Paths of the files that go."""
        return frozenset(e.data_file.file_path for e in self.removed)

    @cached_property
    def vectored(self) -> frozenset[str]:
        """Paths of the data files that get vectors."""
        return frozenset(field_of(vector, REFERENCED_FILE) for vector in self.vectors)

    def drops(self, deletes: DataFile) -> bool:
        """Whether a delete file goes: it takes no row away, or is of a file that goes, or gets a vector."""
        of = field_of(deletes, REFERENCED_FILE)
        return delete_key(deletes) in self.idle or of in self.paths or of in self.vectored


def replacing(
    named: Mapping[str, Entries], paths: Collection[str] | None, added: Iterable[DataFile] = ()
) -> Replacement:
    """Replaces some files, whatever rows the new ones hold.

    `named` has the manifests that name the files at least; `paths` are the files that go; None: all.
    """

    def goes(path: str) -> bool:
        return paths is None or path in paths

    gone = {m: of for m, of in named.items() if any(goes(e.data_file.file_path) for e in of)}
    entries = list(chain(*gone.values()))
    return Replacement(
        gone=frozenset(gone),
        removed=tuple(e for e in entries if goes(e.data_file.file_path)),
        kept=tuple(e for e in entries if not goes(e.data_file.file_path)),
        added=tuple(added),
    )


def same_rows(head: Head, paths: Collection[str], added: Iterable[DataFile]) -> Replacement:
    """Replaces files of a head by others with the same rows.

    The new files bear the head's sequence number, so that rows which others delete later stay deleted.
    """
    return replace(
        replacing(head.named, paths, added),
        known=frozenset(m.manifest_path for m in head.manifests),
        sequence=head.snapshot.sequence_number or 0,
    )


def fitted(table: Table, what: Replacement) -> Replacement:
    """The same upon the present head; raises OvertakenError where files of it are gone, or lost rows."""
    manifests = manifests_of(table, table.current_snapshot())
    _refuse_new_deletes(table, manifests, what)
    if what.gone <= {m.manifest_path for m in manifests}:
        return what
    candidates = [m for m in manifests if _may_name(m, what)]
    paths = (m.manifest_path for m in candidates)
    named = dict(zip(paths, read_entries(table.io, candidates, ()), strict=True))
    again = replacing(named, what.paths)
    if missing := len(what.paths) - len(again.removed):
        raise overtaken(table, f"{missing} of {len(what.paths)} files to be replaced are no longer there")
    return replace(what, gone=again.gone, kept=again.kept)


def _may_name(manifest: ManifestFile, what: Replacement) -> bool:
    """Whether a manifest may name a file that is to be replaced."""
    from pyiceberg.manifest import ManifestContent

    path = manifest.manifest_path
    moved = path not in what.known and manifest.has_existing_files()
    return manifest.content == ManifestContent.DATA and (path in what.gone or moved)


def _refuse_new_deletes(table: Table, manifests: Iterable[ManifestFile], what: Replacement) -> None:
    """Rows that were deleted by position since would come back; deletes by equality still hold."""
    from pyiceberg.manifest import DataFileContent, ManifestContent

    new = [m for m in manifests if m.content == ManifestContent.DELETES and m.manifest_path not in what.known]
    for entry in chain(*read_entries(table.io, new, ())):
        later = (entry.sequence_number or 0) > (what.sequence or 0)
        by_position = entry.data_file.content == DataFileContent.POSITION_DELETES
        if later and by_position and _may_hit(entry.data_file, what.paths):
            raise overtaken(table, "rows of the files to be replaced were deleted")


def _may_hit(deletes: DataFile, paths: frozenset[str]) -> bool:
    lower, upper = delete_bounds(deletes)
    return not lower or not upper or any(lower <= path.encode() <= upper for path in paths)


def overtaken(table: Table, why: str) -> OvertakenError:
    """What is raised where a compaction must not be put in place any more."""
    return OvertakenError(
        f"A compaction was overtaken: {why}.",
        where=f"table {'.'.join(table.name())}",
        meaning="The table is as the others left it; nothing of this compaction is visible.",
        todo="Nothing: the next compaction takes the files that are there then.",
    )
