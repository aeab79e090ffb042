"""Any table: are its files in order, and do the targets show it as it is?"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from frazil.checks.result import Number, Subject, Verdict
from frazil.publishing.target import Target
from frazil.spec.table import AnyTable, Upkeep
from frazil.tables.catalog import load_table
from frazil.tables.snapshots import summary_of
from frazil.tables.spark import live_rows
from frazil.upkeep.census import Census, census_of
from frazil.upkeep.compaction.bins import DELETED_SHARE
from frazil.upkeep.work import size_text

if TYPE_CHECKING:
    from pyiceberg.table import Table

__all__ = ["compare_shown", "judge_files", "rows_in_files"]

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
    """The census within limits well above those at which upkeep acts: does upkeep keep up?"""
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


def compare_shown(target: Target, subject: Subject[AnyTable]) -> Verdict:
    """A target shows the table's current metadata, and all of its rows where it counts them."""
    table = load_table(subject.connections.catalog, subject.things.table)
    summary = summary_of(table.current_snapshot())
    rows = int(summary.get("total-records", 0)) - int(summary.get("total-position-deletes", 0))
    shown, word = target.read(subject.connections), target.word
    todo = f"`frazil sync {subject.things.table}`"
    if shown is None:
        missing = f"{word.capitalize()} has no {target.relations[0]}: {todo} makes it."
        return Verdict(False, missing, {"iceberg_metadata": table.metadata_location, f"{word}_metadata": ""})
    agree = shown.metadata_location == table.metadata_location and shown.rows in (None, rows)
    counted = "" if shown.rows is None else f"{shown.rows} rows of "
    text = (
        f"{word.capitalize()} shows {counted}{shown.name} as of {_file(shown.metadata_location)}; "
        f"Iceberg holds {rows} rows in {_file(table.metadata_location)}"
        f"{'.' if agree else f': {todo} mends it.'}"
    )
    numbers: dict[str, Number] = {
        f"{word}_metadata": shown.metadata_location,
        "iceberg_metadata": table.metadata_location,
        "iceberg_rows": rows,
        **({} if shown.rows is None else {f"{word}_rows": shown.rows}),
    }
    return Verdict(agree, text, numbers)


def _file(location: str) -> str:
    return location.rsplit("/", 1)[-1]


def rows_in_files(subject: Subject[AnyTable], table: Table) -> int:
    """Rows by the manifests, which know nothing of the summary; counted where there are delete files."""
    head = table.current_snapshot()
    if int(summary_of(head).get("total-delete-files", 0)):
        return live_rows(subject.connections, subject.things.table, head)
    return sum(task.file.record_count for task in table.scan().plan_files())
