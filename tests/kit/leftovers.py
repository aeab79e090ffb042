"""What dead work left behind in a table's storage, and all the upkeep that gets rid of it."""

from __future__ import annotations

from pyiceberg.table import Table

from frazil.connections import Connections
from frazil.spec.topic import TableSpec
from frazil.upkeep.compaction.run import compact
from frazil.upkeep.expiry import expire
from frazil.upkeep.orphans import remove_orphans
from frazil.upkeep.storage import key_of, named_keys
from kit.stored import files_under

MONTH = 30 * 86400.0


def unnamed(table: Table) -> set[str]:
    """Data files in storage that nothing in the table's metadata names."""
    named = named_keys(table)
    return {path for path in files_under(table) if "/data/" in path and key_of(path) not in named}


def cleaned_up(spec: TableSpec, connections: Connections, now: float) -> int:
    """A compaction, an expiry and a look for orphans a month from now; how many orphans went."""
    compact(spec, connections, now + MONTH)
    expire(spec, connections, now + MONTH)
    return int(remove_orphans(spec, connections, now + MONTH).numbers["files"])
