"""When a table is put in order, and what is kept."""

from __future__ import annotations

from datetime import timedelta

from pydantic import ByteSize, Field

from frazil.spec.values import Duration, Part

__all__ = ["Upkeep"]


class Upkeep(Part):
    """When a table is put in order, and what is kept. The upkeep sensor and the commands go by it."""

    small_file: float = Field(
        0.75, gt=0, lt=1, description="A data file below this share of the target size is small."
    )
    small_bytes: ByteSize = Field(
        ByteSize(128 * 2**20), ge=1, description="Bytes in small files that ask for a compaction at once."
    )
    compact_after: Duration = Field(
        timedelta(minutes=15),
        description="Time after a compaction until the next one, if there is anything to gain.",
    )
    copies_share: float = Field(
        0.4,
        ge=0,
        description="Bytes of old copies that snapshots may hold, per byte of the table, before a compaction "
        "leaves alone what one wrote already; `target_file_size` at least.",
    )
    max_bytes: ByteSize = Field(ByteSize(10 * 2**30), ge=1, description="Most bytes that one run rewrites.")
    manifests: int = Field(50, ge=2, description="Manifests that ask for being rewritten.")
    keep_snapshots_for: Duration = Field(
        timedelta(days=7), description="How long snapshots serve time travel and rollback."
    )
    min_snapshots: int = Field(10, ge=1, description="Newest snapshots that are kept however old they are.")
    max_snapshots: int = Field(
        1000, ge=1, description="Most snapshots that are kept: each commit writes all of them down again."
    )
    expire_every: Duration = Field(timedelta(hours=1), description="Time between two expiries.")
    orphans_after: Duration = Field(
        timedelta(days=3), description="Age of files that no snapshot names before they are deleted."
    )
    orphans_every: Duration = Field(timedelta(days=1), description="Time between two looks for orphans.")
