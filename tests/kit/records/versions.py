"""All versions of rows, as a list of changes tells them: what a table with `versions: all` must hold."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Any

from kit.records.envelopes import AT, Captured
from kit.records.topics import Topic


@dataclass(frozen=True, slots=True)
class Sent:
    """One record: where it stands, and when the source made the change.

    A tombstone's `op` is None; a truncate's is t, and its key says nothing. `stamp`: the record's own
    timestamp; None: the same time.
    """

    key: str
    partition: int
    offset: int
    time: int
    op: str | None
    stamp: int | None = None

    @property
    def ends(self) -> bool:
        return self.op in (None, "d")

    @property
    def stamped(self) -> int:
        return self.time if self.stamp is None else self.stamp

    def is_older(self, truncate: Sent) -> bool:
        if self.partition == truncate.partition:
            return self.offset < truncate.offset
        return self.stamped < truncate.stamped


Version = tuple[str, int, int, int, int | None, bool]
"""Key, partition and offset of its record, since when, until when, and whether it holds now."""


def versions_of(records: Iterable[Sent]) -> set[Version]:
    """The versions of every key, by plain lists."""
    of_key: dict[str, list[tuple[int, int, int, Sent]]] = defaultdict(list)
    every = list(records)
    truncates = [one for one in every if one.op == "t"]
    for (key, partition), stream in _streams(one for one in every if one.op != "t").items():
        heard = [stream[0], *(b for a, b in pairwise(stream) if not (b.op is None and a.ends))]
        begins = accumulate((one.time for one in heard), max)
        of_key[key] += ((at, partition, one.offset, one) for at, one in zip(begins, heard, strict=True))
    known = set()
    for key, versions in of_key.items():
        ordered = sorted(versions, key=lambda v: v[:3])
        following = [at for at, *_ in ordered[1:]] + [None]
        for (at, partition, offset, one), after in zip(ordered, following, strict=True):
            emptied = [max(t.time, at) for t in truncates if one.is_older(t)]
            until = at if one.ends else min((t for t in (after, *emptied) if t is not None), default=None)
            known.add((key, partition, offset, at, until, until is None))
    return known


def _streams(records: Iterable[Sent]) -> dict[tuple[str, int], list[Sent]]:
    """Each key's records of each partition, by offset."""
    streams: dict[tuple[str, int], list[Sent]] = defaultdict(list)
    for one in sorted(records, key=lambda t: t.offset):
        streams[one.key, one.partition].append(one)
    return streams


@dataclass
class History:
    """A topic of changes in two partitions, and what was told there; the topic's spec is of a history."""

    made: Captured
    sent: list[Sent] = field(default_factory=list)

    @property
    def topic(self) -> Topic:
        return self.made.topic

    def send(self, key: str, quantity: int | None, seconds: int, partition: int | None = None) -> None:
        """Sends a change that the source made at some second; a delete is followed by a tombstone, later.

        Args:
            partition: None: the key's own.
        """
        place = ord(key) % 2 if partition is None else partition
        self.made.moment = AT // 1000 + seconds * 1000
        for op in ("c",) if quantity is not None else ("d", None):
            offset = sum(one.partition == place for one in self.sent)
            later = seconds + (quantity is None)
            self.sent.append(Sent(key, place, offset, seconds if op else later, op, later))
        stamp = self.made.moment + 1000 * (quantity is None)
        self.made.send([(key, quantity)], partition=place, plain="offsets are foretold", timestamp=stamp)

    def truncate(self, seconds: int, partition: int) -> None:
        """Sends a truncate; its record has the time at which the source did it."""
        self.made.moment = AT // 1000 + seconds * 1000
        offset = sum(one.partition == partition for one in self.sent)
        self.sent.append(Sent("", partition, offset, seconds, "t"))
        value = self.made.value("t", None, None)
        self.topic.send_keyed(
            [(None, value)], partition=partition, plain="offsets are foretold", timestamp=self.made.moment
        )

    def versions(self, rows: Iterable[dict[str, Any]] | None = None) -> set[Version]:
        """The versions that rows say; None: those that the table holds, each of them once."""
        versions = [_version(row) for row in (self.topic.rows() if rows is None else rows)]
        assert len(set(versions)) == len(versions), "a version has two rows"
        return set(versions)


def _version(row: dict[str, Any]) -> Version:
    since, until = (
        at and round(at.timestamp()) - AT // 10**6 for at in (row["$$valid-from"], row["$$valid-to"])
    )
    return row["key"], row["$$partition"], row["$$offset"], since, until, row["$$current"]
