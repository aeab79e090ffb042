"""When a table is put in order: the part `upkeep` of a spec."""

from __future__ import annotations

from datetime import timedelta

from pydantic import ByteSize, Field

from frazil.spec.values import Duration, Part


class Upkeep(Part):
    """When a table is put in order, and what is kept. The upkeep sensor and the commands go by it."""

    small_file: float = Field(
        0.75, gt=0, lt=1, description="A data file below this share of the target size is small."
    )
    small_bytes: ByteSize = Field(
        ByteSize(128 * 2**20), ge=1, description="Small files are compacted at once when they hold this much."
    )
    compact_after: Duration = Field(
        timedelta(minutes=15),
        description="Time between compactions, if there is anything to gain.",
    )
    copies_share: float = Field(
        0.4,
        ge=0,
        description="Old copies of rows that snapshots may hold, as a share of the table, before compaction "
        "leaves alone the files that an earlier one wrote. One target file is always allowed.",
    )
    deleted_share: float = Field(
        0.3,
        gt=0,
        le=1,
        description="A data file is rewritten, whatever its size, if delete files take away this share of "
        "its rows.",
    )
    delete_files: int = Field(
        10,
        ge=0,
        description="A data file is rewritten, whatever its size, if a reader must open more delete files "
        "than this for it.",
    )
    max_bytes: ByteSize = Field(ByteSize(10 * 2**30), ge=1, description="One run rewrites this much at most.")
    manifests: int = Field(50, ge=2, description="Manifests are rewritten when there are this many.")
    keep_snapshots_for: Duration = Field(
        timedelta(days=7), description="Snapshots are kept this long for time travel and rollback."
    )
    min_snapshots: int = Field(
        10, ge=1, description="This many of the newest snapshots are kept, however old they are."
    )
    max_snapshots: int = Field(
        1000,
        ge=1,
        description="No more snapshots than this are kept, for each commit writes the list of them again.",
    )
    keep_for_readers: Duration = Field(
        timedelta(days=7),
        description="Expiry waits this long for Glue, Snowflake, derived tables and feeds that are behind, "
        "even if there are more than `max_snapshots`.",
    )
    expire_every: Duration = Field(timedelta(hours=1), description="Time between runs of snapshot expiry.")
    orphans_after: Duration = Field(
        timedelta(days=3), description="Files that no snapshot names are deleted at this age."
    )
    orphans_every: Duration = Field(timedelta(days=1), description="Time between searches for such files.")
    statistics_every: Duration | None = Field(
        None,
        description="Time between counts of the distinct values of columns, by which Athena, Redshift and "
        "Trino plan joins. Each reads all rows. Unset: never.",
    )
