"""Tables that Confluent's Tableflow lands: what they hold of their topic, as a ledger of Frazil's says it.

Tableflow notes no position in its snapshots. But each row names its partition and offset, so the files tell
it. All that judges a landing by its ledger judges these tables by this one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from frazil.errors import DifferentError
from frazil.formats.columns.columns import names_by_word
from frazil.kafka.epochs import tally_records
from frazil.kafka.facts import NO_ID, TopicFacts
from frazil.kafka.tally import Tally
from frazil.kafka.trailing import without_records
from frazil.landing.position.history import starts
from frazil.landing.position.ledger import Ledger, read_ledger
from frazil.settings.profile import Settings
from frazil.spec.topic import TableSpec
from frazil.tables.metadata.extents import Names, holdings, tallies
from frazil.tables.metadata.snapshots import ancestors, made_at

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyiceberg.table.metadata import TableMetadata

WHAT_TO_DO = "Look at the topic's Tableflow in Confluent Cloud: is it suspended, or failed?"
"""Where a table that Tableflow lands stands still."""


def ledger_of(spec: TableSpec, table: Table) -> Ledger | None:
    """What a table holds of its topic: as its ledger says, or its files where Tableflow writes it."""
    return ledger_of_files(spec, table) if spec.is_read_only else read_ledger(table.metadata)


def ledger_of_files(spec: TableSpec, table: Table) -> Ledger | None:
    """What the rows of a table's head tell of its topic; None where it has no rows.

    Gaps and the topic's id are not in the rows: the ledger says that there are none, and no id.

    Raises:
        DifferentError: The table lacks the columns that tell it.
    """
    extents = holdings(table, place_columns(spec, table)).extents
    if not extents:
        return None
    rows = sum(e.rows for e in extents.values())
    return Ledger(
        topic=spec.topic,
        topic_id=NO_ID,
        spans={p: (e.first, e.last + 1) for p, e in extents.items()},
        start={p: e.first for p, e in extents.items()},
        records=rows,
        leader_epochs={p: e.epoch for p, e in extents.items()},
        total_records=rows,
    )


def place_columns(spec: TableSpec, table: Table) -> Names:
    """The columns of partition, offset and leader epoch.

    Raises:
        DifferentError: The table lacks one of them.
    """
    named = names_by_word(spec)
    names = named["partition"], named["offset"], named["leader-epoch"]
    there = {field.name for field in table.schema().fields}
    if missing := [name for name in names if name not in there]:
        raise DifferentError(
            f"Table {'.'.join(table.name())} has no column {', '.join(missing)}.",
            where=f"it has {', '.join(sorted(there))}",
            meaning="Nothing tells which records it holds.",
            todo="Is it a table of Tableflow's? Its columns may have the other metadata_names.",
        )
    return names


def beside_topic(ledger: Ledger | None, facts: TopicFacts) -> Ledger | None:
    """The same, with the topic's partitions of which the table has no row: nothing of them was landed yet."""
    if ledger is None:
        return None
    missing = {p: first for p, first in facts.first.items() if p not in ledger.spans}
    empty = {p: (first, first) for p, first in missing.items()}
    return replace(ledger, spans={**ledger.spans, **empty}, start={**ledger.start, **missing})


def past_markers(settings: Settings, facts: TopicFacts, ledger: Ledger | None) -> Ledger | None:
    """The same, at the topic's end where only offsets without a record follow: no row will ever name them.

    Raises:
        PartDownError: Kafka does not answer.
    """
    if ledger is None:
        return None
    empty = without_records(settings, facts, starts(facts, ledger.position))
    return replace(ledger, spans={**ledger.spans, **{p: (ledger.spans[p][0], facts.end[p]) for p in empty}})


def rows_came_at(metadata: TableMetadata) -> float | None:
    """When the newest commit was made that is no compaction, in seconds since the epoch."""
    changes = (s for s in ancestors(metadata) if not s.summary or s.summary.operation.value != "replace")
    newest = next(changes, None)
    return made_at(newest) if newest else None


@dataclass(frozen=True)
class Comparison:
    """A table's rows against the offsets that they span, by partition; none where they agree."""

    gaps: Mapping[int, int] = field(default_factory=dict)  # offsets that hold no record, as the topic says
    unknown: Mapping[int, int] = field(default_factory=dict)  # without a row; the topic tells no more why
    wrong: Mapping[int, str] = field(default_factory=dict)  # rows that are there twice, or missing


def compare_rows(
    settings: Settings, table: Table, names: Names, ledger: Ledger, facts: TopicFacts
) -> Comparison:
    """Compares every row's partition and offset with the span of its partition.

    Where rows are fewer than offsets, the topic itself is read: transactions and compaction leave gaps.

    Raises:
        PartDownError: Kafka does not answer.
    """
    gaps: dict[int, int] = {}
    unknown: dict[int, int] = {}
    wrong: dict[int, str] = {}
    for partition, seen in tallies(table, names).items():
        start, to = span = ledger.spans[partition]
        missing = to - start - seen.count
        if seen == Tally.of_span(partition, start, to):
            continue
        if missing <= 0:
            wrong[partition] = f"{seen.count} rows for {to - start} offsets: some are there twice"
        elif facts.first.get(partition, to) > start:
            unknown[partition] = missing
        else:
            expected = tally_records(settings, facts.topic, {partition: span})[partition]
            gaps[partition] = missing
            if seen != expected:
                wrong[partition] = f"{seen}; the topic holds {expected}"
    return Comparison({p: n for p, n in gaps.items() if p not in wrong}, unknown, wrong)
