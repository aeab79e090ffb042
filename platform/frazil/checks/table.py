"""Any table: are its files in order, and do the targets show it as it is?"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from frazil.checks.result import Number, Subject, Verdict
from frazil.publishing.columns import differences
from frazil.publishing.pointer import is_foreign, is_in_step, ways_on
from frazil.publishing.target import Shown, Target
from frazil.spec.table import AnyTable
from frazil.spec.upkeep import Upkeep
from frazil.tables.metadata.manifests import manifests_of, rows_named
from frazil.tables.metadata.snapshots import number, summary_of
from frazil.tables.spark.session import live_rows
from frazil.upkeep.census import FILES_READ, Census, census_of
from frazil.upkeep.expiry.references import Reader, followers_of, pointer_of
from frazil.upkeep.work import size_text

if TYPE_CHECKING:
    from pyiceberg.table import Table

_SLACK = 4  # how many times what asks for upkeep may pile up before the check warns

_EARLY = 7
"""Share of the time after which expiry no longer waits for a reader that is behind: a day of a week."""

_SPARE_FILES = 500
"""Files that a compaction would save: small ones may be many long before they add up to much."""


_SAME = ", which differs in Frazil's own notes only: readers see the same"
"""Why a target passes that names older metadata."""


@dataclass(frozen=True, slots=True)
class _Limit:
    text: str
    value: float
    most: float
    todo: str

    @property
    def broken(self) -> bool:
        return self.value > self.most


def judge_files(subject: Subject[AnyTable]) -> Verdict:
    """The census within limits well above those at which upkeep acts: does upkeep keep up?"""
    now, name, upkeep = time.time(), subject.things.table, subject.spec.upkeep
    table = subject.handle.load()
    census = census_of(subject.spec, table, now, most=FILES_READ)
    readers = list(followers_of(subject.spec, subject.connections, table))
    kept = len(frozenset[int]().union(*(reader.needs for reader in readers)))
    limits = [*_limits(census, upkeep, str(name), kept), *_late(readers, upkeep, now)]
    broken = [limit for limit in limits if limit.broken]
    mends = dict.fromkeys(limit.todo for limit in broken)
    text = (
        f"{census.files} data files of {size_text(census.bytes)}, {census.ideal} after a compaction; "
        f"{'; '.join(limit.text for limit in broken or limits)}"
        f"{': ' + ', '.join(mends) + ' fixes it' if broken else ''}."
    )
    return Verdict(not broken, text, census.numbers, severity="WARN")


def _late(readers: Iterable[Reader], upkeep: Upkeep, now: float) -> list[_Limit]:
    """Readers for whom expiry keeps snapshots, told long before it stops waiting for them."""
    bound = upkeep.keep_for_readers.total_seconds()
    limits = [_Limit(r.delay(bound), r.lag(now), bound / _EARLY, r.todo) for r in readers]
    return [limit for limit in limits if limit.broken]


def _limits(census: Census, upkeep: Upkeep, name: str, kept: int) -> list[_Limit]:
    """The limits of what upkeep can fix; `kept` snapshots are waited for by readers, and do not count."""
    compact = f"`frazil compact {name}`"
    most_manifests, most_snapshots = (_SLACK * int(n) for n in (upkeep.manifests, upkeep.max_snapshots))
    waits = f", of which readers still need {kept}" if kept else ""
    return [
        *_file_limits(census, upkeep, compact),
        _Limit(
            f"{census.manifests} manifests, {most_manifests} allowed",
            census.manifests, most_manifests, compact,
        ),
        _Limit(
            f"{census.snapshots} snapshots{waits}, {most_snapshots} allowed",
            census.snapshots - kept, most_snapshots, f"`frazil expire {name}`",
        ),
        _Limit(
            f"{len(census.dead_branches)} dead branches",
            len(census.dead_branches), 0, compact,
        ),
    ]  # fmt: skip


def _file_limits(census: Census, upkeep: Upkeep, compact: str) -> list[_Limit]:
    """Those of data files and delete files, which a compaction fixes."""
    most_small, most_deletes = _SLACK * int(upkeep.small_bytes), _SLACK * max(1, upkeep.delete_files)
    share = upkeep.deleted_share
    return [
        _Limit(
            f"small files to be compacted hold {size_text(census.waiting)}, {size_text(most_small)} allowed",
            census.waiting, most_small, compact,
        ),
        _Limit(
            f"{census.saved} files too many, {_SPARE_FILES} allowed",
            census.saved, _SPARE_FILES, compact,
        ),
        _Limit(
            f"delete files take away {census.deleted_share:.1%} of the rows, {share:.0%} allowed",
            census.deleted_share, share, compact,
        ),
        _Limit(
            f"up to {census.most_deletes} delete files must be opened for a file, {most_deletes} allowed",
            census.most_deletes, most_deletes, compact,
        ),
    ]  # fmt: skip


def compare_shown(target: Target, subject: Subject[AnyTable]) -> Verdict:
    """A target shows the table's current metadata, and all of its rows where it counts them."""
    table = subject.handle.load()
    rows = live_rows(subject.connections, subject.things.table, table.current_snapshot())
    shown, word = target.read(subject.connections), target.word
    todo = f"`frazil sync {subject.things.table}`"
    if shown is None:
        missing = f"{word.capitalize()} has no {target.relations[0]}: {target.maker or todo} makes it."
        return Verdict(False, missing, {"iceberg_metadata": table.metadata_location, f"{word}_metadata": ""})
    foreign, others_columns = is_foreign(table, shown), differences(shown.columns, target.columns(table))
    in_step = is_in_step(table, shown.metadata_location) and not others_columns
    agree = not foreign and in_step and shown.rows in (None, rows)
    if agree:
        follows = "." if shown.metadata_location == table.metadata_location else f"{_SAME}."
    elif foreign:
        follows = f". Frazil did not put that there. {ways_on(str(subject.things.table))}"
    else:
        kept = _kept_for(target, subject, shown, table)
        follows = f"{''.join(f'; {each}' for each in others_columns)}: {target.maker or todo} fixes it{kept}."
    counted = "" if shown.rows is None else f"{shown.rows} rows of "
    text = (
        f"{word.capitalize()} shows {counted}{shown.name} as of {_file(shown.metadata_location)}; "
        f"Iceberg holds {rows} rows in {_file(table.metadata_location)}{follows}"
    )
    return Verdict(agree, text, _numbers(target, shown, table, rows))


def _numbers(target: Target, shown: Shown, table: Table, rows: int) -> dict[str, Number]:
    return {
        f"{target.word}_metadata": shown.metadata_location,
        "iceberg_metadata": table.metadata_location,
        "iceberg_rows": rows,
        **({} if shown.rows is None else {f"{target.word}_rows": shown.rows}),
    }


def _kept_for(target: Target, subject: Subject[AnyTable], shown: Shown, table: Table) -> str:
    """Until when expiry keeps what a target shows that is behind."""
    reader = pointer_of(target, shown, table)
    bound = subject.spec.upkeep.keep_for_readers.total_seconds()
    return f"; {reader.delay(bound)}" if reader and reader.since else ""


def _file(location: str) -> str:
    return location.rsplit("/", 1)[-1]


def rows_in_files(subject: Subject[AnyTable], table: Table) -> int:
    """Rows by the list of manifests, which knows nothing of the summary; counted where rows are deleted."""
    head = table.current_snapshot()
    if number(summary_of(head), "total-delete-files"):
        return live_rows(subject.connections, subject.things.table, head)
    return sum(map(rows_named, manifests_of(table, head)))
