"""How far a table's rows were fed to its topic: with the records in Kafka, and in the table's properties.

Kafka's copy is committed by the transaction that the records belong to: it can't disagree with them. But
Kafka forgets the position of a group that says nothing for a week (`offsets.retention.minutes`); the table's
own copy, written after the transaction, does not go. The later one counts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import stamina

from frazil.derive.positions.inputs import increment, since, standing
from frazil.derive.positions.ledger import Position, position_of
from frazil.errors import PositionLostError
from frazil.exact import rows_of
from frazil.spec.names import TableName
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.commits.commit import set_properties
from frazil.tables.commits.ledger import read, whole_number
from frazil.tables.metadata.manifests import added_files, data_files
from frazil.tables.metadata.snapshots import ancestors
from frazil.tables.reading.rows import batches_in

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient
    from pyiceberg.manifest import DataFile
    from pyiceberg.table import Table
    from pyiceberg.table.snapshots import Snapshot

_TIMEOUT = 10.0


@dataclass(frozen=True, slots=True)
class FedTo:
    """All rows before a snapshot were fed, and `rows` of its own."""

    position: Position  # the snapshot
    rows: int | None = None  # how many of the rows that it brought, in the order of its files; None: all
    # Whether all rows that it held count as brought, as of the first snapshot that is fed.
    whole: bool = False
    sent: int = 0  # records fed since the topic's first one
    topic_id: str = ""  # of the topic: another one after it was deleted and made again; empty: not noted

    def text(self) -> str:
        """As Kafka and the table keep it."""
        return json.dumps([*astuple(self.position), self.rows, self.whole, self.sent, self.topic_id])

    @classmethod
    def parse(cls, text: str) -> FedTo:
        """Reads what `text` wrote, in an older version too."""

        def parse(text: str) -> FedTo:
            uuid, snapshot, sequence, *others = json.loads(text)
            position = cls(position_of(uuid, snapshot, sequence), *others)
            return replace(
                position,
                rows=None if position.rows is None else whole_number(position.rows),
                sent=whole_number(position.sent),
            )

        return read("the feed's position", text, parse)


def group_of(name: TableName) -> str:
    """The consumer group, and the transactional id, that a table feeds under."""
    return f"frazil-feed-{name}"


def committed(admin: AdminClient, name: TableName, topic: str) -> FedTo | None:
    """The position that Kafka knows; wait for open transactions first (`init_transactions`)."""
    from frazil.kafka.clients import kafka_errors

    with kafka_errors(f"consumer group {group_of(name)}"):
        text = _asked(admin, group_of(name), topic)
    return FedTo.parse(text) if text else None


def property_of(topic: str) -> str:
    """The table's property that has the position."""
    return f"frazil.fed.{topic}"


def noted(table: Table, topic: str) -> FedTo | None:
    """The position that the table knows."""
    text = table.properties.get(property_of(topic))
    return FedTo.parse(text) if text else None


def note(handle: TableHandle, topic: str, fed: FedTo) -> None:
    """Tells the table; raises as `commit` does."""
    set_properties(handle, {property_of(topic): replace(fed, rows=None).text()})


def latest(*known: FedTo | None) -> FedTo | None:
    """The furthest position."""
    return max(filter(None, known), key=lambda fed: (fed.sent, fed.position.sequence), default=None)


def _passing(error: Exception) -> bool:
    """Whether it soon passes: nobody ever asked this broker for a group, or the broker has just come up.

    A connection that was lost is not among it: librdkafka 2.16 may abort the process where the same client
    asks for a group again (an assertion in rdkafka_queue.h).
    """
    from confluent_kafka import KafkaError, KafkaException

    passing = (
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.NOT_COORDINATOR,
        KafkaError.UNSTABLE_OFFSET_COMMIT,
    )
    return isinstance(error, KafkaException) and error.args[0].code() in passing


@stamina.retry(on=_passing, timeout=10, attempts=50, wait_initial=0.05, wait_jitter=0.05, wait_max=0.5)
def _asked(admin: AdminClient, group: str, topic: str) -> str | None:
    """The text that was committed with the offset."""
    from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition

    asked = [ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0)])]
    answers = admin.list_consumer_group_offsets(asked, require_stable=True, request_timeout=_TIMEOUT)
    (future,) = answers.values()
    (partition,) = future.result().topic_partitions
    metadata: str | None = partition.metadata
    return metadata


Row = dict[str, Any]


def has_news(table: Table, fed: FedTo) -> bool:
    """Whether the topic lacks rows, or the position must move on before it expires."""
    if fed.rows is not None or standing(fed.position, table) != "held":
        return True
    return increment(table, fed.position).is_due


def batches(table: Table, fed: FedTo | None, size: int, topic_id: str) -> Iterator[tuple[list[Row], FedTo]]:
    """All rows behind a position, oldest snapshot first, and how far the topic is with them.

    Where nothing was fed yet, all that are there.

    Raises:
        PositionLostError: The table no longer has all that was fed, or nothing tells what is new.
    """
    sent = fed.sent if fed else 0
    for snapshot, whole, skip in _parts(table, fed):
        files = list((data_files if whole else added_files)(table, snapshot))
        total, done = sum(file.record_count for file in files), skip
        rows = islice(_read(table, files), skip, None)
        while done < total:
            some = list(islice(rows, size))
            done, sent = done + len(some), sent + len(some)
            at = Position(str(table.metadata.table_uuid), snapshot.snapshot_id, snapshot.sequence_number or 0)
            yield some, FedTo(at, None if done == total else done, whole, sent, topic_id)


def _parts(table: Table, fed: FedTo | None) -> Iterator[tuple[Snapshot, bool, int]]:
    """Snapshots, whether all that they hold counts, and how many of their rows were fed."""
    line = list(ancestors(table.metadata))
    if fed is None:
        yield from ((head, True, 0) for head in line[:1])
        return
    _refuse_lost(table, fed)
    if fed.rows is not None:
        yield next(s for s in line if s.snapshot_id == fed.position.snapshot), fed.whole, fed.rows
    for snapshot in reversed(list(since(table, fed.position))):
        if snapshot.summary and snapshot.summary.operation.value == "append":
            yield snapshot, False, 0


def _refuse_lost(table: Table, fed: FedTo) -> None:
    """Raises where the topic has rows that the table has not, or where it is not known which it lacks."""
    how = standing(fed.position, table)
    kept = table.metadata.snapshot_by_id(fed.position.snapshot)
    if how == "held" and (fed.rows is None or kept):
        increment(table, fed.position)
        return
    raise PositionLostError(
        f"Table {'.'.join(table.name())} is no longer the one that was fed.",
        where=f"fed up to snapshot {fed.position.snapshot}: {'expired' if how == 'held' else how}",
    )


def _read(table: Table, files: Iterable[DataFile]) -> Iterator[Row]:
    for batch in batches_in(table, table.schema(), files):
        yield from rows_of(batch)
