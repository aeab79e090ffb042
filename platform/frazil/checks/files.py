"""Does upkeep keep up? The census against limits well above those at which upkeep acts."""

from __future__ import annotations

import time
from dataclasses import dataclass

from frazil.checks.result import Subject, Verdict
from frazil.spec.table import AnyTable
from frazil.spec.upkeep import Upkeep
from frazil.upkeep.census.table import Census, census_of
from frazil.upkeep.compaction.bins import DELETED_SHARE
from frazil.upkeep.work import size_text

__all__ = ["judge_files"]

_SLACK = 4
"""How many times what asks for upkeep may pile up before the check warns."""

_SPARE_FILES = 500
"""Files that a compaction would save: small ones may be many long before they add up to much."""


@dataclass(frozen=True, slots=True)
class _Limit:
    told: str
    value: float
    most: float
    command: str

    @property
    def broken(self) -> bool:
        return self.value > self.most


def judge_files(subject: Subject[AnyTable]) -> Verdict:
    """Small files, deleted rows, manifests, snapshots and dead branches, each within its limit."""
    census = census_of(subject.spec, subject.connections, time.time())
    limits = _limits(census, subject.spec.upkeep)
    broken = [limit for limit in limits if limit.broken]
    name = subject.things.table
    mends = dict.fromkeys(f"`frazil {limit.command} {name}`" for limit in broken)
    text = (
        f"{census.files} data files of {size_text(census.bytes)}, {census.ideal} after a compaction; "
        f"{'; '.join(limit.told for limit in broken or limits)}"
        f"{': ' + ', '.join(mends) + ' mends it' if broken else ''}."
    )
    return Verdict(not broken, text, census.numbers, severity="WARN")


def _limits(census: Census, upkeep: Upkeep) -> list[_Limit]:
    small = sum(p.small_bytes for p in census.partitions if p.gain.saved)
    most = (upkeep.small_bytes, upkeep.manifests, upkeep.max_snapshots)
    most_small, most_manifests, most_snapshots = (_SLACK * int(limit) for limit in most)
    return [
        _Limit(
            f"small files to be compacted hold {size_text(small)}, {size_text(most_small)} allowed",
            small, most_small, "compact",
        ),
        _Limit(
            f"{census.saved} files too many, {_SPARE_FILES} allowed",
            census.saved, _SPARE_FILES, "compact",
        ),
        _Limit(
            f"delete files take away {census.deleted_share:.1%} of the rows, {DELETED_SHARE:.0%} allowed",
            census.deleted_share, DELETED_SHARE, "compact",
        ),
        _Limit(
            f"{census.manifests} manifests, {most_manifests} allowed",
            census.manifests, most_manifests, "compact",
        ),
        _Limit(
            f"{census.snapshots} snapshots, {most_snapshots} allowed",
            census.snapshots, most_snapshots, "expire",
        ),
        _Limit(f"{len(census.dead_branches)} dead branches", len(census.dead_branches), 0, "orphans"),
    ]  # fmt: skip
