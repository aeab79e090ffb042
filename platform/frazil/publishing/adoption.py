"""Taking over what another engine made of a mirrored table: files in the place of others.

Athena's OPTIMIZE and Spark's DELETE write whole files anew. Rows that are new have no offsets, so no landing
could account for them: an INSERT is not taken over.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import TYPE_CHECKING

from frazil.errors import RepairError
from frazil.publishing.pointer import metadata_shown, ways_on
from frazil.spec.names import TableName
from frazil.tables.catalogs.handle import TableHandle, name_of
from frazil.tables.catalogs.pyiceberg import transaction
from frazil.tables.commits.commit import commit
from frazil.tables.commits.replacement import Replacement, replacing, same_rows
from frazil.tables.format_v3.fields import ROW_ID, has_row_ids
from frazil.tables.metadata.manifests import HeadReader, manifests_of, read_entries
from frazil.tables.metadata.snapshots import ancestors, summary_of

if TYPE_CHECKING:
    from pyiceberg.manifest import DataFile
    from pyiceberg.table import Table, Transaction
    from pyiceberg.table.snapshots import Snapshot

ADOPTED = "adopted-metadata"
"""In a snapshot's summary: the foreign metadata whose files it took over. None of Frazil's own words, for the
rows that such a commit deletes are another engine's doing, which `frazil accept` counts in."""


def is_adopted(table: Table, location: str) -> bool:
    """Whether the table has what a foreign metadata file says."""
    return any(summary_of(snapshot).get(ADOPTED) == location for snapshot in ancestors(table.metadata))


def adopt(handle: TableHandle, location: str) -> None:
    """Puts the files of a foreign metadata file in the place of those that they stand for, in one commit.

    Raises RepairError where it brings rows, delete files, columns or a layout, where it does not come from
    this table, or loses the ids of its rows, or where the files that it replaced were replaced here, too.
    """

    def stage(table: Table) -> Transaction | None:
        from frazil.tables.commits.rewrite import stage_new_rows, stage_same_rows

        if is_adopted(table, location):
            return None
        what, rows = _difference(table, location)
        tx = transaction(table)
        add = stage_new_rows if rows else stage_same_rows
        add(tx, what, {ADOPTED: location})
        return tx

    commit(handle, stage, work="adoption")


def _difference(table: Table, location: str) -> tuple[Replacement, int]:
    """What the foreign commits replaced, and how many rows went."""
    name = name_of(table)
    foreign = metadata_shown(table, location)
    there = foreign.current_snapshot() if foreign else None
    base = next(filter(None, map(_known_to(table), ancestors(foreign))), None) if foreign else None
    if foreign is None or there is None or base is None:
        raise _refused(name, location, "it does not come from a state of this table that is still known")
    if foreign.schema() != table.schema() or foreign.spec() != table.spec():
        raise _refused(name, location, "it has other columns, or another layout")
    old, new = _files(table, base, location), _files(table, there, location)
    removed = old.keys() - new.keys()
    added = [file for path, file in new.items() if path not in old]
    rows = sum(old[path].record_count for path in removed) - sum(file.record_count for file in added)
    if rows < 0:
        raise _refused(name, location, f"it brings {-rows} rows, which have no offsets")
    if has_row_ids(table) and any(ROW_ID not in (file.column_sizes or {}) for file in added):
        raise _refused(name, location, "its files do not say which rows had which ids")
    head = HeadReader().read(table)
    if head is None or head.deleting or not removed <= head.entries.keys():
        raise _refused(name, location, "files that it replaced were replaced here, too, or lost rows")
    return same_rows(head, removed, added) if rows == 0 else replacing(head.named, removed, added), rows


def _known_to(table: Table) -> Callable[[Snapshot], Snapshot | None]:
    return lambda snapshot: table.metadata.snapshot_by_id(snapshot.snapshot_id)


def _files(table: Table, snapshot: Snapshot, location: str) -> dict[str, DataFile]:
    """The data files of a snapshot by path; refused where it has delete files."""
    from pyiceberg.manifest import ManifestContent

    manifests = manifests_of(table, snapshot)
    if any(m.content == ManifestContent.DELETES for m in manifests):
        raise _refused(name_of(table), location, "it has delete files, and only whole files are taken over")
    return {e.data_file.file_path: e.data_file for e in chain(*read_entries(table.io, manifests))}


def _refused(name: TableName, location: str, why: str) -> RepairError:
    return RepairError(
        f"What another engine made of the Glue entry of {name} can't be taken over: {why}.",
        where=location,
        meaning="The Iceberg table is right, and lacks what the other engine wrote. The entry was left as it "
        "is, and what it shows is not deleted.",
        todo=ways_on(str(name)),
    )
