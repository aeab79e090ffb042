"""What dead work left behind in a table's storage, and all the upkeep that gets rid of it."""

from __future__ import annotations

from pyiceberg.table import Table

from frazil.connections import Connections
from frazil.spec.topic import TableSpec
from frazil.upkeep.compaction.run import compact
from frazil.upkeep.expiry.expiry import expire
from frazil.upkeep.orphans import remove_orphans
from kit.readers.stored import files_under, place_of

MONTH = 30 * 86400.0


def unnamed(table: Table) -> set[str]:
    """Data files in storage that no snapshot names, as PyIceberg alone tells."""
    manifests = {m.manifest_path: m for s in table.metadata.snapshots for m in s.manifests(table.io)}
    entries = (e for m in manifests.values() for e in m.fetch_manifest_entry(table.io, discard_deleted=True))
    named = {place_of(entry.data_file.file_path) for entry in entries}
    return {path for path in files_under(table) if "/data/" in path and place_of(path) not in named}


def cleaned_up(spec: TableSpec, connections: Connections, now: float) -> int:
    """A compaction, an expiry and a look for orphans a month from now; how many orphans went."""
    compact(spec, connections, now + MONTH)
    expire(spec, connections, now + MONTH)
    return int(remove_orphans(spec, connections, now + MONTH).numbers["files"])
