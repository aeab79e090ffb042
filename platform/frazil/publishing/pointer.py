"""The metadata that a target shows: the table's own as it is now, an earlier one, or another engine's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil.errors import MALFORMED
from frazil.publishing.target import Shown
from frazil.tables.metadata.snapshots import made_at

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyiceberg.table.metadata import TableMetadata

_LONGEST_NAME = 255


def metadata_shown(table: Table, location: str) -> TableMetadata | None:
    """The metadata that a target names; None where the file is gone, is no metadata, or lies elsewhere.

    Glue and Snowflake may name anything: what is no neighbour of the table's own metadata is not read.
    """
    from pyiceberg.exceptions import ValidationError
    from pyiceberg.serializers import FromInputFile

    if location == table.metadata_location:
        return table.metadata
    if not _is_beside(table, location):
        return None
    try:
        return FromInputFile.table_metadata(table.io.new_input(location))
    except (FileNotFoundError, ValidationError, *MALFORMED):
        return None


def is_in_step(table: Table, location: str) -> bool:
    """Whether a target shows the table as it is; newer metadata may differ in Frazil's own notes."""
    if location == table.metadata_location:
        return True
    seen = metadata_shown(table, location)
    return seen is not None and _visible(seen) == _visible(table.metadata)


def _visible(metadata: TableMetadata) -> tuple[object, ...]:
    notes = {key: value for key, value in metadata.properties.items() if not key.startswith("frazil.")}
    return metadata.current_snapshot_id, metadata.current_schema_id, notes


def is_foreign(table: Table, shown: Shown) -> bool:
    """Whether another engine put there what a target shows: an INSERT or an OPTIMIZE of Athena, for example.

    An entry of before Frazil noted what it puts there is judged by its snapshot. Metadata that is gone is
    nobody's: nothing is lost with it.
    """
    location, log = shown.metadata_location, table.metadata.metadata_log
    own = (table.metadata_location, shown.put, *(entry.metadata_file for entry in log))
    if shown.put is None or (location and location in own):
        return False
    if not _is_beside(table, location):
        return True
    seen = metadata_shown(table, location)
    if seen is None:
        return table.io.new_input(location).exists()
    return bool(shown.put) or not _knows(table, seen.current_snapshot_id)


def waited(table: Table, before: str | None, now: float) -> float | None:
    """Seconds for which the newest snapshot had to wait until now to be shown.

    Args:
        before: The metadata that was shown until now; None where there was none.

    Returns:
        None where `before` has that snapshot already, or nobody knows.
    """
    head = table.current_snapshot()
    written = {entry.metadata_file: entry.timestamp_ms for entry in table.metadata.metadata_log}
    known = 0 if before is None else written.get(before)
    if head is None or known is None or head.timestamp_ms <= known:
        return None
    return max(0.0, round(now - made_at(head), 3))


def ways_on(table: str) -> str:
    """What to do about a foreign commit."""
    return (
        "To take over what the other engine wrote: read it from that metadata file, INSERT it into the "
        "Iceberg table, `frazil accept` that commit; then drop it from Glue. To drop it: `foreign_commits: "
        f"restore` in the spec, then `frazil sync {table}`; it drops what comes later, too, until you take "
        "it out. To take over whole files without new rows, an OPTIMIZE say: `foreign_commits: adopt`. To "
        "leave the entry to the other engine: publish to another `FRAZIL_GLUE__DATABASE`, or not to Glue."
    )


def _is_beside(table: Table, location: str) -> bool:
    """Whether it is a file in the folder of the table's own metadata; what no file is called is none."""
    folder, _, name = location.rpartition("/")
    plain = name.isprintable() and name not in ("", ".", "..") and len(name.encode()) <= _LONGEST_NAME
    return plain and folder == table.metadata_location.rpartition("/")[0]


def _knows(table: Table, snapshot_id: int | None) -> bool:
    return snapshot_id is None or table.metadata.snapshot_by_id(snapshot_id) is not None
