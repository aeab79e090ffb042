"""Whether rows hold what their records say: a sample, read from Kafka anew and decoded by another decoder."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from frazil.checks.result import Number, Subject, Verdict
from frazil.exact import rows_of, values_of
from frazil.formats.bare import Bare, differences
from frazil.formats.columns.columns import names_by_word
from frazil.formats.logical import Struct
from frazil.formats.protocol import UNREADABLE
from frazil.formats.record import RecordDecoder, decoder_for
from frazil.formats.types import from_iceberg
from frazil.kafka.facts import topic_fact
from frazil.kafka.probe import Probe, headers_of, open_probe
from frazil.landing.position.ledger import read_ledger
from frazil.spec.topic import TableSpec
from frazil.tables.metadata.extents import bounds_of
from frazil.tables.metadata.manifests import HeadReader
from frazil.tables.migrations import with_remembered
from frazil.tables.reading.rows import batches_in

if TYPE_CHECKING:
    import pyarrow as pa
    from confluent_kafka import Message
    from pyiceberg.manifest import DataFile
    from pyiceberg.schema import Schema
    from pyiceberg.table import Table

_MOST_FILES = 8
"""Data files that are drawn at random, and read in whole; one at least of each partition."""

_MOST_TOLD = 5
"""Differences that are told in words."""


_FOUND_BY = ("partition", "offset", "timestamp")
"""What tells which record a row is of."""


@dataclass
class _Compared:
    """What became of the rows of a sample."""

    rows: int = 0
    gone: int = 0  # whose records Kafka does not hold any more
    unread: int = 0  # whose records were read before the newest schema, which does not read their versions
    untold: int = 0  # whose records the independent decoder does not read
    different: list[str] = field(default_factory=list)


def compare_values(subject: Subject[TableSpec], count: int) -> Verdict:
    """Compares up to `count` random rows of each partition with their records, all decoded values.

    Rows of a keyed table are compared with the record that they are of, which compaction may have taken. Of a
    row that a change ended, and which stays with a mark, the key is compared.
    """
    spec, connections = subject.spec, subject.connections
    table = subject.handle.load()
    known = with_remembered(spec, table.metadata)
    decoder = decoder_for(known, connections.registry, connections.settings.named_keys)
    ledger = read_ledger(table.metadata)
    if ledger is None:
        return Verdict.skip("nothing was landed yet")
    names = names_by_word(spec)
    if lacking := {names[word] for word in _FOUND_BY} - {column.name for column in table.schema().columns}:
        return Verdict.skip(f"the table has no column {min(lacking)}, by which a row's record is found")
    sample = _sample(table, spec, count)
    if sample is None:
        return Verdict.skip("delete files take rows of every data file; `frazil compact` applies them")
    first = topic_fact(connections.admin, spec.topic).first
    compared = _Compared()
    with open_probe(connections.settings, spec.topic) as probe:
        for rows in _rounds(sample):
            _compare(rows, decoder, table, _records(probe, rows, first, names), names, compared)
    return _verdict(compared, len(sample), mended=ledger.total_redriven > 0)


def _sample(table: Table, spec: TableSpec, count: int) -> dict[int, list[Bare]] | None:
    """Random rows by partition of the topic, of files that lost none; None where every file lost some."""
    import pyarrow as pa
    import pyarrow.compute as pc

    name, kept = names_by_word(spec)["partition"], dict[int, pa.Table]()
    head = HeadReader([table.schema().find_field(name).field_id]).read(table)
    if head is None or not head.entries:
        return {}
    files = [entry.data_file for entry in head.whole]
    if not files:
        return None
    for batch in batches_in(table, table.schema(), _drawn_files(files, table.schema(), name)):
        rows = pa.Table.from_batches([batch])
        for partition in values_of(pc.unique(rows[name])):
            own = rows.filter(pc.equal(rows[name], partition))
            # PyIceberg has larger types for what an older file lacks than for what it read.
            parts = [kept[partition], own] if partition in kept else [own]
            kept[partition] = _drawn(pa.concat_tables(parts, promote_options="permissive"), count)
    return {partition: rows_of(rows) for partition, rows in kept.items()}


def _drawn_files(files: Sequence[DataFile], schema: Schema, partition: str) -> list[DataFile]:
    """Random files of each partition of the topic, and of those that hold rows of several."""
    by_partition: defaultdict[int | None, list[DataFile]] = defaultdict(list)
    for file in files:
        low, high = bounds_of(file, schema, partition)
        by_partition[low if low == high else None].append(file)
    each = max(1, _MOST_FILES // max(1, len(by_partition)))
    most = {own: _MOST_FILES if own is None else each for own in by_partition}
    return [file for own, of in by_partition.items() for file in random.sample(of, min(len(of), most[own]))]


def _drawn(rows: pa.Table, count: int) -> pa.Table:
    return rows.take(random.sample(range(len(rows)), min(len(rows), count)))


def _rounds(sample: Mapping[int, Sequence[Bare]]) -> Iterable[dict[int, Bare]]:
    """One row of each partition, as long as there are some."""
    rounds: defaultdict[int, dict[int, Bare]] = defaultdict(dict)
    for partition, rows in sample.items():
        for number, row in enumerate(rows):
            rounds[number][partition] = row
    return rounds.values()


def _records(
    probe: Probe, rows: Mapping[int, Bare], first: Mapping[int, int], names: Mapping[str, str]
) -> dict[int, Message]:
    """The records of some rows, one of each partition; left out where Kafka has it no more.

    A record of another time at the same offset is of another log of the topic.
    """
    present = {p: row for p, row in rows.items() if p in first and row[names["offset"]] >= first[p]}
    messages = probe.look({p: row[names["offset"]] for p, row in present.items()}) if present else {}
    return {
        p: message
        for p, message in messages.items()
        if message.offset() == present[p][names["offset"]]
        and message.timestamp()[1] * 1000 == present[p][names["timestamp"]]
    }


def _compare(
    rows: Mapping[int, Bare], decoder: RecordDecoder, table: Table, records: Mapping[int, Message],
    names: Mapping[str, str], compared: _Compared,
) -> None:  # fmt: skip
    known = {f.name for f in decoder.columns.fields}
    kind = Struct(tuple(f for f in from_iceberg(table.schema()) if f.name in known))
    for partition, row in rows.items():
        message, place = records.get(partition), f"partition {partition}, offset {row[names['offset']]}"
        if message is None:
            compared.gone += 1
            continue
        wanted = decoder.values(message.key(), message.value(), headers_of(message))
        if wanted is None:
            unread = _is_of_unread_version(decoder, message)
            compared.unread, compared.untold = compared.unread + unread, compared.untold + (not unread)
            continue
        compared.rows += 1
        if unlike := list(differences(kind, wanted, row)):
            compared.different.append(f"{place}, {unlike[0]}")


def _is_of_unread_version(decoder: RecordDecoder, message: Message) -> bool:
    """Whether a half was written by a version of its subject that the newest one does not read."""
    raw = decoder.prefixed(message.key(), message.value(), headers_of(message))
    halves = zip((decoder.key, decoder.value), raw, strict=True)
    return any(raw is not None and half.explain(raw)[0] == UNREADABLE for half, raw in halves)


def _verdict(compared: _Compared, partitions: int, mended: bool) -> Verdict:
    """`mended`: rows may come of records that a redrive fixed."""
    others = f"{compared.gone} whose records are gone"
    if compared.unread:
        others += f", {compared.unread} whose schema the newest one no longer reads"
    if compared.untold:
        others += f", {compared.untold} whose records the other decoder finds bad"
    sentences = "".join(f" {each}." for each in compared.different[:_MOST_TOLD])
    text = (
        f"{compared.rows} rows of {partitions} partitions compared with their records, all values; not "
        f"compared: {others}. {len(compared.different)} differ.{sentences}"
    )
    numbers: dict[str, Number] = {
        "rows": compared.rows,
        "gone": compared.gone,
        "unread": compared.unread,
        "untold": compared.untold,
        "different": len(compared.different),
    }
    return Verdict(not compared.different and (mended or not compared.untold), text, numbers)
