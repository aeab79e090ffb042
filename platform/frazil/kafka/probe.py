"""A consumer that looks into a topic at given offsets, a few records here and there, or counts them."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from frazil.errors import STAYS, OffsetsLostError, PartDownError
from frazil.kafka.clients import check_access, consumer, kafka_error, kafka_errors
from frazil.kafka.tally import Tally
from frazil.settings.profile import Settings

Found = tuple[int, int]
"""Offset and leader epoch of one record."""

ONE_RECORD = {"fetch.message.max.bytes": 65536, "queued.min.messages": 1, "fetch.wait.max.ms": 10}
"""librdkafka settings for looking at single records: little is fetched beyond them."""

_FORK = re.compile(r"broker end offset is (-?\d+)")
"""How librdkafka says that the broker holds less of a leader epoch, or (-1) never had it."""

_PATIENCE = 10.0  # seconds of silence after which the broker is asked whether it is there at all

_METADATA = 10.0  # seconds within which a broker that is there tells who leads a topic

_SILENCE = 900.0
"""Seconds without a record from brokers that answer: a huge transaction that was aborted lies in between."""


class Probe:
    """Reads single records; a call is one round trip, however many partitions it asks for.

    Args:
        reader: A consumer with `enable.partition.eof`, closed by the caller.
    """

    def __init__(self, reader: Consumer, topic: str) -> None:
        self._reader = reader
        self._topic = topic

    def first(self, starts: Mapping[int, int]) -> dict[int, Found]:
        """Like `look`, but offset and epoch only."""
        return {p: (_place(message)[1], _epoch(message)) for p, message in self.look(starts).items()}

    def look(self, starts: Mapping[int, int]) -> dict[int, Message]:
        """The first record at or after an offset of each partition; left out where there is none."""
        self._go_to(starts)
        messages: dict[int, Message] = {}
        ended: set[int] = set()
        while starts.keys() - messages.keys() - ended:
            for message in self.records(1):
                partition, _ = _place(message)
                if message.error():
                    ended.add(partition)
                elif partition not in messages:
                    messages[partition] = message
                    self._leave(partition)
        return messages

    def forks(self, seen: Mapping[int, Found]) -> dict[int, int]:
        """See `frazil.kafka.epochs.forks`."""
        places = [TopicPartition(self._topic, p, at, leader_epoch=epoch) for p, (at, epoch) in seen.items()]
        with kafka_errors(f"topic {self._topic}", self._reader):
            self._reader.assign(places)
        left, ends = set(seen), dict[int, int]()
        while left:
            message = self._next()
            partition = message.partition()
            error = message.error()
            if partition not in left:
                continue
            if error and (fork := _FORK.search(error.str())):
                ends[partition] = max(0, int(fork[1]))
            elif error and error.code() != KafkaError._AUTO_OFFSET_RESET:  # retention: the plan tells
                self._check(error)
            left.discard(partition)
            self._leave(partition)
        return ends

    def tally(self, spans: Mapping[int, tuple[int, int]]) -> dict[int, Tally]:
        """The readable records of each span."""
        import numpy as np

        self._go_to({p: start for p, (start, _) in spans.items()})
        tallies = dict.fromkeys(spans, Tally())
        open_spans = {p: to for p, (_, to) in spans.items()}
        while open_spans:
            for partition, offsets, ended in _runs(self.records(10_000)):
                if (to := open_spans.get(partition)) is None:
                    continue
                places = np.array([at for at in offsets if at < to], np.int64)
                tallies[partition] += Tally.of(partition, places)
                if ended or (offsets and offsets[-1] >= to - 1):
                    del open_spans[partition]
                    self._leave(partition)
        return tallies

    def taken(self, spans: Mapping[int, tuple[int, int]], most: int) -> tuple[list[Message], dict[int, int]]:
        """Readable records of some spans, of `most` bytes or a little more; and up to where each was read."""
        self._go_to({p: start for p, (start, _) in spans.items()})
        messages: list[Message] = []
        reached, left, room = {p: start for p, (start, _) in spans.items()}, dict(spans), most
        while left and room > 0:
            for message in self.records(1000):
                partition, offset = _place(message)
                if (span := left.get(partition)) is None:
                    continue
                if message.error() is None and offset < span[1]:
                    messages.append(message)
                    room -= _size(message)
                    reached[partition] = offset + 1
                if message.error() is not None or offset >= span[1] - 1:
                    reached[partition] = span[1]
                    del left[partition]
                    self._leave(partition)
        return messages, reached

    def records(self, most: int) -> list[Message]:
        """Some records, or the news that a partition ended (as an error)."""
        first = self._next()
        # consume() waits until it has them all, or for its whole timeout: take what is there.
        known = [first, *(self._reader.consume(most - 1, 0) if most > 1 else ())]
        for message in known:
            self._check(message.error())
        return known

    def _next(self) -> Message:
        """The next record or end, however long it takes brokers that are there.

        Raises:
            PartDownError: They don't answer, or a partition has no leader.
        """
        since = time.monotonic()
        while time.monotonic() - since < _SILENCE:
            # A record without a value has no length, and would be taken for none.
            if (message := self._reader.poll(_PATIENCE)) is not None:
                return message
            check_access(self._reader, f"topic {self._topic}")
            if not self._is_led():
                break
        raise PartDownError(
            "Kafka does not answer.",
            where=f"topic {self._topic}: no record and no end within {time.monotonic() - since:.0f} s",
            meaning=STAYS,
            todo="See `frazil status`, and try again.",
        )

    def _is_led(self) -> bool:
        with kafka_errors(f"topic {self._topic}", self._reader):
            metadata = self._reader.list_topics(self._topic, timeout=_METADATA)
        return all(p.leader >= 0 for p in metadata.topics[self._topic].partitions.values())

    def _go_to(self, starts: Mapping[int, int]) -> None:
        with kafka_errors(f"topic {self._topic}", self._reader):
            self._reader.assign([TopicPartition(self._topic, p, at) for p, at in starts.items()])

    def _leave(self, partition: int) -> None:
        """Drops what was fetched beyond: polling through it took up to 11 s where this takes 20 ms."""
        self._reader.incremental_unassign([TopicPartition(self._topic, partition)])

    def _check(self, error: KafkaError | None) -> None:
        if error is None or error.code() == KafkaError._PARTITION_EOF:
            return
        if error.code() == KafkaError._AUTO_OFFSET_RESET:
            raise OffsetsLostError(
                "Records were removed from the topic while they were looked at.",
                where=f"topic {self._topic}: {error.str()}",
                meaning="Nothing was landed.",
                todo="Land again: the next plan says which offsets are lost.",
            )
        raise kafka_error(error, f"topic {self._topic}")


@contextmanager
def open_probe(settings: Settings, topic: str, **extra: str | int | bool) -> Iterator[Probe]:
    """A probe that is closed with the context; `extra` are further librdkafka settings."""
    reader = consumer(settings, **extra)
    try:
        yield Probe(reader, topic)
    finally:
        reader.close()


def headers_of(message: Message) -> tuple[tuple[str, bytes | None], ...]:
    """The names and values of a record's headers, in order."""
    pairs: Any = message.headers() or ()
    return tuple(pairs)


def _runs(messages: Sequence[Message]) -> Iterator[tuple[int, list[int], bool]]:
    """By partition the offsets of its records, ascending, and whether its end was met."""
    offsets: dict[int, list[int]] = {}
    ended: set[int] = set()
    for message in messages:
        partition, offset = _place(message)
        places = offsets.setdefault(partition, [])
        if message.error():
            ended.add(partition)
        else:
            places.append(offset)
    for partition, places in offsets.items():
        yield partition, places, partition in ended


def _place(message: Message) -> tuple[int, int]:
    partition, offset = message.partition(), message.offset()
    if partition is None or offset is None:
        raise TypeError("librdkafka gave a record without a place")
    return partition, offset


def _size(message: Message) -> int:
    return sum(len(half) for half in (message.key(), message.value()) if half is not None) + 100


def _epoch(message: Message) -> int:
    """Brokers before 2.1 tell none."""
    epoch = message.leader_epoch()
    return -1 if epoch is None else epoch
